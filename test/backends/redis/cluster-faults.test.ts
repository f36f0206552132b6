// Nodes of a cluster fail: calls for their keys fail in bounded time, and work again once their replicas have taken over.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openRedisDatabase, type RedisDatabase } from '../../../src/backends/redis/database.ts';
import { createRedisStorage } from '../../../src/backends/redis/storage.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { BackendUnavailable, TransactionConflict } from '../../../src/contracts/errors.ts';
import { findRedisAddress } from '../../../src/backends/redis/address.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { RedisCluster } from '../../support/redis-cluster.ts';

/** Enough for every master to have some of them. */
const parents = Array.from({ length: 12 }, (_, n) => `/buckets/b${n}`);

let cluster: RedisCluster;
let database: RedisDatabase;

beforeAll(async () => {
  cluster = await RedisCluster.start({ nodeTimeoutMs: 2000 });
  database = await openRedisDatabase({
    address: findRedisAddress(cluster.url)!,
    clock: systemClock,
    timeoutSeconds: 2,
  });
}, 120_000);

afterAll(async () => {
  await database.close();
  await cluster.remove();
});

async function create(parent: string, id: string): Promise<void> {
  const storage = createRedisStorage(database);
  await inUnit(database, (transaction) =>
    storage.writer(transaction).create({ kind: 'group', parent: storedParent(parent) }, id, '{}'),
  );
}

it('A replica replaces a failed master, without a restart of the service.', { timeout: 120_000 }, async () => {
  for (const parent of parents) await create(parent, 'before');
  await cluster.replicated();
  await cluster.nodes[1]!.kill();
  // Until the replica takes over, writes to the lists of that node fail, and soon.
  for (const [n, parent] of parents.entries()) {
    for (let attempt = 0; ; attempt++) {
      try {
        await create(parent, `after-${attempt}`);
        break;
      } catch (error) {
        const isExpected = error instanceof BackendUnavailable || error instanceof TransactionConflict;
        expect(isExpected, `${n}: ${String(error)}`).toBe(true);
        // A call for a lost node may fail at once, before anything else can happen.
        await nextTurn();
      }
    }
  }
  const { reader } = createRedisStorage(database);
  for (const parent of parents) {
    expect(await reader.get({ kind: 'group', parent: storedParent(parent) }, 'before'), parent).toBeDefined();
  }
});
