// The cache contract in a table. Each call is one statement, outside any unit of work.
import type { Clock } from '../../base/clock.ts';
import { formatJson, parseStoredJson, type JsonValue } from '../../base/json.ts';
import type { CacheBackend } from '../../contracts/cache.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import { rangeOfPrefix } from '../sql/text-range.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { prepared, quick, type Row, type SqlValue, type Statement } from './connection.ts';
import { initializeComponent } from './migrate.ts';
import { cacheComponent } from './schema.ts';
import { keyOfText } from './text-key.ts';

export interface PostgresCacheOptions {
  readonly pool: ConnectionPool;
  readonly clock: Clock;
  /** Prefix of every key, so that several services can share the database. */
  readonly prefix?: string;
}

/** Number of writes between two deletions of expired values. */
const writesPerPurge = 50;

const setValue = quick(
  'cache-set',
  `INSERT INTO coffer_cache (key, value, expires_at) VALUES ($1, $2, $3)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
);
const getValue = quick('cache-get', 'SELECT value FROM coffer_cache WHERE key = $1 AND expires_at > $2');
const takeValue = quick('cache-take', 'DELETE FROM coffer_cache WHERE key = $1 RETURNING value, expires_at');
const advanceValue = quick(
  'cache-advance',
  `INSERT INTO coffer_cache AS held (key, value, expires_at) VALUES ($1, ($2::bigint + $3::bigint)::text, $4)
  ON CONFLICT (key) DO UPDATE SET
    value = CASE WHEN held.expires_at > $5 THEN (GREATEST(held.value::bigint, $3::bigint) + $2::bigint)::text
      ELSE excluded.value END,
    expires_at = excluded.expires_at
  RETURNING value`,
);
const setExpiry = quick('cache-expire', 'UPDATE coffer_cache SET expires_at = $2 WHERE key = $1 AND expires_at > $3');
const purgeExpired = prepared(
  'cache-purge',
  `DELETE FROM coffer_cache WHERE key IN (
    SELECT key FROM coffer_cache WHERE expires_at <= $1 LIMIT 200 FOR UPDATE SKIP LOCKED
  )`,
);
const flushFrom = prepared('cache-flush-from', 'DELETE FROM coffer_cache WHERE key >= $1');
const flushBetween = prepared('cache-flush-between', 'DELETE FROM coffer_cache WHERE key >= $1 AND key < $2');

/** Opens a cache on the connections of the pool. */
export function openPostgresCache(options: PostgresCacheOptions): CacheBackend {
  return new PostgresCache({ ...options, pool: options.pool.share() });
}

class PostgresCache implements CacheBackend {
  readonly name = 'postgresql';
  readonly needsMigration = true;
  readonly #pool: ConnectionPool;
  readonly #clock: Clock;
  readonly #prefix: string;
  #writes = 0;
  #isClosed = false;

  constructor({ pool, clock, prefix = '' }: PostgresCacheOptions) {
    this.#pool = pool;
    this.#clock = clock;
    this.#prefix = prefix;
  }

  async set(key: string, value: JsonValue, ttlSeconds: number): Promise<void> {
    await this.#run(setValue, [this.#key(key), formatJson(value), this.#expiry(ttlSeconds)]);
    if (++this.#writes % writesPerPurge === 0) await this.#run(purgeExpired, [this.#clock.now()]);
  }

  async get(key: string): Promise<JsonValue | undefined> {
    const [row] = await this.#run(getValue, [this.#key(key), this.#clock.now()]);
    return row === undefined ? undefined : parseStoredJson(row[0]!);
  }

  async delete(key: string): Promise<JsonValue | undefined> {
    // One statement, so that exactly one of two callers gets the value.
    const [row] = await this.#run(takeValue, [this.#key(key)]);
    return row === undefined || Number(row[1]) <= this.#clock.now() ? undefined : parseStoredJson(row[0]!);
  }

  async advance(key: string, by: number, from: number, ttlSeconds: number): Promise<number> {
    const values = [this.#key(key), by, from, this.#expiry(ttlSeconds), this.#clock.now()];
    const [row] = await this.#run(advanceValue, values);
    if (++this.#writes % writesPerPurge === 0) await this.#run(purgeExpired, [this.#clock.now()]);
    return Number(row![0]);
  }

  async expire(key: string, ttlSeconds: number): Promise<void> {
    await this.#run(setExpiry, [this.#key(key), this.#expiry(ttlSeconds), this.#clock.now()]);
  }

  async flush(): Promise<void> {
    const { low, high } = rangeOfPrefix(this.#prefix);
    await (high === undefined ? this.#run(flushFrom, [low]) : this.#run(flushBetween, [low, high]));
  }

  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]> {
    return initializeComponent(this.#pool, 'cache', cacheComponent, options);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#pool.leave();
  }

  #key(key: string): string {
    return this.#prefix + keyOfText(key);
  }

  #expiry(ttlSeconds: number): number {
    return this.#clock.now() + ttlSeconds * 1000;
  }

  async #run(statement: Statement, values: readonly SqlValue[]): Promise<readonly Row[]> {
    if (this.#isClosed) throw new BackendUnavailable('cache', 'the PostgreSQL cache is closed');
    return (await this.#pool.run('cache', statement, values)).rows;
  }
}
