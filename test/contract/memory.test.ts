// The contract suites on the memory backends.
import { createMemoryCache } from '../../src/backends/memory/cache.ts';
import { createMemoryDatabase } from '../../src/backends/memory/database.ts';
import { createMemoryPermission } from '../../src/backends/memory/permission.ts';
import { createMemoryStorage } from '../../src/backends/memory/storage.ts';
import { describeCache, describeDatabase } from './run-suite.ts';

describeDatabase('memory', async (clock) => {
  const database = createMemoryDatabase({ clock });
  return { database, storage: createMemoryStorage(database), permission: createMemoryPermission(database) };
});

describeCache('memory', async (clock) => ({ cache: createMemoryCache({ clock, prefix: 'test:' }) }));
