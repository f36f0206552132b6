// Puts a file aside while it arrives, and counts on the way what is to be known about it.
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

export interface SpoolOptions {
  /** 0: none. */
  readonly limitBytes: number;
  readonly onBytes: (count: number) => void;
}

/**
 * Writes what arrives to a new file.
 *
 * @throws ServiceError invalidParameters when there is too much of it; BackendUnavailable when it cannot be written
 */
export async function spool(
  source: AsyncIterable<Uint8Array>,
  path: string,
  { limitBytes, onBytes }: SpoolOptions,
): Promise<SpooledFile> {
  const handle = await translateErrors(() => open(path, 'wx', 0o600));
  const hash = createHash('sha256');
  let sizeBytes = 0;
  try {
    for await (const chunk of source) {
      sizeBytes += chunk.length;
      onBytes(chunk.length);
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
 * Requires a file to be as small as it has to be.
 *
 * @throws ServiceError invalidParameters
 */
export function requireSize(sizeBytes: number, limitBytes: number): void {
  if (limitBytes === 0 || sizeBytes <= limitBytes) return;
  const description = `the file is larger than ${limitBytes} bytes`;
  throw invalidParameters([{ location: 'body', name: 'attachment', description }]);
}

/** A full disk is the world's failure. */
async function translateErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new BackendUnavailable('attachments', 'uploaded files cannot be written', { cause });
  }
}
