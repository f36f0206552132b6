// What has to be done to a PostgreSQL database before tests can use it; also for the time before the tests run.
import pg from 'pg';
import { openPostgresCache } from '../../src/backends/postgresql/cache.ts';
import { ConnectionPool } from '../../src/backends/postgresql/connection-pool.ts';
import { openPostgresSecurityState } from '../../src/backends/postgresql/security-state.ts';
import { openPostgresDatabase } from '../../src/backends/postgresql/database.ts';
import { systemClock } from '../../src/base/clock.ts';

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

/** URL of another database on the same server. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Creates the tables in a database. */
export async function migrateDatabase(url: string): Promise<void> {
  const pool = new ConnectionPool({ url, size: 2 });
  const database = openPostgresDatabase({ pool, clock: systemClock });
  const cache = openPostgresCache({ pool, clock: systemClock });
  const limits = { maxEntries: 1, maxEntriesPerRequester: 1 };
  const securityState = openPostgresSecurityState({ ...limits, pool, clock: systemClock });
  for (const store of [database, cache, securityState]) await store.initializeSchema({ dryRun: false });
  for (const store of [database, cache, securityState]) await store.close();
}
