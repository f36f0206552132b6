// The contract suites on the PostgreSQL backends, each case with an empty database.
import { beforeAll } from 'vitest';
import { migrateDatabase } from '../support/postgresql-setup.ts';
import { createDatabase, emptyDatabase, openCache, openPostgres } from '../support/postgresql.ts';
import { describeCache, describeDatabase } from './run-suite.ts';

let url: string;

beforeAll(async () => {
  url = await createDatabase();
  await migrateDatabase(url);
});

describeDatabase('postgresql', async (clock) => {
  await emptyDatabase(url);
  return openPostgres(clock, { url });
});

describeCache('postgresql', async (clock) => {
  await emptyDatabase(url);
  return { cache: openCache(clock, { url }, 'test:') };
});
