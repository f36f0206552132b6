// The contract suites on an older major version of PostgreSQL, where the machine has one: of the system, or downloaded once
// by `npm run test:servers`, which runs more tests on more versions.
import { afterAll, beforeAll, inject, test } from 'vitest';
import { migrateDatabase, runSql } from '../support/postgresql-setup.ts';
import { findOlderBinaries, PostgresServer } from '../support/postgresql-server.ts';
import { ReusedDatabase } from '../support/postgresql.ts';
import { describeCache, describeDatabase } from './run-suite.ts';

const [row] = await runSql(inject('postgresqlUrl'), `SELECT current_setting('server_version_num')::integer / 10000`);
const older = findOlderBinaries(Number(row?.[0]));

function describeOlder({ major, folder }: NonNullable<typeof older>): void {
  let server: PostgresServer;
  let reused: ReusedDatabase;

  beforeAll(async () => {
    server = await PostgresServer.create({ binaries: folder });
    const url = server.url('postgres');
    await migrateDatabase(url);
    reused = new ReusedDatabase({ url });
  });
  afterAll(async () => {
    await reused.close();
    await server.remove();
  });

  describeDatabase(`PostgreSQL ${major}`, (clock) => reused.open(clock));

  describeCache(`PostgreSQL ${major}`, async (clock) => ({ cache: await reused.openCache(clock, 'test:') }));
}

if (older === undefined) {
  test('the contract suites pass on an older PostgreSQL', ({ skip }) => {
    skip('no older PostgreSQL was found; `npm run test:servers` fetches them and runs the suites on them');
  });
} else describeOlder(older);
