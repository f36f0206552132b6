// Files that commands write for people.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Exit, exitCodes } from './exit-codes.ts';

/**
 * Writes a file that only its owner can read, with the folders above it. An existing file stays as it is.
 *
 * @throws Exit when the file exists or cannot be written
 */
export function writeNewFile(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    const reason = code === 'EEXIST' ? 'exists already; move it away first' : `cannot be written (${code})`;
    throw new Exit(exitCodes.failed, `${path} ${reason}`);
  }
}
