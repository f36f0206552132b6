// Databases for tests on the shared PostgreSQL server: a new one for each file that asks, or emptied for each case.
import { randomBytes } from 'node:crypto';
import { afterAll, inject } from 'vitest';
import { openPostgresCache } from '../../src/backends/postgresql/cache.ts';
import { ConnectionPool, type ConnectionOptions } from '../../src/backends/postgresql/connection-pool.ts';
import { openPostgresDatabase, type PostgresDatabase } from '../../src/backends/postgresql/database.ts';
import { createPostgresPermission } from '../../src/backends/postgresql/permission.ts';
import { openPostgresSecurityState } from '../../src/backends/postgresql/security-state.ts';
import { createPostgresStorage } from '../../src/backends/postgresql/storage.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { CacheBackend } from '../../src/contracts/cache.ts';
import type { PermissionBackend } from '../../src/contracts/permission.ts';
import type { SecurityState } from '../../src/contracts/security-state.ts';
import type { StorageBackend } from '../../src/contracts/storage.ts';
import { securityStateLimits } from '../../src/testing/index.ts';
import { databaseUrl, runSql } from './postgresql-setup.ts';

/**
 * Creates an empty database without tables, to be dropped after the tests of the file.
 *
 * @param options SQL of `CREATE DATABASE` after the name
 * @returns its URL
 */
export async function createDatabase(options = ''): Promise<string> {
  const { url, drop } = await newDatabase(options);
  afterAll(drop);
  return url;
}

/** Creates an empty database with tables. */
export function cloneDatabase(): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> {
  return newDatabase(`TEMPLATE ${inject('postgresqlTemplate')}`);
}

/** Creates a database; `options` is SQL of `CREATE DATABASE` after the name. */
export async function newDatabase(options = ''): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> {
  const server = inject('postgresqlUrl');
  const name = `${inject('postgresqlTemplate')}_${randomBytes(8).toString('hex')}`;
  await runSql(server, `CREATE DATABASE ${name} ${options}`);
  return {
    url: databaseUrl(server, name),
    drop: async () => {
      await runSql(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

const tables = [
  'lists',
  'objects',
  'tombstones',
  'memberships',
  'folders',
  'entries',
  'doomed_lists',
  'doomed_folders',
  'counters',
  'cache',
  'security_state',
];

/** One statement that empties all tables. */
const emptyTables = `WITH ${tables.map((table) => `${table} AS (DELETE FROM coffer_${table})`).join(', ')} SELECT 1`;

/** Databases of this process that are not in use: empty, with tables. */
const spare: string[] = [];

/** Lends an empty database with tables that is given back with nothing but data added. A new one costs the server more than most tests do. */
export async function borrowDatabase(): Promise<{ readonly url: string; readonly giveBack: () => Promise<void> }> {
  const url = spare.pop() ?? (await cloneDatabase()).url;
  let isLent = true;
  return {
    url,
    giveBack: async () => {
      // Some tests stop a service more than once. By then others may have the database.
      if (!isLent) return;
      isLent = false;
      await runSql(url, emptyTables);
      spare.push(url);
    },
  };
}

/**
 * A database with tables that many cases use, one after the other, each finding it empty. They share connections: making
 * these costs more than what most cases do.
 */
export class ReusedDatabase {
  readonly #pool: ConnectionPool;

  constructor(options: ConnectionOptions) {
    this.#pool = new ConnectionPool(options).share();
  }

  async open(clock: Clock): Promise<OpenPostgres> {
    await this.#empty();
    return openOn(this.#pool, clock);
  }

  async openCache(clock: Clock, prefix: string): Promise<CacheBackend> {
    await this.#empty();
    return openPostgresCache({ pool: this.#pool, clock, prefix });
  }

  async openSecurityState(
    clock: Clock,
  ): Promise<{ readonly state: SecurityState; readonly openAgain: () => Promise<SecurityState> }> {
    await this.#empty();
    const openAgain = async (): Promise<SecurityState> =>
      openPostgresSecurityState({ ...securityStateLimits, pool: this.#pool, clock });
    return { state: await openAgain(), openAgain };
  }

  /** Closes the connections, after all that was opened here. */
  close(): Promise<void> {
    return this.#pool.leave();
  }

  async #empty(): Promise<void> {
    await this.#pool.run('storage', { text: emptyTables }, []);
  }
}

export interface OpenPostgres {
  readonly database: PostgresDatabase;
  readonly storage: StorageBackend;
  readonly permission: PermissionBackend;
}

/**
 * Opens storage and permission backends on a database.
 *
 * @param cacheBytes size of the cache of small lists; default: that of the backend
 */
export function openPostgres(clock: Clock, options: ConnectionOptions, cacheBytes?: number): OpenPostgres {
  return openOn(new ConnectionPool(options), clock, cacheBytes);
}

function openOn(pool: ConnectionPool, clock: Clock, cacheBytes?: number): OpenPostgres {
  const database = openPostgresDatabase({ pool, clock, cacheBytes });
  return { database, storage: createPostgresStorage(database), permission: createPostgresPermission(database) };
}

/** Opens a cache on a database. */
export function openCache(clock: Clock, options: ConnectionOptions, prefix = ''): CacheBackend {
  return openPostgresCache({ pool: new ConnectionPool(options), clock, prefix });
}
