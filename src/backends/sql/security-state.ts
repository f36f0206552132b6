// The contract of security state in SQL, shared by SQLite and PostgreSQL. Each call is one statement. A trigger counts the
// entries of each purpose, so that no statement counts the whole table.
import type { Clock } from '../../base/clock.ts';
import { SecurityStateFull } from '../../contracts/errors.ts';
import type { SecurityEntry, SecurityKey, SecurityState, SecurityStateLimits } from '../../contracts/security-state.ts';
import type { SqlTable } from './table.ts';

const table = 'coffer_security_state';
/** Number of inserts between two deletions of expired entries. */
const insertsPerPurge = 50;

type SecurityStatement =
  | 'increment'
  | 'put'
  | 'add'
  | 'get'
  | 'decrement'
  | 'removeLast'
  | 'replace'
  | 'take'
  | 'remove'
  | 'countOf'
  | 'purge'
  | 'flush';

/** Inserts unless a limit is reached. A live entry is exempt from the limits. */
function inserting(onConflict: string): string {
  return `INSERT INTO ${table} AS held (purpose, key, requester, value, expires_at)
    SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text), CAST($5 AS double precision)
    WHERE EXISTS (SELECT 1 FROM ${table} WHERE purpose = $1 AND key = $2 AND expires_at > $6)
      OR (
        coalesce((SELECT entries FROM coffer_security_counts WHERE purpose = $1), 0) < $7
        AND (
          CAST($3 AS text) IS NULL
          OR (SELECT count(*) FROM ${table} WHERE purpose = $1 AND requester = $3 AND expires_at > $6) < $8
        )
      )
    ON CONFLICT (purpose, key) DO UPDATE SET
      requester = CASE WHEN held.expires_at > $6 THEN held.requester ELSE excluded.requester END,
      ${onConflict}
    RETURNING 1`;
}

/**
 * Returns the statements by name. Parameters: purpose, key, and those that the methods below pass.
 *
 * @param locking clause that keeps two processes from waiting for each other's deletions
 */
export function securityStatements(locking = ''): Readonly<Record<SecurityStatement, string>> {
  return {
    increment: inserting(`
      value = CASE WHEN held.expires_at > $6 THEN CAST(CAST(held.value AS integer) + 1 AS text) ELSE excluded.value END,
      expires_at = CASE WHEN held.expires_at > $6 THEN held.expires_at ELSE excluded.expires_at END
    WHERE held.expires_at <= $6 OR CAST(held.value AS integer) < $9`),
    put: inserting('value = excluded.value, expires_at = excluded.expires_at'),
    add: inserting('value = excluded.value, expires_at = excluded.expires_at WHERE held.expires_at <= $6'),
    get: `SELECT value, expires_at FROM ${table} WHERE purpose = $1 AND key = $2 AND expires_at > $3`,
    decrement: `UPDATE ${table} SET value = CAST(CAST(value AS integer) - 1 AS text)
    WHERE purpose = $1 AND key = $2 AND expires_at > $3 AND CAST(value AS integer) > 0`,
    removeLast: `DELETE FROM ${table} WHERE purpose = $1 AND key = $2 AND value = '1' RETURNING 1`,
    replace: `UPDATE ${table} SET value = $4 WHERE purpose = $1 AND key = $2 AND value = $3 AND expires_at > $5 RETURNING 1`,
    take: `DELETE FROM ${table} WHERE purpose = $1 AND key = $2 AND value = $3 AND expires_at > $4 RETURNING 1`,
    remove: `DELETE FROM ${table} WHERE purpose = $1 AND key = $2`,
    countOf: `SELECT count(*) FROM ${table} WHERE purpose = $1 AND requester = $2 AND expires_at > $3`,
    purge: `DELETE FROM ${table} WHERE purpose = $1 AND key IN (
    SELECT key FROM ${table} WHERE purpose = $1 AND expires_at <= $2 LIMIT 1000 ${locking}
  ) RETURNING 1`,
    flush: `DELETE FROM ${table}`,
  };
}

export interface SqlSecurityStateOptions extends SecurityStateLimits {
  readonly clock: Clock;
}

export class SqlSecurityState implements SecurityState {
  readonly name: string;
  readonly needsMigration: boolean;
  readonly #table: SqlTable<SecurityStatement>;
  readonly #clock: Clock;
  readonly #limits: SecurityStateLimits;
  #inserts = 0;

  constructor(target: SqlTable<SecurityStatement>, { clock, ...limits }: SqlSecurityStateOptions) {
    this.name = target.name;
    this.needsMigration = target.needsMigration ?? false;
    this.#table = target;
    this.#clock = clock;
    this.#limits = limits;
  }

  async increment(
    entry: SecurityEntry,
    { limit, ttlSeconds }: { readonly limit: number; readonly ttlSeconds: number },
  ): Promise<number | undefined> {
    const live = await this.#insert('increment', entry, ['1', ttlSeconds], limit);
    return live === undefined ? undefined : (live.expiresAt - this.#clock.now()) / 1000;
  }

  async decrement({ purpose, key }: SecurityKey): Promise<void> {
    const [removed] = await this.#table.run('removeLast', [purpose, key]);
    if (removed === undefined) await this.#table.run('decrement', [purpose, key, this.#clock.now()]);
  }

  async put(entry: SecurityEntry, value: string, ttlSeconds: number): Promise<void> {
    await this.#insert('put', entry, [value, ttlSeconds]);
  }

  async add(entry: SecurityEntry, value: string, ttlSeconds: number): Promise<boolean> {
    return (await this.#insert('add', entry, [value, ttlSeconds])) === undefined;
  }

  async get(key: SecurityKey): Promise<string | undefined> {
    return (await this.#find(key))?.value;
  }

  async replace({ purpose, key }: SecurityKey, from: string, to: string): Promise<boolean> {
    return (await this.#table.run('replace', [purpose, key, from, to, this.#clock.now()])).length > 0;
  }

  async take({ purpose, key }: SecurityKey, value: string): Promise<boolean> {
    return (await this.#table.run('take', [purpose, key, value, this.#clock.now()])).length > 0;
  }

  async remove({ purpose, key }: SecurityKey): Promise<void> {
    await this.#table.run('remove', [purpose, key]);
  }

  async flush(): Promise<void> {
    await this.#table.run('flush', []);
  }

  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]> {
    return this.#table.initializeSchema(options);
  }

  close(): Promise<void> {
    return this.#table.close();
  }

  /**
   * @returns `undefined` when the statement has stored an entry; otherwise the live entry that prevents it
   * @throws SecurityStateFull
   */
  async #insert(
    statement: 'increment' | 'put' | 'add',
    entry: SecurityEntry,
    [value, ttlSeconds]: readonly [value: string, ttlSeconds: number],
    ...more: readonly number[]
  ): Promise<{ readonly expiresAt: number } | undefined> {
    const { purpose, key, requester = null, maxPerRequester = Infinity, isBoundElsewhere = false } = entry;
    const maxEntries = isBoundElsewhere ? Number.MAX_SAFE_INTEGER : this.#limits.maxEntries;
    const share = Math.min(maxPerRequester, this.#limits.maxEntriesPerRequester);
    if (++this.#inserts % insertsPerPurge === 0) await this.#purge(purpose);
    for (;;) {
      const now = this.#clock.now();
      const times = [now + ttlSeconds * 1000, now];
      const values = [purpose, key, requester, value, ...times, maxEntries, share, ...more];
      if ((await this.#table.run(statement, values)).length > 0) return undefined;
      const live = await this.#find(entry);
      if (live !== undefined) return live;
      // Expired entries still count until they are deleted.
      if (await this.#purge(purpose)) continue;
      const isOwnShare = requester !== null && (await this.#countOf(purpose, requester)) >= share;
      throw new SecurityStateFull(purpose, isOwnShare ? 'requester' : 'purpose', ttlSeconds);
    }
  }

  async #find({
    purpose,
    key,
  }: SecurityKey): Promise<{ readonly value: string; readonly expiresAt: number } | undefined> {
    const [row] = await this.#table.run('get', [purpose, key, this.#clock.now()]);
    return row === undefined ? undefined : { value: String(row[0]), expiresAt: Number(row[1]) };
  }

  async #countOf(purpose: string, requester: string): Promise<number> {
    const [row] = await this.#table.run('countOf', [purpose, requester, this.#clock.now()]);
    return Number(row?.[0] ?? 0);
  }

  /** Deletes expired entries; returns whether any were deleted. */
  async #purge(purpose: string): Promise<boolean> {
    return (await this.#table.run('purge', [purpose, this.#clock.now()])).length > 0;
  }
}
