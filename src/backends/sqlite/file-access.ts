// The file of a database before SQLite opens it: its owner's access only, and whether it can be written.
import { accessSync, closeSync, constants, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '../../base/system-errors.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { BackendName } from './errors.ts';

const fileMode = 0o600;
const folderMode = 0o700;

/**
 * Creates the file, and its folder, for the owner alone, unless they exist. SQLite gives the same mode to its other files.
 * An existing file is not opened, because closing it would release the locks that SQLite has on it.
 */
export function createPrivateFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: folderMode });
  try {
    closeSync(openSync(path, 'wx', fileMode));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/**
 * Creates the file when it does not exist, and verifies that it can be written.
 *
 * @throws BackendUnavailable with a remedy
 */
export function requireWritable(path: string, backend: BackendName): void {
  try {
    createPrivateFile(path);
    accessSync(path, constants.R_OK | constants.W_OK);
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
  } catch (error) {
    const remedy =
      backend === 'cache'
        ? 'keep the cache elsewhere (cache_backend, cache_url)'
        : 'or set readonly = true to serve what it holds';
    const what = `cannot be written (${codeOf(error) || 'unknown error'})`;
    const advice = `check the disk, and the owner and mode of the file and its folder, ${remedy}`;
    throw new BackendUnavailable(backend, `SQLite: ${path} ${what}: ${advice}`, {
      cause: error,
      reason: `the database file ${what}`,
      isLasting: true,
    });
  }
}

/** Returns whether the file and its folder can be written, so that SQLite can create its other files there. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the size in bytes of the file and its log. */
export function sizeWithLog(path: string): number {
  return sizeOf(path) + sizeOf(`${path}-wal`);
}

export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
