// The contract suites on the SQLite backends, each case with a file of its own.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteCache } from '../../src/backends/sqlite/cache.ts';
import { openSqliteDatabase } from '../../src/backends/sqlite/database.ts';
import { createSqlitePermission } from '../../src/backends/sqlite/permission.ts';
import { openSqliteSecurityState } from '../../src/backends/sqlite/security-state.ts';
import { createSqliteStorage } from '../../src/backends/sqlite/storage.ts';
import { securityStateLimits } from '../../src/testing/index.ts';
import { describeCache, describeDatabase, describeSecurityState } from './run-suite.ts';

async function makeFolder(): Promise<{ readonly path: string; readonly cleanUp: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'coffer-'));
  return { path: join(folder, 'coffer.sqlite3'), cleanUp: () => rm(folder, { recursive: true }) };
}

describeDatabase('sqlite', async (clock) => {
  const { path, cleanUp } = await makeFolder();
  const database = openSqliteDatabase({ path, clock, synchronous: 'OFF' });
  await database.initializeSchema({ dryRun: false });
  return { database, storage: createSqliteStorage(database), permission: createSqlitePermission(database), cleanUp };
});

describeCache('sqlite', async (clock) => {
  const { path, cleanUp } = await makeFolder();
  const cache = openSqliteCache({ path, clock, prefix: 'test:' });
  await cache.initializeSchema({ dryRun: false });
  return { cache, cleanUp };
});

describeSecurityState('sqlite', async (clock) => {
  const { path, cleanUp } = await makeFolder();
  const openAgain = async () => openSqliteSecurityState({ ...securityStateLimits, path, clock });
  const state = await openAgain();
  await state.initializeSchema({ dryRun: false });
  return { state, openAgain, cleanUp };
});
