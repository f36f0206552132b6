// Flushes the write-ahead log to the disk without blocking the event loop. SQLite's own flush is part of COMMIT, and would
// block it for as long as the disk takes.
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BackendUnavailable } from '../../contracts/errors.ts';

export class WalFile {
  readonly #path: string;
  #file: FileHandle | undefined;

  /** @param path path of the database file */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Makes all commits so far durable.
   *
   * @throws BackendUnavailable when the disk reports an error. The state of the log is unknown then, and a later flush that
   *   succeeds does not prove it: systems report a lost page once.
   */
  async flush(): Promise<void> {
    try {
      // SQLite uses one log file until the last connection is closed.
      this.#file ??= await this.#open();
      await this.#file.datasync();
    } catch (error) {
      const message = 'SQLite: the disk failed to store a write; check the disk, and restart the service';
      throw new BackendUnavailable('storage', message, { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #open(): Promise<FileHandle> {
    // The file may be new, and then its name must be flushed too. Windows does that by itself.
    if (process.platform !== 'win32') {
      const folder = await open(dirname(this.#path), 'r');
      try {
        await folder.sync();
      } finally {
        await folder.close();
      }
    }
    return open(`${this.#path}-wal`, 'r+');
  }
}
