// The backend passes the contract suites of Coffer, and a service runs on it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  createBackendContexts,
  createTestClock,
  missingAbilities,
  permissionCases,
  startTestService,
  storageCases,
  transactionCases,
} from 'coffer/testing';
import { counts, openDatabase } from 'coffer-plugin-newsroom/backend';

const suites = { storage: storageCases, permission: permissionCases, transactions: transactionCases };

for (const [name, cases] of Object.entries(suites)) {
  describe(name, () => {
    for (const testCase of cases) {
      test(testCase.name, async (context) => {
        const clock = createTestClock();
        const { database, storage, permission } = await openDatabase(createBackendContexts(clock).database);
        assert(storage !== undefined && permission !== undefined);
        try {
          const missing = missingAbilities(testCase, database);
          if (missing.length > 0) return context.skip(`needs ${missing.join(', ')}`);
          await testCase.run({ database, storage: storage(), permission: permission(), clock });
        } finally {
          await database.close();
        }
      });
    }
  });
}

test('A service runs on it.', async () => {
  const settings = {
    storage_backend: 'coffer-plugin-newsroom/backend',
    permission_backend: './src/backend.js',
    'counting.inner': 'memory',
  };
  const service = await startTestService({ settings });
  const before = counts.committed;
  assert.equal((await service.asUser('alice').request('PUT', '/v1/buckets/b')).status, 201);
  assert.equal(counts.committed > before, true);
  await service.close();
});
