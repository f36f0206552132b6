// The cache contract in SQL, shared by SQLite and PostgreSQL. Each call is one statement, outside any unit of work.
import type { Clock } from '../../base/clock.ts';
import { formatJson, parseStoredJson, type JsonValue } from '../../base/json.ts';
import type { CacheBackend } from '../../contracts/cache.ts';
import type { SqlTable, TableValue } from './table.ts';
import { rangeOfPrefix } from './text-range.ts';

/** Number of writes between two deletions of expired values. */
const writesPerPurge = 50;

type CacheStatement = 'set' | 'get' | 'take' | 'advance' | 'expire' | 'purge' | 'flushFrom' | 'flushBetween';

/**
 * Returns the statements for a table, by name.
 *
 * @param locking clause that keeps two processes from waiting for each other's deletions
 */
export function cacheStatements(table: string, locking = ''): Readonly<Record<CacheStatement, string>> {
  return {
    set: `INSERT INTO ${table} (key, value, expires_at) VALUES ($1, $2, $3)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
    get: `SELECT value FROM ${table} WHERE key = $1 AND expires_at > $2`,
    // One statement, so that exactly one of two callers gets the value.
    take: `DELETE FROM ${table} WHERE key = $1 RETURNING value, expires_at`,
    advance: `INSERT INTO ${table} AS held (key, value, expires_at)
      VALUES ($1, CAST(CAST($2 AS bigint) + CAST($3 AS bigint) AS text), $4)
      ON CONFLICT (key) DO UPDATE SET
        value = CASE WHEN held.expires_at > $5 AND CAST(held.value AS bigint) > CAST($3 AS bigint)
          THEN CAST(CAST(held.value AS bigint) + CAST($2 AS bigint) AS text) ELSE excluded.value END,
        expires_at = excluded.expires_at
      RETURNING value`,
    expire: `UPDATE ${table} SET expires_at = $2 WHERE key = $1 AND expires_at > $3`,
    purge: `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE expires_at <= $1 LIMIT 200 ${locking})`,
    flushFrom: `DELETE FROM ${table} WHERE key >= $1`,
    flushBetween: `DELETE FROM ${table} WHERE key >= $1 AND key < $2`,
  };
}

export interface SqlCacheOptions {
  readonly clock: Clock;
  /** Prefix of every key, so that several services can share the table. */
  readonly prefix?: string;
}

export class SqlCache implements CacheBackend {
  readonly name: string;
  readonly needsMigration: boolean;
  readonly #table: SqlTable<CacheStatement>;
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #keyOf: (key: string) => string;
  #writes = 0;

  /** @param keyOf returns the stored form of a key, without the prefix */
  constructor(
    table: SqlTable<CacheStatement>,
    { clock, prefix = '' }: SqlCacheOptions,
    keyOf = (key: string): string => key,
  ) {
    this.name = table.name;
    this.needsMigration = table.needsMigration ?? false;
    this.#table = table;
    this.#clock = clock;
    this.#prefix = prefix;
    this.#keyOf = keyOf;
  }

  async set(key: string, value: JsonValue, ttlSeconds: number): Promise<void> {
    await this.#write('set', [this.#key(key), formatJson(value), this.#expiry(ttlSeconds)]);
  }

  async get(key: string): Promise<JsonValue | undefined> {
    const [row] = await this.#table.run('get', [this.#key(key), this.#clock.now()]);
    return row === undefined ? undefined : parseStoredJson(String(row[0]));
  }

  async delete(key: string): Promise<JsonValue | undefined> {
    const [row] = await this.#table.run('take', [this.#key(key)]);
    return row === undefined || Number(row[1]) <= this.#clock.now() ? undefined : parseStoredJson(String(row[0]));
  }

  async advance(key: string, by: number, from: number, ttlSeconds: number): Promise<number> {
    const values = [this.#key(key), by, from, this.#expiry(ttlSeconds), this.#clock.now()];
    const [row] = await this.#write('advance', values);
    return Number(row![0]);
  }

  async expire(key: string, ttlSeconds: number): Promise<void> {
    await this.#table.run('expire', [this.#key(key), this.#expiry(ttlSeconds), this.#clock.now()]);
  }

  async flush(): Promise<void> {
    const { low, high } = rangeOfPrefix(this.#prefix);
    await (high === undefined ? this.#table.run('flushFrom', [low]) : this.#table.run('flushBetween', [low, high]));
  }

  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]> {
    return this.#table.initializeSchema(options);
  }

  async checkIntegrity(): Promise<readonly string[]> {
    return (await this.#table.checkIntegrity?.()) ?? [];
  }

  close(): Promise<void> {
    return this.#table.close();
  }

  async #write(
    statement: 'set' | 'advance',
    values: readonly TableValue[],
  ): Promise<readonly (readonly TableValue[])[]> {
    const rows = await this.#table.run(statement, values);
    if (++this.#writes % writesPerPurge === 0) await this.#table.run('purge', [this.#clock.now()]);
    return rows;
  }

  #key(key: string): string {
    return this.#prefix + this.#keyOf(key);
  }

  #expiry(ttlSeconds: number): number {
    return this.#clock.now() + ttlSeconds * 1000;
  }
}
