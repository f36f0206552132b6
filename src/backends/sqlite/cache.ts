// The cache contract in a SQLite file of its own. SQLite has one writer per file, and cache writes are independent of
// the unit of work: in the database's file they would wait for the very request that makes them.
import type { Clock } from '../../base/clock.ts';
import { formatJson, parseStoredJson, type JsonValue } from '../../base/json.ts';
import type { CacheBackend } from '../../contracts/cache.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import { Connection } from './connection.ts';
import { isBusy, translateError, translating } from './errors.ts';
import { requireWritable } from './file-access.ts';
import { findFaults, requireSound } from './integrity.ts';
import { applyNextMigration, cacheMigrations, pendingMigrations, requireKnownSchema } from './schema.ts';
import { rangeOfPrefix } from '../sql/text-range.ts';

export interface SqliteCacheOptions {
  /** The file of a database. The cache is kept beside it (`cachePathFor`), created with its folder when absent. */
  readonly path: string;
  readonly clock: Clock;
  /** Put before every key, so that several services may share the file. */
  readonly prefix?: string;
  /** How long to keep asking while another process writes. */
  readonly busyTimeoutMs?: number;
  /** Larger files are not checked completely; default 0. */
  readonly maxCheckedBytes?: number;
}

/** Writes after which a few expired values are deleted. */
const writesPerPurge = 20;
const purgedRows = 100;
const retryMs = 5;

/** Where the cache belonging to a database file is kept: `coffer.sqlite3` → `coffer-cache.sqlite3`. */
export function cachePathFor(databasePath: string): string {
  return /\.[^./\\]+$/.test(databasePath) ? databasePath.replace(/(\.[^./\\]+)$/, '-cache$1') : `${databasePath}-cache`;
}

/**
 * Opens a cache file. A value survives restarts, and crashes of the process; loss of power may take the last ones.
 *
 * @throws BackendUnavailable when the file cannot be opened or is damaged; Error when a newer version has migrated it
 */
export function openSqliteCache(options: SqliteCacheOptions): CacheBackend {
  const path = cachePathFor(options.path);
  requireWritable(path, 'cache');
  // Without an fsync for each commit; the file stays consistent all the same.
  const connection = translating('cache', () => new Connection({ path, synchronous: 'NORMAL' }));
  try {
    translating('cache', () => requireSound(connection, path, options.maxCheckedBytes ?? 0, 'cache'));
    requireKnownSchema(connection, cacheMigrations, path);
  } catch (error) {
    connection.close();
    throw error;
  }
  return new SqliteCache(connection, options);
}

class SqliteCache implements CacheBackend {
  readonly name = 'sqlite';
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #busyTimeoutMs: number;
  #writes = 0;
  #closed = false;

  constructor(connection: Connection, { clock, prefix = '', busyTimeoutMs = 5000 }: SqliteCacheOptions) {
    this.#connection = connection;
    this.#clock = clock;
    this.#prefix = prefix;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  set(key: string, value: JsonValue, ttlSeconds: number): Promise<void> {
    return this.#run((connection) => {
      connection.run(
        `INSERT INTO cache (key, value, expires_at) VALUES (?, ?, ?)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
        this.#prefix + key,
        formatJson(value),
        this.#expiry(ttlSeconds),
      );
      if (++this.#writes % writesPerPurge === 0) this.#purge();
    });
  }

  get(key: string): Promise<JsonValue | undefined> {
    return this.#run((connection) => {
      const sql = 'SELECT value FROM cache WHERE key = ? AND expires_at > ?';
      const row = connection.get<[string]>(sql, this.#prefix + key, this.#clock.now());
      return row === undefined ? undefined : parseStoredJson(row[0]);
    });
  }

  delete(key: string): Promise<JsonValue | undefined> {
    return this.#run((connection) => {
      // One statement, so that of two processes only one gets the value.
      const sql = 'DELETE FROM cache WHERE key = ? RETURNING value, expires_at';
      const [row] = connection.all<[string, number]>(sql, this.#prefix + key);
      return row === undefined || row[1] <= this.#clock.now() ? undefined : parseStoredJson(row[0]);
    });
  }

  increment(key: string, by: number, ttlSeconds: number): Promise<number> {
    return this.#run((connection) => {
      const [row] = connection.all<[string]>(
        `INSERT INTO cache (key, value, expires_at) VALUES (?, CAST(CAST(? AS INTEGER) AS TEXT), ?)
        ON CONFLICT (key) DO UPDATE SET
          value = CASE WHEN expires_at > ? THEN CAST(CAST(value AS INTEGER) + CAST(excluded.value AS INTEGER) AS TEXT)
            ELSE excluded.value END,
          expires_at = CASE WHEN expires_at > ? THEN expires_at ELSE excluded.expires_at END
        RETURNING value`,
        this.#prefix + key,
        by,
        this.#expiry(ttlSeconds),
        this.#clock.now(),
        this.#clock.now(),
      );
      if (++this.#writes % writesPerPurge === 0) this.#purge();
      return Number(row![0]);
    });
  }

  ttl(key: string): Promise<number> {
    return this.#run((connection) => {
      const row = connection.get<[number]>('SELECT expires_at FROM cache WHERE key = ?', this.#prefix + key);
      const left = row === undefined ? 0 : row[0] - this.#clock.now();
      return left > 0 ? left / 1000 : -1;
    });
  }

  expire(key: string, ttlSeconds: number): Promise<void> {
    return this.#run((connection) => {
      const sql = 'UPDATE cache SET expires_at = ? WHERE key = ? AND expires_at > ?';
      connection.run(sql, this.#expiry(ttlSeconds), this.#prefix + key, this.#clock.now());
    });
  }

  flush(): Promise<void> {
    const { low, high } = rangeOfPrefix(this.#prefix);
    return this.#run((connection) => {
      if (high === undefined) connection.run('DELETE FROM cache WHERE key >= ?', low);
      else connection.run('DELETE FROM cache WHERE key >= ? AND key < ?', low, high);
    });
  }

  async initializeSchema({ dryRun }: { readonly dryRun: boolean }): Promise<readonly string[]> {
    const pending = await this.#run((connection) => pendingMigrations(connection, cacheMigrations));
    if (dryRun) return pending;
    const done: string[] = [];
    for (let left = pending.length; left > 0; left--) {
      const line = await this.#run((connection) =>
        connection.inWriteTransaction(() => applyNextMigration(connection, cacheMigrations)),
      );
      if (line !== undefined) done.push(line);
    }
    return done;
  }

  checkIntegrity(): Promise<readonly string[]> {
    return this.#run(findFaults);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#connection.close();
  }

  #expiry(ttlSeconds: number): number {
    return this.#clock.now() + ttlSeconds * 1000;
  }

  #purge(): void {
    const sql = 'DELETE FROM cache WHERE key IN (SELECT key FROM cache WHERE expires_at <= ? LIMIT ?)';
    this.#connection.run(sql, this.#clock.now(), purgedRows);
  }

  /** Runs one operation, again and again while another process holds the write lock. */
  async #run<T>(operation: (connection: Connection) => T): Promise<T> {
    const startedAt = performance.now();
    for (;;) {
      if (this.#closed) throw new BackendUnavailable('cache', 'the SQLite cache is closed');
      try {
        return operation(this.#connection);
      } catch (error) {
        if (!isBusy(error) || performance.now() - startedAt >= this.#busyTimeoutMs)
          throw translateError(error, 'cache');
      }
      await new Promise<void>((resolve) => {
        setTimeout(resolve, retryMs);
      });
    }
  }
}
