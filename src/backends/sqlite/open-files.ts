// Recognizes the files of an open database. SQLite keeps files open that were removed, moved or replaced, and a commit to them
// is lost with the process.
import { statSync } from 'node:fs';
import { BackendUnavailable } from '../../contracts/errors.ts';

/** A file and its identity when the database was opened. */
interface Known {
  readonly path: string;
  readonly identity: string;
}

export class OpenFiles {
  readonly #known: readonly Known[];

  /** @param path of a database file that a connection has read, which creates the other files */
  constructor(path: string) {
    // Files on a read-only disk have no others.
    this.#known = ['', '-wal', '-shm'].flatMap((suffix) => {
      const identity = identityOf(path + suffix);
      return identity === undefined ? [] : [{ path: path + suffix, identity }];
    });
  }

  /** Returns the failure when a path no longer leads to the file that is open. Takes some microseconds. */
  findDisplaced(): BackendUnavailable | undefined {
    const displaced = this.#known.find(({ path, identity }) => identityOf(path) !== identity);
    if (displaced === undefined) return undefined;
    const what = 'was removed, moved or replaced while the service was using it';
    const advice = 'put it back and restart the service; until then, reads still return its contents';
    return new BackendUnavailable('storage', `SQLite: ${displaced.path} ${what}: ${advice}`, {
      reason: `the database file ${what}`,
      isLasting: true,
      isUndone: true,
    });
  }

  /** @throws BackendUnavailable as `findDisplaced` returns it */
  requireInPlace(): void {
    const failure = this.findDisplaced();
    if (failure !== undefined) throw failure;
  }
}

/**
 * Returns device and inode, which last while a file is open; `undefined` when the path leads nowhere. The file is not opened,
 * because closing it would release the locks that SQLite has on it.
 */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    // Also when a folder above it can no longer be searched: the file cannot be opened again then.
    return undefined;
  }
}
