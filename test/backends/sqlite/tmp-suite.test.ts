import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { cacheCases } from '../../../src/testing/cache-suite.ts';
import { permissionCases } from '../../../src/testing/permission-suite.ts';
import { storageCases } from '../../../src/testing/storage-suite.ts';
import { transactionCases } from '../../../src/testing/transaction-suite.ts';
import { createTestClock } from '../../../src/testing/contract-case.ts';
import { openSqliteCache } from '../../../src/backends/sqlite/cache.ts';
import { openSqliteDatabase } from '../../../src/backends/sqlite/database.ts';
import { createSqlitePermission } from '../../../src/backends/sqlite/permission.ts';
import { createSqliteStorage } from '../../../src/backends/sqlite/storage.ts';
for (const [suite, cases] of Object.entries({ storageCases, permissionCases, transactionCases })) describe(suite, () => {
  for (const c of cases as any[]) it(c.name, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'coffer-'));
    const clock = createTestClock();
    const database = openSqliteDatabase({ path: join(folder, 'a.db'), clock, synchronous: 'OFF' });
    await database.initializeSchema({ dryRun: false });
    try { await c.run({ database, clock, storage: createSqliteStorage(database), permission: createSqlitePermission(database) }); }
    finally { await database.close(); await rm(folder, { recursive: true }); }
  });
});
describe('cache', () => { for (const c of cacheCases) it(c.name, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'coffer-'));
    const clock = createTestClock();
    const cache = openSqliteCache({ path: join(folder, 'a.db'), clock, prefix: 'p' });
    await cache.initializeSchema({ dryRun: false });
    try { await c.run({ cache, clock }); } finally { await cache.close(); await rm(folder, { recursive: true }); }
}); });
