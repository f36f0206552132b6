// Reads that filter a long list: the server answers others between short pieces, because it runs one command at a time.
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { findRedisAddress } from '../../../src/backends/redis/address.ts';
import { openRedisDatabase } from '../../../src/backends/redis/database.ts';
import { createRedisStorage } from '../../../src/backends/redis/storage.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { parseField } from '../../../src/core/query/fields.ts';
import { newestFirst } from '../../../src/core/query/sort.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { openTestServer } from '../../support/redis.ts';

it('fetches a few hundred entries at once', { timeout: 120_000 }, async () => {
  const server = await openTestServer();
  onTestFinished(() => server.close());
  const prefix = `test-${randomUUID()}:`;
  const database = await openRedisDatabase({ address: findRedisAddress(server.url)!, clock: systemClock, prefix });
  onTestFinished(() => database.close());
  const storage = createRedisStorage(database);
  const list = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
  const objects = Array.from({ length: 2000 }, (_, n) => ({ id: `r${n}`, text: JSON.stringify({ n }) }));
  await inUnit(database, (unit) => storage.writer(unit).createAll(list, objects));

  const client = new Redis(server.url);
  onTestFinished(() => client.disconnect());
  const countScripts = async (): Promise<number> => {
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
  };
  const before = await countScripts();
  const filters = [{ field: parseField('n'), operator: 'eq', value: 7 }] as const;
  const { entries } = await storage.reader.listAll(list, { filters, sort: newestFirst, limit: 10 });
  expect(entries.map(({ id }) => id)).toEqual(['r7']);
  expect((await countScripts()) - before).toBeGreaterThan(6);
});
