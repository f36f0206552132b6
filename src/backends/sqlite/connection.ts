// One connection to a database file: statements prepared once, rows as tuples, and the SQL function with which statements
// call the query evaluator. Only this file, `errors.ts`, `process-lock.ts` and `checkpoint-thread.ts` use the driver.
import { pathToFileURL } from 'node:url';
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite';
import { largeTextChars } from '../../base/json-steps.ts';
import { requireStorable } from '../../contracts/errors.ts';
import { StoredObject } from '../../core/objects/stored.ts';
import type { Filter } from '../../core/query/ast.ts';
import { matches } from '../../core/query/evaluate.ts';
import { isBusy } from './errors.ts';
import { createPrivateFile } from './file-access.ts';

export type SqlValue = string | number | Uint8Array | null;

/**
 * A text for a parameter in `CAST(? AS TEXT)`. The driver copies a bound string several times into new memory, which takes
 * tens of milliseconds for 10 MB. It copies bytes once.
 */
export class BoundText {
  readonly text: string;

  private constructor(text: string) {
    this.text = text;
  }

  /** Returns short texts as they are. */
  static of(text: string): string | BoundText {
    return text.length < largeTextChars ? text : new BoundText(text);
  }
}

export interface ConnectionOptions {
  readonly path: string;
  /** Whether the connection refuses to write. */
  readonly readOnly?: boolean;
  /** Whether the file is on a read-only disk and never changes, so no locks are needed. */
  readonly isImmutable?: boolean;
  readonly synchronous: Synchronous;
}

/** `FULL` survives a power loss; `NORMAL` may lose the last commits then, but never damages the file. */
export type Synchronous = 'EXTRA' | 'FULL' | 'NORMAL' | 'OFF';

/** Time of a blocking wait for a lock, which is short. Longer waits use timers. */
const driverTimeoutMs = 10;
const openTimeoutMs = 5000;
const maxStatements = 300;
/** Maximum number of bytes that UTF-8 needs for a UTF-16 code unit. */
const maxBytesPerChar = 3;

export class Connection {
  readonly #driver: DatabaseSyncInstance;
  readonly #statements = new Map<string, StatementSyncInstance>();
  /** Memory for the bytes of long texts, which is kept until garbage is collected: new memory takes longer to fill. */
  #memory: WeakRef<Buffer> | undefined;
  /** Filters of `coffer_matches` during the running statement. */
  #filters: readonly Filter[] = [];

  /** Opens the file, and creates it with its folder when it does not exist. */
  constructor({ path, readOnly = false, isImmutable = false, synchronous }: ConnectionOptions) {
    if (!isImmutable) createPrivateFile(path);
    this.#driver = new DatabaseSync(isImmutable ? `${pathToFileURL(path).href}?immutable=1` : path, {
      // Another process may be creating or recovering the file. No requests are served yet, so blocking is fine.
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
    // Reads the header, so that a file that is not a database is refused here.
    const mode = this.get<[string]>('PRAGMA journal_mode')?.[0];
    if (mode !== 'wal' && !isImmutable) this.#switchToWal();
    const settings = [
      `synchronous = ${synchronous}`,
      'cache_size = -16000',
      'temp_store = MEMORY',
      'journal_size_limit = 67108864',
      `busy_timeout = ${driverTimeoutMs}`,
    ];
    for (const setting of settings) this.#driver.exec(`PRAGMA ${setting}`);
    // The words of `object_words`, in their order. Changing `temp_store` would drop it.
    this.#driver.exec('CREATE VIRTUAL TABLE temp.object_terms USING fts5vocab(main, object_words, instance)');
    if (readOnly) this.#driver.exec('PRAGMA query_only = ON');
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

  /** Switches to WAL with retries, because SQLite does not wait when two processes switch a new file at the same time. */
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

  /** Whether a transaction is open. SQLite ends it by itself on some errors. */
  get inTransaction(): boolean {
    return this.#driver.isTransaction;
  }

  /**
   * Returns a number that changes when another connection has committed to the file. Inside a transaction it stays the
   * same. Reading it takes the snapshot of a transaction that has read nothing yet.
   */
  get dataVersion(): number {
    return this.get<[number]>('PRAGMA data_version')![0];
  }

  /** Runs statements without parameters that are not worth caching. */
  exec(sql: string): void {
    this.#driver.exec(sql);
  }

  /**
   * Returns the first row as a tuple; `undefined` when the result is empty.
   *
   * @throws UnstorableText
   */
  get<Row extends readonly SqlValue[]>(sql: string, ...parameters: readonly SqlValue[]): Row | undefined {
    requireFaithful(parameters);
    return this.#prepare(sql).get(...parameters) as Row | undefined;
  }

  /**
   * Returns all rows as tuples.
   *
   * @throws UnstorableText
   */
  all<Row extends readonly SqlValue[]>(sql: string, ...parameters: readonly SqlValue[]): readonly Row[] {
    requireFaithful(parameters);
    return this.#prepare(sql).all(...parameters) as Row[];
  }

  /** Returns all rows of a statement in which `coffer_matches` tests these filters. */
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
   * Runs a statement; returns the number of changed rows.
   *
   * @throws UnstorableText
   */
  run(sql: string, ...parameters: readonly (SqlValue | BoundText)[]): number {
    requireFaithful(parameters);
    const values = parameters.every(isBindable) ? parameters : this.#toBytes(parameters);
    return this.#prepare(sql).run(...values).changes;
  }

  /** Replaces long texts by their bytes, which stay the same until the next call. */
  #toBytes(parameters: readonly (SqlValue | BoundText)[]): readonly SqlValue[] {
    const chars = parameters.reduce<number>((sum, value) => sum + (isBindable(value) ? 0 : value.text.length), 0);
    // Counting the bytes first would take as long as writing them. The system provides only memory that is written.
    const memory = this.#memoryOf(chars * maxBytesPerChar);
    let start = 0;
    return parameters.map((value) => {
      if (isBindable(value)) return value;
      const bytes = memory.subarray(start, (start += memory.write(value.text, start)));
      // Null characters are found ten times as fast among bytes.
      if (bytes.includes(0)) requireStorable(value.text);
      return bytes;
    });
  }

  #memoryOf(bytes: number): Buffer {
    let memory = this.#memory?.deref();
    if (memory === undefined || memory.length < bytes) {
      memory = Buffer.allocUnsafeSlow(bytes);
      this.#memory = new WeakRef(memory);
    }
    return memory;
  }

  /** Runs the operation in a transaction of its own, and rolls back when it throws. */
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
   * Closes the connection. The driver frees statements by garbage collection only, so SQLite may keep the file open for a
   * while, without locks.
   */
  close(): void {
    this.#statements.clear();
    this.#driver.close();
  }

  /**
   * Returns the statement, prepared on first use. The oldest one makes room for a new one. A record of the last use would
   * cost every statement more than preparing a few again.
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

function isBindable(value: SqlValue | BoundText): value is SqlValue {
  return !(value instanceof BoundText);
}

/**
 * Refuses values that the driver would bind as others: it cuts text at a null character, replaces lone surrogates by
 * U+FFFD, and binds NaN as NULL. A changed key could read or change other rows.
 *
 * @throws UnstorableText
 */
function requireFaithful(parameters: readonly (SqlValue | BoundText)[]): void {
  for (const value of parameters) {
    if (typeof value === 'string') requireStorable(value);
    // Long texts are searched for null characters as bytes.
    else if (value instanceof BoundText && !value.text.isWellFormed()) requireStorable(value.text);
    else if (typeof value === 'number' && Number.isNaN(value)) throw new TypeError('NaN cannot be bound');
  }
}

/**
 * Adds a term to LIMIT and OFFSET. SQLite uses the value of their parameters when it plans a statement, so it would prepare
 * the statement again for each value, which takes longer than most statements. It does not do that for an expression.
 */
function withFreeLimits(sql: string): string {
  return sql.replaceAll(/\b(LIMIT|OFFSET) \?/g, '$1 ? + 0');
}
