// The file of a record: a place to drop one, its preview, and buttons to choose, download, replace and delete it.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { serviceUrl } from '../../core/api.ts';
import { formatSize } from '../../core/format.ts';
import type { StoredObject } from '../../core/objects.ts';
import { pathOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { ask } from '../../ui/dialog.tsx';
import { droppedFiles } from '../../ui/dropped-files.ts';
import { useAttempt } from '../../ui/hooks.ts';
import { Button, FailureNote, NoPermission } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';
import { useStore } from '../../ui/use-store.ts';
import type { TabProps } from '../area.ts';
import { ownAddress, readAttachment, uploadFile, type Attachment } from './attachment.ts';
import { Preview } from './preview.tsx';
import './files.css';

export function FileTab(props: TabProps): JSX.Element | null {
  return props.object === undefined ? null : <FilePanel {...props} object={props.object} />;
}

interface Sending {
  readonly name: string;
  readonly sentBytes: number;
  readonly totalBytes: number;
}

function FilePanel(props: TabProps & { readonly object: StoredObject }): JSX.Element {
  const { place, object, service, permits, reload } = props;
  const { api } = useApp();
  const path = pathOf(place);
  const known = readAttachment(object.data);
  const [sending, setSending] = useState<Sending | undefined>(undefined);
  const running = useRef<AbortController | undefined>(undefined);
  const { error, isBusy, attempt } = useAttempt();
  useEffect(() => () => running.current?.abort(), []);
  const upload = (files: readonly File[]): Promise<void> =>
    attempt(async () => {
      const [file] = files;
      if (file === undefined) return;
      if (files.length > 1) throw new Error('A record has one file. Choose or drop one file only.');
      if (known !== undefined && !(await askToReplace(known, file))) return;
      running.current = new AbortController();
      const show = (sentBytes: number, totalBytes: number): void =>
        setSending({ name: file.name, sentBytes, totalBytes });
      show(0, file.size);
      try {
        const { signal } = running.current;
        await uploadFile(api, { path, etag: object.etag, file, onProgress: show, signal });
      } finally {
        setSending(undefined);
      }
      reload();
      say('The file is stored.');
    });
  const remove = (): Promise<void> =>
    attempt(async () => {
      const text = 'The record is kept.';
      if (!(await ask({ title: 'Delete the file?', text, yes: 'Delete the file', no: 'Keep it' }))) return;
      await api.request('DELETE', `${path}/attachment`, { headers: { 'If-Match': object.etag } });
      reload();
      say('The file is deleted.');
    });
  const dropped = useStore(droppedFiles);
  useEffect(() => {
    if (dropped.length === 0) return;
    droppedFiles.set([]);
    void upload(dropped);
  }, [dropped]);
  return (
    <div class="file">
      {known === undefined ? (
        <p>This record has no file.</p>
      ) : (
        <>
          <p class="file-facts">
            <FileLink file={known} attempt={attempt} /> <span>{`${known.mimetype}, ${formatSize(known.size)}`}</span>{' '}
            {permits.mayChange ? (
              <Button class="danger small" disabled={isBusy} onClick={remove}>
                Delete the file
              </Button>
            ) : null}
          </p>
          <Preview key={known.location} path={`${path}/attachment`} file={known} />
        </>
      )}
      {permits.mayChange ? null : <NoPermission to="store a file in this record" />}
      {service.isReadOnly || !permits.mayChange ? null : (
        <Chooser isReplacing={known !== undefined} isBusy={isBusy} onFiles={upload} />
      )}
      {sending === undefined ? null : <SendingNote {...sending} stop={() => running.current?.abort()} />}
      <FailureNote error={error} />
    </div>
  );
}

function askToReplace(known: Attachment, file: File): Promise<boolean> {
  return ask({
    title: 'Replace the file?',
    text: `${known.filename} is replaced by ${file.name} (${formatSize(file.size)}).`,
    yes: 'Replace the file',
    no: 'Keep it',
  });
}

interface ChooserProps {
  readonly isReplacing: boolean;
  readonly isBusy: boolean;
  readonly onFiles: (files: readonly File[]) => Promise<void>;
}

/** A field for a file, drawn as a place to drop one. The whole view of the record takes drops. */
function Chooser({ isReplacing, isBusy, onFiles }: ChooserProps): JSX.Element {
  return (
    <label class="drop-zone">
      <b>{isReplacing ? 'Choose a replacement file' : 'Choose a file'}</b>
      <span>or drop one anywhere on this record</span>
      <input
        type="file"
        disabled={isBusy}
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])];
          // So that the same file can be chosen again.
          currentTarget.value = '';
          void onFiles(files);
        }}
      />
    </label>
  );
}

function SendingNote({ name, sentBytes, totalBytes, stop }: Sending & { readonly stop: () => void }): JSX.Element {
  return (
    <div class="row sending">
      <p class="progress" role="status">
        <progress aria-label={`Sending ${name}`} value={sentBytes} max={Math.max(totalBytes, 1)} /> Sending {name}:{' '}
        {formatSize(sentBytes)} of {formatSize(totalBytes)}
      </p>
      <Button class="small" onClick={stop}>
        Stop
      </Button>
    </div>
  );
}

interface FileLinkProps {
  readonly file: Attachment;
  readonly attempt: (run: () => unknown) => Promise<void>;
}

/** A plain link to a file on another host, or a button that downloads a file of the service with the user's credentials. */
function FileLink({ file: { filename, location: address }, attempt }: FileLinkProps): JSX.Element {
  const { api } = useApp();
  const own = ownAddress(address);
  if (own === undefined) {
    const url = new URL(address, serviceUrl);
    const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
    return isWeb ? (
      <a href={url.href} target="_blank" rel="noopener noreferrer">
        {filename}
      </a>
    ) : (
      <span>{filename}</span>
    );
  }
  const download = (): Promise<void> =>
    attempt(async () => {
      const content = URL.createObjectURL(await api.download(own));
      const link = document.createElement('a');
      link.href = content;
      link.download = filename;
      link.click();
      URL.revokeObjectURL(content);
    });
  return <Button onClick={download}>Download {filename}</Button>;
}
