// The contract suites on an older major of PostgreSQL, where the machine has one: of the system, or fetched once by
// `npm run test:servers`, which runs more of the tests on more of them.
import { afterAll, beforeAll, inject, test } from 'vitest';
import { migrateDatabase, runSql } from '../support/postgresql-setup.ts';
import { findOlderBinaries, PostgresServer } from '../support/postgresql-server.ts';
import { emptyDatabase, openCache, openPostgres } from '../support/postgresql.ts';
import { describeCache, describeDatabase } from './run-suite.ts';

const [row] = await runSql(inject('postgresqlUrl'), `SELECT current_setting('server_version_num')::integer / 10000`);
const older = findOlderBinaries(Number(row?.[0]));

function describeOlder({ major, folder }: NonNullable<typeof older>): void {
  let server: PostgresServer;
  let url: string;

  beforeAll(async () => {
    server = await PostgresServer.create({ binaries: folder });
    url = server.url('postgres');
    await migrateDatabase(url);
  });
  afterAll(() => server.remove());

  describeDatabase(`PostgreSQL ${major}`, async (clock) => {
    await emptyDatabase(url);
    return openPostgres(clock, { url });
  });

  describeCache(`PostgreSQL ${major}`, async (clock) => {
    await emptyDatabase(url);
    return { cache: openCache(clock, { url }, 'test:') };
  });
}

if (older === undefined) {
  test('Without an older PostgreSQL, the suites run on that of the tests alone.', () => {
    console.log('npm run test:servers fetches older ones, and runs the suites on them.');
  });
} else describeOlder(older);
