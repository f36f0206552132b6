// Databases for tests on the shared PostgreSQL server: a new one for each file that asks, or emptied for each case.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, inject } from 'vitest';
import { openPostgresCache } from '../../src/backends/postgresql/cache.ts';
import { ConnectionPool, type ConnectionOptions } from '../../src/backends/postgresql/connection-pool.ts';
import { openPostgresDatabase, type PostgresDatabase } from '../../src/backends/postgresql/database.ts';
import { createPostgresPermission } from '../../src/backends/postgresql/permission.ts';
import { createPostgresStorage } from '../../src/backends/postgresql/storage.ts';
import type { Clock } from '../../src/base/clock.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { CacheBackend } from '../../src/contracts/cache.ts';
import type { PermissionBackend } from '../../src/contracts/permission.ts';
import type { StorageBackend } from '../../src/contracts/storage.ts';

/** Runs SQL on a database. */
export async function runSql(url: string, sql: string): Promise<readonly (readonly unknown[])[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const result = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
    return result.rows;
  } finally {
    await client.end();
  }
}

/**
 * Creates a database, to be dropped after the tests of the file.
 *
 * @param options SQL of `CREATE DATABASE` after the name
 * @returns its URL
 */
export async function createDatabase(options = ''): Promise<string> {
  const server = inject('postgresqlUrl');
  const name = `test_${randomBytes(8).toString('hex')}`;
  await runSql(server, `CREATE DATABASE ${name} ${options}`);
  afterAll(() => runSql(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Creates the tables in a database. */
export async function migrateDatabase(url: string): Promise<void> {
  const pool = new ConnectionPool({ url, size: 2 });
  const database = openPostgresDatabase({ pool, clock: systemClock });
  const cache = openPostgresCache({ pool, clock: systemClock });
  await database.initializeSchema({ dryRun: false });
  await cache.initializeSchema({ dryRun: false });
  await database.close();
  await cache.close();
}

const tables = ['lists', 'objects', 'tombstones', 'memberships', 'folders', 'entries', 'doomed_lists', 'doomed_folders', 'cache'];

/** Empties the tables of a database. */
export async function emptyDatabase(url: string): Promise<void> {
  await runSql(url, tables.map((table) => `DELETE FROM coffer_${table}`).join('; '));
}

export interface OpenPostgres {
  readonly database: PostgresDatabase;
  readonly storage: StorageBackend;
  readonly permission: PermissionBackend;
}

/** Opens storage and permission backends on a database. */
export function openPostgres(clock: Clock, options: ConnectionOptions): OpenPostgres {
  const database = openPostgresDatabase({ pool: new ConnectionPool(options), clock });
  return { database, storage: createPostgresStorage(database), permission: createPostgresPermission(database) };
}

/** Opens a cache on a database. */
export function openCache(clock: Clock, options: ConnectionOptions, prefix = ''): CacheBackend {
  return openPostgresCache({ pool: new ConnectionPool(options), clock, prefix });
}
