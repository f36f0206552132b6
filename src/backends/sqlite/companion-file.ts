// A SQLite file beside that of the database, for state that is independent of the unit of work. SQLite has one writer per
// file: in the database's own file a write would wait for the very request that makes it.
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { Connection } from './connection.ts';
import { isBusy, translateError, type BackendName } from './errors.ts';
import { requireWritable } from './file-access.ts';
import { findFaults, openSound } from './integrity.ts';
import { applyNextMigration, pendingMigrations, requireKnownSchema, type Migration } from './schema.ts';

const retryMs = 5;

export interface CompanionFileOptions {
  readonly path: string;
  readonly migrations: readonly Migration[];
  /** What errors call the backend. */
  readonly backend: BackendName;
  /** How long an operation is tried again while another process writes. */
  readonly busyTimeoutMs?: number | undefined;
  /** Largest file in bytes that is checked completely when it is opened; default 0. */
  readonly maxCheckedBytes?: number | undefined;
  /** What is lost when the file is deleted because it is damaged. */
  readonly loss: string;
}

export class CompanionFile {
  readonly #connection: Connection;
  readonly #options: CompanionFileOptions;
  #isClosed = false;

  /**
   * Opens the file. What was written survives restarts and crashes of the process; loss of power may take the last writes.
   *
   * @throws BackendUnavailable when the file cannot be opened or is damaged; Error when a newer version has migrated it
   */
  constructor(options: CompanionFileOptions) {
    const { path, migrations, backend, maxCheckedBytes = 0, loss } = options;
    requireWritable(path, backend);
    this.#options = options;
    // Without an fsync for each commit; the file stays consistent all the same.
    const remedy = `stop the service and delete the file with its -wal and -shm (${loss})`;
    this.#connection = openSound({ path, synchronous: 'NORMAL', backend, maxCheckedBytes, remedy });
    try {
      requireKnownSchema(this.#connection, migrations, path);
    } catch (error) {
      this.#connection.close();
      throw error;
    }
  }

  /** Runs one operation, again and again while another process holds the write lock. */
  async run<T>(operation: (connection: Connection) => T): Promise<T> {
    const { path, backend, busyTimeoutMs = 5000 } = this.#options;
    const startedAt = performance.now();
    for (;;) {
      if (this.#isClosed) throw new BackendUnavailable(backend, `the SQLite file ${path} is closed`);
      try {
        return operation(this.#connection);
      } catch (error) {
        if (!isBusy(error) || performance.now() - startedAt >= busyTimeoutMs) throw translateError(error, backend);
      }
      await new Promise<void>((resolve) => {
        setTimeout(resolve, retryMs);
      });
    }
  }

  /** As `Database.initializeSchema`. */
  async initializeSchema({ dryRun }: { readonly dryRun: boolean }): Promise<readonly string[]> {
    const { migrations } = this.#options;
    const pending = await this.run((connection) => pendingMigrations(connection, migrations));
    if (dryRun) return pending;
    const done: string[] = [];
    for (let left = pending.length; left > 0; left--) {
      const line = await this.run((connection) =>
        connection.inWriteTransaction(() => applyNextMigration(connection, migrations)),
      );
      if (line !== undefined) done.push(line);
    }
    return done;
  }

  /** Checks all pages; returns a line for each fault. */
  checkIntegrity(): Promise<readonly string[]> {
    return this.run(findFaults);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
  }
}
