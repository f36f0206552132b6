// The contract suites on the PostgreSQL backends, each case with an empty database.
import { afterAll, beforeAll } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { migrateDatabase, runSql } from '../support/postgresql-setup.ts';
import { cloneDatabase, openPostgres, ReusedDatabase } from '../support/postgresql.ts';
import { describeCache, describeDatabase, describeHints, describeSecurityState } from './run-suite.ts';

let url: string;
let reused: ReusedDatabase;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await cloneDatabase();
  ({ url, drop } = database);
  reused = new ReusedDatabase({ url });
});
afterAll(async () => {
  await reused.close();
  await drop();
});

describeDatabase('postgresql', (clock) => reused.open(clock));

describeCache('postgresql', async (clock) => ({ cache: await reused.openCache(clock, 'test:') }));

describeSecurityState('postgresql', (clock) => reused.openSecurityState(clock));

describeHints('postgresql', async () => {
  const elsewhere = `${url}?options=-c%20search_path%3Delsewhere`;
  await runSql(url, 'CREATE SCHEMA IF NOT EXISTS elsewhere');
  await migrateDatabase(elsewhere);
  return {
    open: async () => openPostgres(systemClock, { url }).database,
    openElsewhere: async () => openPostgres(systemClock, { url: elsewhere }).database,
    cut: async () => {
      await runSql(
        url,
        `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'coffer hints'`,
      );
    },
    send: async (text) => {
      const quoted = text.replaceAll("'", "''");
      await runSql(
        url,
        `SELECT pg_notify('coffer_changes_' || relnamespace, '${quoted}') FROM pg_class WHERE oid = 'coffer_lists'::regclass`,
      );
    },
  };
});
