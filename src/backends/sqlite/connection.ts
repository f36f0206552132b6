// One connection to a database file: statements prepared once, rows as tuples, and the one SQL function through which
// a statement asks the query evaluator. The only file, with `errors.ts`, `process-lock.ts` and `checkpoint-thread.ts`, that
// knows the driver.
import { pathToFileURL } from 'node:url';
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite';
import { requireStorable } from '../../contracts/errors.ts';
import { StoredObject } from '../../core/objects/stored.ts';
import type { Filter } from '../../core/query/ast.ts';
import { matches } from '../../core/query/evaluate.ts';
import { isBusy } from './errors.ts';
import { createPrivateFile } from './file-access.ts';

export type SqlValue = string | number | null;

export interface ConnectionOptions {
  readonly path: string;
  /** Whether the connection refuses to write. */
  readonly readOnly?: boolean;
  /** Whether the file lies on a disk that cannot be written and is changed by nobody, so that there are no locks either. */
  readonly isImmutable?: boolean;
  readonly synchronous: Synchronous;
}

/** `FULL` survives loss of power; `NORMAL` may lose the last commits then, but never tears the file. */
export type Synchronous = 'EXTRA' | 'FULL' | 'NORMAL' | 'OFF';

/** Blocks the process, so it is kept short; who waits for a lock longer does so with timers. */
const driverTimeoutMs = 10;
const openTimeoutMs = 5000;
const maxStatements = 300;

export class Connection {
  readonly #driver: DatabaseSyncInstance;
  readonly #statements = new Map<string, StatementSyncInstance>();
  /** What `coffer_matches` tests during the statement that is running. */
  #filters: readonly Filter[] = [];

  /** Opens the file, which is created with its folder when it does not exist. */
  constructor({ path, readOnly = false, isImmutable = false, synchronous }: ConnectionOptions) {
    if (!isImmutable) createPrivateFile(path);
    this.#driver = new DatabaseSync(isImmutable ? `${pathToFileURL(path).href}?immutable=1` : path, {
      // Another process may be creating or recovering the file; nobody is being served yet, so blocking is fine.
      timeout: openTimeoutMs,
      enableForeignKeyConstraints: false,
      returnArrays: true,
      defensive: true,
    });
    try {
      this.#configure(readOnly, isImmutable, synchronous);
    } catch (error) {
      this.#driver.close();
      throw error;
    }
  }

  #configure(readOnly: boolean, isImmutable: boolean, synchronous: Synchronous): void {
    // Reads the header, so that what is no database is refused here.
    const mode = this.get<[string]>('PRAGMA journal_mode')?.[0];
    if (mode !== 'wal' && !isImmutable) this.#switchToWal();
    const settings = [
      `synchronous = ${synchronous}`,
      `query_only = ${readOnly ? 'ON' : 'OFF'}`,
      'cache_size = -16000',
      'temp_store = MEMORY',
      'journal_size_limit = 67108864',
      `busy_timeout = ${driverTimeoutMs}`,
    ];
    for (const setting of settings) this.#driver.exec(`PRAGMA ${setting}`);
    // Called with the columns of an entry; `data` is null for tombstones.
    this.#driver.function(
      'coffer_matches',
      { deterministic: true },
      (id: string, time: number, data: string | null) => {
        const entry =
          data === null ? { id, lastModified: time, deleted: true as const } : new StoredObject(id, time, data);
        return matches(entry, this.#filters) ? 1 : 0;
      },
    );
  }

  /** SQLite does not wait by itself when two processes switch a new file at the same time. */
  #switchToWal(): void {
    const deadline = Date.now() + openTimeoutMs;
    for (;;) {
      try {
        this.#driver.exec('PRAGMA journal_mode = WAL');
        return;
      } catch (error) {
        if (!isBusy(error) || Date.now() > deadline) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      }
    }
  }

  /** Whether a transaction is open; SQLite ends it by itself on some errors. */
  get inTransaction(): boolean {
    return this.#driver.isTransaction;
  }

  /**
   * Another number than before when another connection has committed to the file meanwhile. Inside a transaction it stays,
   * and looking at it fixes the snapshot of one that has read nothing yet.
   */
  get dataVersion(): number {
    return this.get<[number]>('PRAGMA data_version')![0];
  }

  /** Runs statements that take no parameters and are not worth keeping. */
  exec(sql: string): void {
    this.#driver.exec(sql);
  }

  /**
   * The first row as a tuple, `undefined` when there is none.
   *
   * @throws UnstorableText
   */
  get<Row extends readonly SqlValue[]>(sql: string, ...parameters: readonly SqlValue[]): Row | undefined {
    requireFaithful(parameters);
    return this.#prepare(sql).get(...parameters) as Row | undefined;
  }

  /**
   * All rows as tuples.
   *
   * @throws UnstorableText
   */
  all<Row extends readonly SqlValue[]>(sql: string, ...parameters: readonly SqlValue[]): readonly Row[] {
    requireFaithful(parameters);
    return this.#prepare(sql).all(...parameters) as Row[];
  }

  /** All rows of a statement in which `coffer_matches` tests these filters. */
  allMatching<Row extends readonly SqlValue[]>(
    filters: readonly Filter[],
    sql: string,
    parameters: readonly SqlValue[],
  ): readonly Row[] {
    this.#filters = filters;
    try {
      return this.all<Row>(sql, ...parameters);
    } finally {
      this.#filters = [];
    }
  }

  /**
   * Runs a statement for its effect; returns how many rows changed.
   *
   * @throws UnstorableText
   */
  run(sql: string, ...parameters: readonly SqlValue[]): number {
    requireFaithful(parameters);
    return this.#prepare(sql).run(...parameters).changes;
  }

  /** Runs the operation in a transaction of its own, which is rolled back when it throws. */
  inWriteTransaction<T>(operation: () => T): T {
    this.run('BEGIN IMMEDIATE');
    try {
      const result = operation();
      this.run('COMMIT');
      return result;
    } catch (error) {
      if (this.inTransaction) this.run('ROLLBACK');
      throw error;
    }
  }

  /**
   * The driver cannot give up statements before they are collected as garbage, so SQLite may keep the file open for a
   * while. It holds no locks then.
   */
  close(): void {
    this.#statements.clear();
    this.#driver.close();
  }

  /**
   * The statement, prepared on first use; the oldest one makes room for a new one. To find out which was not used for longest
   * would cost each statement more than it costs a few to be prepared again.
   */
  #prepare(sql: string): StatementSyncInstance {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#driver.prepare(withFreeLimits(sql));
    this.#statements.set(sql, statement);
    if (this.#statements.size > maxStatements) {
      const [oldest] = this.#statements.keys();
      this.#statements.delete(oldest!);
    }
    return statement;
  }
}

/**
 * Refuses what the driver would bind as something else: it cuts text at a null character, replaces lone surrogates by
 * U+FFFD, and binds NaN as NULL. A key that is bound as another one reads and changes what belongs to others.
 *
 * @throws UnstorableText
 */
function requireFaithful(parameters: readonly SqlValue[]): void {
  for (const value of parameters) {
    if (typeof value === 'string') requireStorable(value);
    else if (Number.isNaN(value)) throw new TypeError('NaN cannot be bound');
  }
}

/**
 * SQLite looks for a number behind LIMIT and OFFSET when it plans a statement, in a parameter too, and so prepares the
 * statement anew each time that the parameter is given: that takes longer than most statements do. An expression it leaves
 * alone.
 */
function withFreeLimits(sql: string): string {
  return sql.replaceAll(/\b(LIMIT|OFFSET) \?/g, '$1 ? + 0');
}
