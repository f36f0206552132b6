// The cache contract in a SQLite file of its own, because cache writes are independent of the unit of work.
import type { Clock } from '../../base/clock.ts';
import { formatJson, parseStoredJson, type JsonValue } from '../../base/json.ts';
import type { CacheBackend } from '../../contracts/cache.ts';
import type { Connection } from './connection.ts';
import { CompanionFile } from './companion-file.ts';
import { companionPath } from './database-path.ts';
import { cacheMigrations } from './schema.ts';
import { rangeOfPrefix } from '../sql/text-range.ts';

export interface SqliteCacheOptions {
  /** The file of a database. The cache has a file next to it (`cachePathFor`), created with its folder when absent. */
  readonly path: string;
  readonly clock: Clock;
  /** Prefix of every key, so that several services can share the file. */
  readonly prefix?: string;
  /** Time for which an operation is retried while another process writes. */
  readonly busyTimeoutMs?: number;
  /** Maximum size of a file that is checked completely; default 0. */
  readonly maxCheckedBytes?: number;
}

/** Number of writes between two deletions of expired values. */
const writesPerPurge = 20;
const purgedRows = 100;

/** Returns the file of the cache of a database: `coffer.sqlite3` → `coffer-cache.sqlite3`. */
export function cachePathFor(databasePath: string): string {
  return companionPath(databasePath, 'cache');
}

/**
 * Opens a cache file. Values survive restarts and crashes of the process; a power loss may take the last ones.
 *
 * @throws BackendUnavailable when the file cannot be opened or is damaged; Error when a newer version has migrated it
 */
export function openSqliteCache(options: SqliteCacheOptions): CacheBackend {
  const { path, busyTimeoutMs, maxCheckedBytes } = options;
  const file = new CompanionFile({
    path: cachePathFor(path),
    migrations: cacheMigrations,
    backend: 'cache',
    busyTimeoutMs,
    maxCheckedBytes,
    loss: 'it holds nothing but the cache',
  });
  return new SqliteCache(file, options);
}

class SqliteCache implements CacheBackend {
  readonly name = 'sqlite';
  readonly #file: CompanionFile;
  readonly #clock: Clock;
  readonly #prefix: string;
  #writes = 0;

  constructor(file: CompanionFile, { clock, prefix = '' }: SqliteCacheOptions) {
    this.#file = file;
    this.#clock = clock;
    this.#prefix = prefix;
  }

  set(key: string, value: JsonValue, ttlSeconds: number): Promise<void> {
    return this.#file.run((connection) => {
      connection.run(
        `INSERT INTO cache (key, value, expires_at) VALUES (?, ?, ?)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
        this.#prefix + key,
        formatJson(value),
        this.#expiry(ttlSeconds),
      );
      if (++this.#writes % writesPerPurge === 0) this.#purge(connection);
    });
  }

  get(key: string): Promise<JsonValue | undefined> {
    return this.#file.run((connection) => {
      const sql = 'SELECT value FROM cache WHERE key = ? AND expires_at > ?';
      const row = connection.get<[string]>(sql, this.#prefix + key, this.#clock.now());
      return row === undefined ? undefined : parseStoredJson(row[0]);
    });
  }

  delete(key: string): Promise<JsonValue | undefined> {
    return this.#file.run((connection) => {
      // One statement, so that exactly one of two processes gets the value.
      const sql = 'DELETE FROM cache WHERE key = ? RETURNING value, expires_at';
      const [row] = connection.all<[string, number]>(sql, this.#prefix + key);
      return row === undefined || row[1] <= this.#clock.now() ? undefined : parseStoredJson(row[0]);
    });
  }

  advance(key: string, by: number, from: number, ttlSeconds: number): Promise<number> {
    return this.#file.run((connection) => {
      const [row] = connection.all<[string]>(
        `INSERT INTO cache (key, value, expires_at) VALUES (?, CAST(CAST(? AS INTEGER) AS TEXT), ?)
        ON CONFLICT (key) DO UPDATE SET
          value = CASE WHEN expires_at > ?
            THEN CAST(max(CAST(value AS INTEGER), CAST(? AS INTEGER)) + CAST(? AS INTEGER) AS TEXT)
            ELSE excluded.value END,
          expires_at = excluded.expires_at
        RETURNING value`,
        this.#prefix + key,
        from + by,
        this.#expiry(ttlSeconds),
        this.#clock.now(),
        from,
        by,
      );
      if (++this.#writes % writesPerPurge === 0) this.#purge(connection);
      return Number(row![0]);
    });
  }

  expire(key: string, ttlSeconds: number): Promise<void> {
    return this.#file.run((connection) => {
      const sql = 'UPDATE cache SET expires_at = ? WHERE key = ? AND expires_at > ?';
      connection.run(sql, this.#expiry(ttlSeconds), this.#prefix + key, this.#clock.now());
    });
  }

  flush(): Promise<void> {
    const { low, high } = rangeOfPrefix(this.#prefix);
    return this.#file.run((connection) => {
      if (high === undefined) connection.run('DELETE FROM cache WHERE key >= ?', low);
      else connection.run('DELETE FROM cache WHERE key >= ? AND key < ?', low, high);
    });
  }

  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]> {
    return this.#file.initializeSchema(options);
  }

  checkIntegrity(): Promise<readonly string[]> {
    return this.#file.checkIntegrity();
  }

  async close(): Promise<void> {
    this.#file.close();
  }

  #expiry(ttlSeconds: number): number {
    return this.#clock.now() + ttlSeconds * 1000;
  }

  #purge(connection: Connection): void {
    const sql = 'DELETE FROM cache WHERE key IN (SELECT key FROM cache WHERE expires_at <= ? LIMIT ?)';
    connection.run(sql, this.#clock.now(), purgedRows);
  }
}
