// The contract suites on observed backends, which behave as the backends themselves.
import { observeBackends } from '../../src/observability/observed-calls.ts';
import type { OpenBackends } from '../../src/contracts/open-backends.ts';
import { createMemoryCache } from '../../src/backends/memory/cache.ts';
import { createMemoryDatabase } from '../../src/backends/memory/database.ts';
import { createMemorySecurityState } from '../../src/backends/memory/security-state.ts';
import { createMemoryPermission } from '../../src/backends/memory/permission.ts';
import { createMemoryStorage } from '../../src/backends/memory/storage.ts';
import type { Observer } from '../../src/contracts/observer.ts';
import { securityStateLimits, type TestClock } from '../../src/testing/index.ts';
import { describeCache, describeDatabase, describeSecurityState } from './run-suite.ts';

const blind: Observer = { observe: () => undefined };

function openObserved(clock: TestClock): OpenBackends {
  const database = createMemoryDatabase({ clock });
  const backends = {
    storage: createMemoryStorage(database),
    permission: createMemoryPermission(database),
    cache: createMemoryCache({ clock, prefix: 'test:' }),
    securityState: createMemorySecurityState({ ...securityStateLimits, clock }),
    databases: [database],
    hasPermissions: true,
    close: () => database.close(),
  };
  return observeBackends(backends, blind);
}

describeDatabase('observed memory', async (clock) => {
  const { storage, permission } = openObserved(clock);
  return { database: storage.database, storage, permission };
});

describeCache('observed memory', async (clock) => ({ cache: openObserved(clock).cache }));

describeSecurityState('observed memory', async (clock) => ({ state: openObserved(clock).securityState }), {
  isDurable: false,
});
