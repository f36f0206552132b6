// The file of a record as its attributes describe it, and the requests that change it.
import { serviceUrl, type Api } from '../../core/api.ts';
import { fieldFaultsOf, sentenceOf, ServiceFailure } from '../../core/errors.ts';
import { formatSize } from '../../core/format.ts';
import { memberText } from '../../core/json-text.ts';

export interface Attachment {
  readonly filename: string;
  readonly location: string;
  readonly mimetype: string;
  readonly size: number;
}

export function readAttachment(data: string): Attachment | undefined {
  const value = JSON.parse(memberText(data, 'attachment') ?? 'null') as Record<string, unknown> | null;
  const address = value?.['location'];
  if (value === null || typeof address !== 'string' || !URL.canParse(address, serviceUrl)) return undefined;
  return {
    filename: typeof value['filename'] === 'string' ? value['filename'] : 'file',
    location: address,
    mimetype: typeof value['mimetype'] === 'string' ? value['mimetype'] : '',
    size: typeof value['size'] === 'number' ? value['size'] : 0,
  };
}

/** Returns the address of a file that the service itself serves; `undefined` for files on other hosts. */
export function ownAddress(location: string): string | undefined {
  const { href } = new URL(location, serviceUrl);
  return href.startsWith(serviceUrl) ? href : undefined;
}

export interface Upload {
  /** Path of the record below the API. */
  readonly path: string;
  /** Version of the record that the user has seen. */
  readonly etag: string;
  readonly file: File;
  readonly onProgress: (sentBytes: number, totalBytes: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Stores a file as that of a record.
 *
 * @throws Error that explains a refusal
 */
export async function uploadFile(api: Api, { path, etag, file, onProgress, signal }: Upload): Promise<void> {
  const headers = { 'If-Match': etag };
  try {
    // A session that has ended or an outdated version is reported before the file is sent.
    await api.request('GET', path, { headers, signal });
    const body = new FormData();
    body.append('attachment', file, file.name);
    await api.upload(`${path}/attachment`, body, { headers, onProgress, signal });
  } catch (error) {
    throw new Error(explain(error, file), { cause: error });
  }
}

/** Returns why an upload failed, and what to do. */
function explain(error: unknown, { name, size }: File): string {
  if (!(error instanceof ServiceFailure)) return sentenceOf(error);
  if (error.status === 0) {
    return `The connection ended during the upload of ${name} (${formatSize(size)}). The file may be larger than the service accepts, or the network failed.`;
  }
  if (error.status === 413) {
    return `${name} (${formatSize(size)}) is larger than the service, or a proxy in front of it, accepts.`;
  }
  const faults = fieldFaultsOf(error);
  const own = faults.find((fault) => fault.name === 'attachment');
  if (own !== undefined) {
    return `The rules for files of this collection refuse ${name} (${formatSize(size)}): ${own.description}.`;
  }
  if (faults.length > 0) {
    const reasons = faults.map((fault) => `${fault.name}: ${fault.description}`).join('; ');
    return `The schema of the collection refuses the record with this file. ${reasons}`;
  }
  return sentenceOf(error);
}
