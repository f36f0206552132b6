// The contract suites on Redis, each case with a prefix of its own on a server that this file starts.
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
import { openInspector, openTestServer } from '../support/redis.ts';
import { describeCache, describeDatabase, describeHints, describeSecurityState } from './run-suite.ts';

let server: Awaited<ReturnType<typeof openTestServer>>;

beforeAll(async () => {
  server = await openTestServer();
}, 120_000);

afterAll(() => server.close());

describeDatabase('redis', async (clock) => {
  const prefix = `test-${randomUUID()}:`;
  const database = await openRedisDatabase({ address: findRedisAddress(server.url)!, clock, prefix });
  await database.initializeSchema({ dryRun: false });
  return { database, storage: createRedisStorage(database), permission: createRedisPermission(database) };
});

describeCache('redis', async (clock) => {
  const root = `test-${randomUUID()}:`;
  return { cache: await openRedisCache({ address: findRedisAddress(server.url)!, clock, root, prefix: 'test*:' }) };
});

describeSecurityState('redis', async (clock) => {
  const prefix = `test-${randomUUID()}:`;
  const database = await openRedisDatabase({ address: findRedisAddress(server.url)!, clock, prefix });
  const { client, keys } = database;
  const openAgain = async () => createRedisSecurityState({ ...securityStateLimits, client, keys, clock });
  return { state: await openAgain(), openAgain, cleanUp: () => database.close() };
});

describeHints('redis', async () => {
  const prefix = `test-${randomUUID()}:`;
  const open = (ofPrefix: string) =>
    openRedisDatabase({ address: findRedisAddress(server.url)!, clock: systemClock, prefix: ofPrefix });
  return {
    open: () => open(prefix),
    openElsewhere: () => open(`other-${prefix}`),
    cut: async () => {
      const inspector = openInspector(server.url);
      await inspector.client('KILL', 'TYPE', 'pubsub');
      inspector.disconnect();
    },
    send: async (text) => {
      const inspector = openInspector(server.url);
      await inspector.publish(`${prefix}changes:0`, text);
      inspector.disconnect();
    },
  };
});
