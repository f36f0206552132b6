// The preview of a file: images by a temporary address, texts as text, and a link to PDF files. Images and links get no
// credentials from browsers, so they need an address that works without.
import type { JSX } from 'preact';
import type { Api } from '../../core/api.ts';
import type { Service } from '../../core/service.ts';
import { formatSize } from '../../core/format.ts';
import { useApp } from '../../ui/app-context.ts';
import { useLoad } from '../../ui/hooks.ts';
import { FailureNote, Scroll } from '../../ui/parts.tsx';
import { ownAddress, type Attachment } from './attachment.ts';

const imageTypes = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/;
const textTypes = /^(?:text\/.+|application\/(?:json|xml|yaml|toml|.+\+(?:json|xml)))$/;
/** Maximum size of a text file that is fetched. */
const maxTextBytes = 1_000_000;
/** Maximum number of characters that are shown. */
const maxTextChars = 20_000;

type Kind = 'image' | 'text' | 'pdf';

export interface PreviewProps {
  /** Path of the attachment below the API. */
  readonly path: string;
  readonly file: Attachment;
}

export function Preview({ path, file }: PreviewProps): JSX.Element | null {
  switch (kindOf(file)) {
    case 'image':
      return <ImagePreview path={path} file={file} />;
    case 'pdf':
      return <PdfLink path={path} file={file} />;
    case 'text':
      return <TextPreview path={path} file={file} />;
    case undefined:
      return <p class="hint">Files of this kind have no preview.</p>;
  }
}

function kindOf({ mimetype, location }: Attachment): Kind | undefined {
  if (ownAddress(location) === undefined) return undefined;
  if (imageTypes.test(mimetype)) return 'image';
  if (mimetype === 'application/pdf') return 'pdf';
  return textTypes.test(mimetype) ? 'text' : undefined;
}

/** Returns an address that works without credentials; `undefined` where the service has none. */
async function findOpenAddress(
  { api, service }: { readonly api: Api; readonly service: Service },
  { path, file }: PreviewProps,
  signal: AbortSignal,
): Promise<string | undefined> {
  // Anonymous users see public files.
  if (service.userId === undefined) return ownAddress(file.location);
  const { status, text } = await api.request('GET', `${path}/url`, { allowed: [404], signal });
  // Signed addresses are off, or another server provides the files.
  if (status === 404) return undefined;
  return ownAddress((JSON.parse(text) as { readonly url: string }).url);
}

function ImagePreview(props: PreviewProps): JSX.Element | null {
  const app = useApp();
  const { value: href, error, isLoading } = useLoad((signal) => findOpenAddress(app, props, signal), props.path);
  if (error !== undefined) return <FailureNote error={error} />;
  if (href === undefined) return isLoading ? null : <NoAddress />;
  return (
    <div class="preview">
      <a href={href} target="_blank" rel="noopener noreferrer">
        <img src={href} alt={`Preview of ${props.file.filename}`} />
      </a>
    </div>
  );
}

function PdfLink(props: PreviewProps): JSX.Element | null {
  const app = useApp();
  const { value: href, error, isLoading } = useLoad((signal) => findOpenAddress(app, props, signal), props.path);
  if (error !== undefined) return <FailureNote error={error} />;
  if (href === undefined) return isLoading ? null : <NoAddress />;
  return (
    <p class="preview">
      <a href={href} target="_blank" rel="noopener noreferrer">
        Open {props.file.filename}
      </a>{' '}
      <span class="quiet">(the address works for a few minutes, for everyone who has it)</span>
    </p>
  );
}

function NoAddress(): JSX.Element {
  return <p class="hint">No preview: the service gives out no temporary addresses. Download the file instead.</p>;
}

function TextPreview({ path, file }: PreviewProps): JSX.Element | null {
  const { api } = useApp();
  const isSmall = file.size <= maxTextBytes;
  const { value: text, error } = useLoad(async (signal) => {
    const href = ownAddress(file.location);
    return href === undefined || !isSmall ? undefined : (await api.download(href, signal)).text();
  }, path);
  if (!isSmall) return <p class="hint">Texts of more than {formatSize(maxTextBytes)} have no preview.</p>;
  if (text === undefined) return <FailureNote error={error} />;
  return (
    <div class="preview">
      <Scroll label={`Preview of ${file.filename}`}>
        <pre>{text.slice(0, maxTextChars)}</pre>
      </Scroll>
      {text.length > maxTextChars ? <p class="hint">Only the beginning is shown.</p> : null}
    </div>
  );
}
