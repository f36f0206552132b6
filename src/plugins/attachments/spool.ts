// Spools an uploaded file to a temporary file and computes its size and hash.
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { BackendUnavailable } from '../../contracts/errors.ts';
import { invalidParameters } from '../../core/errors.ts';

export interface SpooledFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** SHA-256 in hexadecimal digits. */
  readonly hash: string;
}

/**
 * Writes the stream to a new file.
 *
 * @param limitBytes maximum size; 0 means unlimited
 * @throws ServiceError invalidParameters above the maximum size; BackendUnavailable when writing fails
 */
export async function spool(source: AsyncIterable<Uint8Array>, path: string, limitBytes: number): Promise<SpooledFile> {
  const handle = await translateErrors(() => open(path, 'wx', 0o600));
  const hash = createHash('sha256');
  let sizeBytes = 0;
  try {
    for await (const chunk of source) {
      sizeBytes += chunk.length;
      requireSize(sizeBytes, limitBytes);
      hash.update(chunk);
      await translateErrors(() => handle.writeFile(chunk));
    }
  } finally {
    await handle.close();
  }
  return { path, sizeBytes, hash: hash.digest('hex') };
}

/**
 * Checks the size of a file.
 *
 * @throws ServiceError invalidParameters
 */
function requireSize(sizeBytes: number, limitBytes: number): void {
  if (limitBytes === 0 || sizeBytes <= limitBytes) return;
  const description = `the file is larger than ${limitBytes} bytes`;
  throw invalidParameters([{ location: 'body', name: 'attachment', description }]);
}

/** Converts errors of the file system, such as a full disk, into `BackendUnavailable`. */
async function translateErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new BackendUnavailable('attachments', 'uploaded files cannot be written', { cause });
  }
}
