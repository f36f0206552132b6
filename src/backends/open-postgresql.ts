// Opens the PostgreSQL backends as the settings say. Backends with the same URL share their connections and, where they
// have any, their transactions.
import type { Clock } from '../base/clock.ts';
import type { CacheBackend } from '../contracts/cache.ts';
import type { ConnectionPool } from './postgresql/connection-pool.ts';
import { findPostgresqlUrl } from '../settings/postgresql-url.ts';
import type { Settings } from '../settings/settings.ts';
import type { OpenDatabase } from '../contracts/backend-module.ts';

export type BackendKind = 'storage' | 'permission' | 'cache';

export class PostgresqlOpener {
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #pools = new Map<string, Promise<ConnectionPool>>();

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** The database for storage and permissions. */
  async openDatabase(kind: 'storage' | 'permission'): Promise<OpenDatabase> {
    const { openPostgresDatabase } = await import('./postgresql/database.ts');
    const { createPostgresStorage } = await import('./postgresql/storage.ts');
    const { createPostgresPermission } = await import('./postgresql/permission.ts');
    const { openPostgresSecurityState } = await import('./postgresql/security-state.ts');
    const pool = await this.#pool(kind);
    const database = openPostgresDatabase({
      pool,
      clock: this.#clock,
      longReads: this.#settings.get('postgresql_long_reads'),
    });
    return {
      database,
      storage: () => createPostgresStorage(database),
      permission: () => createPostgresPermission(database),
      securityState: (limits) => openPostgresSecurityState({ ...limits, pool, clock: this.#clock }),
    };
  }

  async openCache(): Promise<CacheBackend> {
    const { openPostgresCache } = await import('./postgresql/cache.ts');
    const prefix = this.#settings.get('cache_prefix');
    return openPostgresCache({ pool: await this.#pool('cache'), clock: this.#clock, prefix });
  }

  /** The connections to the database of this kind; those of the first that names it. */
  #pool(kind: BackendKind): Promise<ConnectionPool> {
    const url = postgresqlUrl(this.#settings, kind);
    let pool = this.#pools.get(url);
    if (pool === undefined) {
      pool = openPool(this.#settings, kind, url);
      this.#pools.set(url, pool);
    }
    return pool;
  }
}

/** The URL that the setting names; settings were checked when they were loaded. */
export function postgresqlUrl(settings: Settings, kind: BackendKind): string {
  const url = findPostgresqlUrl(settings.get(`${kind}_url`));
  if (url === undefined) throw new Error(`${kind}_url: expected the URL of a PostgreSQL database`);
  return url;
}

async function openPool(settings: Settings, kind: BackendKind, url: string): Promise<ConnectionPool> {
  const { ConnectionPool } = await import('./postgresql/connection-pool.ts');
  return new ConnectionPool({
    url,
    size: settings.get(`${kind}_pool_size`),
    maxOverflow: settings.get(`${kind}_max_overflow`),
    maxBacklog: settings.get(`${kind}_max_backlog`),
    recycleSeconds: settings.get(`${kind}_pool_recycle`),
    timeoutSeconds: settings.get(`${kind}_pool_timeout`),
    statementTimeoutSeconds: settings.get('postgresql_statement_timeout_seconds'),
    lockTimeoutSeconds: settings.get('postgresql_lock_timeout_seconds'),
    isPooled: settings.get('postgresql_transaction_pooling'),
  });
}
