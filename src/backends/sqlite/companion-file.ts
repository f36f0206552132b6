// A SQLite file next to the database, for state that is independent of the unit of work. SQLite has one writer per file: in
// the file of the database, such a write would wait for the unit of work of the same request.
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { SqlTable, TableValue } from '../sql/table.ts';
import type { Connection } from './connection.ts';
import { withoutLinks } from './database-path.ts';
import { isBusy, translateError, type BackendName } from './errors.ts';
import { requireWritable } from './file-access.ts';
import { findFaults, openSound } from './integrity.ts';
import { applyNextMigration, pendingMigrations, requireKnownSchema, type Migration } from './schema.ts';

const retryMs = 5;

export interface CompanionFileOptions<Name extends string> {
  readonly path: string;
  readonly migrations: readonly Migration[];
  /** Name of the backend in errors. */
  readonly backend: BackendName;
  /** Time for which an operation is retried while another process writes. */
  readonly busyTimeoutMs?: number | undefined;
  /** Largest file in bytes that is checked completely when it is opened; default 0. */
  readonly maxCheckedBytes?: number | undefined;
  readonly statements: Readonly<Record<Name, string>>;
  /** The loss when a damaged file is deleted, for messages. */
  readonly loss: string;
}

export class CompanionFile<Name extends string> implements SqlTable<Name> {
  readonly name = 'sqlite';
  readonly #connection: Connection;
  readonly #options: CompanionFileOptions<Name>;
  /** Statements with parameters as SQLite numbers them. */
  readonly #statements: ReadonlyMap<string, string>;
  #isClosed = false;

  /**
   * Opens the file. Writes survive restarts and crashes of the process; a power loss may take the last ones.
   *
   * @throws BackendUnavailable when the file cannot be opened or is damaged; Error when a newer version has migrated it
   */
  constructor(options: CompanionFileOptions<Name>) {
    const { migrations, backend, maxCheckedBytes = 0, loss } = options;
    const path = withoutLinks(options.path);
    requireWritable(path, backend);
    this.#options = { ...options, path };
    const statements = Object.entries<string>(options.statements);
    this.#statements = new Map(statements.map(([name, text]) => [name, text.replaceAll('$', '?')]));
    // NORMAL omits the fsync for each commit. The file stays consistent.
    const remedy = `stop the service and delete the file with its -wal and -shm (${loss})`;
    this.#connection = openSound({ path, synchronous: 'NORMAL', backend, maxCheckedBytes, remedy });
    try {
      requireKnownSchema(this.#connection, migrations, path);
    } catch (error) {
      this.#connection.close();
      throw error;
    }
  }

  run(statement: Name, values: readonly TableValue[]): Promise<readonly (readonly TableValue[])[]> {
    return this.#retry((connection) => connection.all<TableValue[]>(this.#statements.get(statement)!, ...values));
  }

  /** Runs one operation, and retries it while another process holds the write lock. */
  async #retry<T>(operation: (connection: Connection) => T): Promise<T> {
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
    const pending = await this.#retry((connection) => pendingMigrations(connection, migrations));
    if (dryRun) return pending;
    const done: string[] = [];
    for (let left = pending.length; left > 0; left--) {
      const line = await this.#retry((connection) =>
        connection.inWriteTransaction(() => applyNextMigration(connection, migrations)),
      );
      if (line !== undefined) done.push(line);
    }
    return done;
  }

  /** Checks all pages; returns a line for each fault. */
  checkIntegrity(): Promise<readonly string[]> {
    return this.#retry(findFaults);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
  }
}
