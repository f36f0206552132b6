// The contract suites on a Redis Cluster, where each parent may lie on another node. With COFFER_CASES_ALONE=1 each case
// runs on nodes without data and scripts, as if it were the only one. Together with the option `--sequence.shuffle` of
// vitest this reveals cases that depend on earlier ones.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openRedisCache } from '../../src/backends/redis/cache.ts';
import { openRedisDatabase } from '../../src/backends/redis/database.ts';
import { createRedisPermission } from '../../src/backends/redis/permission.ts';
import { createRedisSecurityState } from '../../src/backends/redis/security-state.ts';
import { createRedisStorage } from '../../src/backends/redis/storage.ts';
import { findRedisAddress } from '../../src/backends/redis/address.ts';
import { securityStateLimits } from '../../src/testing/index.ts';
import { openInspector } from '../support/redis.ts';
import { RedisCluster } from '../support/redis-cluster.ts';
import { describeCache, describeDatabase, describeHints, describeSecurityState } from './run-suite.ts';

const isAlone = process.env['COFFER_CASES_ALONE'] === '1';

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await RedisCluster.start();
}, 120_000);

afterAll(() => cluster.remove());

describeDatabase('a redis cluster', async (clock) => {
  if (isAlone) await cluster.forget();
  const prefix = `test-${randomUUID()}:`;
  const database = await openRedisDatabase({ address: findRedisAddress(cluster.url)!, clock, prefix });
  await database.initializeSchema({ dryRun: false });
  return { database, storage: createRedisStorage(database), permission: createRedisPermission(database) };
});

describeCache('a redis cluster', async (clock) => {
  if (isAlone) await cluster.forget();
  const root = `test-${randomUUID()}:`;
  return { cache: await openRedisCache({ address: findRedisAddress(cluster.url)!, clock, root, prefix: 'test:' }) };
});

describeSecurityState('a redis cluster', async (clock) => {
  const prefix = `test-${randomUUID()}:`;
  const database = await openRedisDatabase({ address: findRedisAddress(cluster.url)!, clock, prefix });
  const { client, keys } = database;
  const openAgain = async () => createRedisSecurityState({ ...securityStateLimits, client, keys, clock });
  return { state: await openAgain(), openAgain, cleanUp: () => database.close() };
});

describeHints('a redis cluster', async () => {
  const prefix = `test-${randomUUID()}:`;
  const open = (ofPrefix: string) =>
    openRedisDatabase({ address: findRedisAddress(cluster.url)!, clock: systemClock, prefix: ofPrefix });
  return {
    open: () => open(prefix),
    openElsewhere: () => open(`other-${prefix}`),
    cut: async () => {
      for (const { url } of cluster.nodes) {
        const inspector = openInspector(url);
        await inspector.client('KILL', 'TYPE', 'pubsub');
        inspector.disconnect();
      }
    },
    send: async (text) => {
      const inspector = openInspector(cluster.nodes[0]!.url);
      await inspector.publish(`${prefix}changes:0`, text);
      inspector.disconnect();
    },
  };
});
