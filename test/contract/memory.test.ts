// The contract suites on the memory backends.
import { createMemoryCache } from '../../src/backends/memory/cache.ts';
import { createMemoryDatabase } from '../../src/backends/memory/database.ts';
import { createMemorySecurityState } from '../../src/backends/memory/security-state.ts';
import { createMemoryPermission } from '../../src/backends/memory/permission.ts';
import { createMemoryStorage } from '../../src/backends/memory/storage.ts';
import { securityStateLimits } from '../../src/testing/index.ts';
import { describeCache, describeDatabase, describeSecurityState } from './run-suite.ts';

describeDatabase('memory', async (clock) => {
  const database = createMemoryDatabase({ clock });
  return { database, storage: createMemoryStorage(database), permission: createMemoryPermission(database) };
});

describeCache('memory', async (clock) => ({ cache: createMemoryCache({ clock, prefix: 'test:' }) }));

describeSecurityState(
  'memory',
  async (clock) => ({ state: createMemorySecurityState({ ...securityStateLimits, clock }) }),
  {
    isDurable: false,
  },
);
