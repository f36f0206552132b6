// The contract suites on the PostgreSQL backends, each case with an empty database.
import { afterAll, beforeAll } from 'vitest';
import { cloneDatabase, ReusedDatabase } from '../support/postgresql.ts';
import { describeCache, describeDatabase, describeSecurityState } from './run-suite.ts';

let reused: ReusedDatabase;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await cloneDatabase();
  ({ drop } = database);
  reused = new ReusedDatabase({ url: database.url });
});
afterAll(async () => {
  await reused.close();
  await drop();
});

describeDatabase('postgresql', (clock) => reused.open(clock));

describeCache('postgresql', async (clock) => ({ cache: await reused.openCache(clock, 'test:') }));

describeSecurityState('postgresql', (clock) => reused.openSecurityState(clock));
