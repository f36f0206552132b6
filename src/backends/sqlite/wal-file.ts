// Flushes the write-ahead log to the disk without holding up the event loop, as SQLite itself would: its own flush is part
// of COMMIT, and nobody is served for as long as the disk takes.
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BackendUnavailable } from '../../contracts/errors.ts';

export class WalFile {
  readonly #path: string;
  #file: FileHandle | undefined;

  /** @param path of the database file */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Makes everything durable that has been committed so far.
   *
   * @throws BackendUnavailable when the disk reports an error. What has become of the log is not known then, and a flush
   * that succeeds later does not tell: systems report a lost page once.
   */
  async flush(): Promise<void> {
    try {
      // Until the last connection is closed SQLite keeps to one file.
      this.#file ??= await this.#open();
      await this.#file.datasync();
    } catch (error) {
      const message = 'SQLite: the disk could not keep what was written; look at it, and start the service again';
      throw new BackendUnavailable('storage', message, { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #open(): Promise<FileHandle> {
    // The file may be new, and then its name has to last as well. Windows keeps names without being asked.
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
