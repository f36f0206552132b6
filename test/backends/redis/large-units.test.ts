// Units of work far larger than a page: one script receives all their writes.
import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { openRedisDatabase } from '../../../src/backends/redis/database.ts';
import { createRedisStorage } from '../../../src/backends/redis/storage.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { StoredObject, type ListKey } from '../../../src/core/objects/stored.ts';
import { findRedisAddress } from '../../../src/backends/redis/address.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { openTestServer } from '../../support/redis.ts';

const list: ListKey = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };

it('A unit of work may write fifty thousand objects, and remove them again.', { timeout: 60_000 }, async () => {
  const server = await openTestServer();
  const address = findRedisAddress(server.url)!;
  const database = await openRedisDatabase({ address, clock: systemClock, prefix: `test-${randomUUID()}:` });
  onTestFinished(async () => {
    await database.close();
    await server.close();
  });
  const storage = createRedisStorage(database);
  const entries = Array.from({ length: 50_000 }, (_, n) => new StoredObject(`e${n}`, n, '{}'));
  await inUnit(database, (transaction) => storage.writer(transaction).restore(list, { clock: 50_000, entries }));
  expect(await storage.reader.countAll(list, { filters: [] })).toBe(50_000);
  const gone = entries.map(({ id }) => id);
  await inUnit(database, (transaction) =>
    storage.writer(transaction).restore(list, { clock: 50_001, entries: [], gone }),
  );
  expect(await storage.reader.lists(undefined, 2)).toEqual([
    { ...list, timestamp: 50_001, horizon: 0, live: 0, dead: 0 },
  ]);
});
