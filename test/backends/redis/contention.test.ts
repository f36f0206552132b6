// Several processes on one database, each represented by a connection of its own: no update is lost, every writer succeeds,
// and units that lock several lists never block each other for good.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openRedisDatabase, type RedisDatabase } from '../../../src/backends/redis/database.ts';
import { createRedisPermission } from '../../../src/backends/redis/permission.ts';
import { createRedisStorage } from '../../../src/backends/redis/storage.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { PermissionWriter } from '../../../src/contracts/permission.ts';
import type { StorageWriter } from '../../../src/contracts/storage.ts';
import { StoredObject, type ListKey } from '../../../src/core/objects/stored.ts';
import { parseField } from '../../../src/core/query/fields.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { Retry } from '../../../src/engine/retry.ts';
import { compareLists } from '../../../src/core/objects/list-order.ts';
import { findRedisAddress } from '../../../src/backends/redis/address.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { RedisCluster } from '../../support/redis-cluster.ts';
import { openTestServer } from '../../support/redis.ts';
import { inExtent } from '../../support/extent.ts';

const processes = 4;
const list: ListKey = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };

interface Writers {
  readonly storage: StorageWriter;
  readonly permission: PermissionWriter;
}

let runs = 0;

const places = [
  ['one server', openTestServer],
  [
    'a cluster',
    async () => {
      const cluster = await RedisCluster.start();
      return { url: cluster.url, close: () => cluster.remove() };
    },
  ],
] as const;

// A cluster starts in many seconds, so only the complete run has one.
describe.each(inExtent<readonly (typeof places)[number][]>(places.slice(0, 1), places))(
  'on %s',
  (_name, openServer) => {
    let server: { readonly url: string; readonly close: () => Promise<void> };
    let databases: RedisDatabase[];

    beforeAll(async () => {
      server = await openServer();
    }, 120_000);
    afterAll(() => server.close());

    beforeEach(async () => {
      const prefix = `contention-${process.pid}-${(runs += 1)}:`;
      const options = { address: findRedisAddress(server.url)!, clock: systemClock, prefix };
      databases = await Promise.all(Array.from({ length: processes }, () => openRedisDatabase(options)));
    });
    afterEach(async () => {
      for (const database of databases) await database.close();
    });

    /** Runs a unit of work in one of the processes, and retries it after a conflict, as requests are. */
    async function unit<T>(process: number, work: (writers: Writers) => Promise<T>): Promise<T> {
      const database = databases[process % processes]!;
      const [storage, permission] = [createRedisStorage(database), createRedisPermission(database)];
      const retry = new Retry();
      for (;;) {
        try {
          return await inUnit(database, async (transaction) => {
            const writers = { storage: storage.writer(transaction), permission: permission.writer(transaction) };
            for (const known of retry.contended.toSorted(compareLists)) await writers.storage.lock(known);
            return work(writers);
          });
        } catch (error) {
          if (!retry.allows(error)) throw error;
          await retry.backOff();
        }
      }
    }

    it('a long list is read while all processes write it', { timeout: 120_000 }, async () => {
      const text = JSON.stringify({ text: 'x'.repeat(3_000_000) });
      await unit(0, async ({ storage }) => {
        for (let n = 0; n < 9; n++) await storage.create(list, `long${n}`, text);
        await storage.create(list, 'a', '{"n":0}');
        await storage.create(list, 'b', '{"n":0}');
      });
      let isReading = true;
      const writing = Array.from({ length: processes }, async (_, process) => {
        let writes = 0;
        for (; isReading; writes++) {
          await unit(process, async ({ storage }) => {
            await storage.update(list, 'a', `{"n":"${process} ${writes}"}`);
            await storage.update(list, 'b', `{"n":"${process} ${writes}"}`);
          });
        }
        return writes;
      });
      const { reader } = createRedisStorage(databases[0]!);
      try {
        // Longer than one reply, in an order that needs all texts, and counted by them.
        const sort = [{ field: parseField('text'), direction: 'descending' }] as const;
        const { entries, more } = await reader.listAll(list, { filters: [], sort, limit: 20 });
        expect([entries.length, more]).toEqual([11, false]);
        const [a, b] = ['a', 'b'].map((id) => entries.find((entry) => entry.id === id));
        expect(a).toMatchObject({ text: b instanceof StoredObject ? b.text : 'missing' });
        const filters = [{ field: parseField('text'), operator: 'has', present: true }] as const;
        expect(await reader.countAll(list, { filters })).toBe(9);
      } finally {
        isReading = false;
      }
      for (const writes of await Promise.all(writing)) expect(writes).toBeGreaterThan(0);
    });

    it('counters of many processes lose no update, and every writer succeeds.', { timeout: 60_000 }, async () => {
      await Promise.all(
        Array.from({ length: 8 * processes }, async (_, writer) => {
          for (let round = 0; round < 10; round++) {
            await unit(writer, async ({ storage }) => {
              const { object } = await storage.lock(list, 'counter');
              await storage.update(list, 'counter', `{"n":${Number(object?.attributes['n'] ?? 0) + 1}}`);
            });
          }
        }),
      );
      const { reader } = createRedisStorage(databases[0]!);
      expect((await reader.get(list, 'counter'))!.attributes).toEqual({ n: 80 * processes });
    });

    it('timestamps of many processes are unique and become visible in order.', { timeout: 60_000 }, async () => {
      const progress = { writing: true };
      const { reader } = createRedisStorage(databases[1]!);
      const seen = new Map<string, number>();
      const follow = async (): Promise<void> => {
        let since = 0;
        for (let isLast = false; ; isLast = !progress.writing) {
          const field = { name: 'last_modified', path: ['last_modified'] };
          const filters = [{ field, operator: 'gt' as const, value: since }];
          const sort = [{ field, direction: 'ascending' as const }];
          const page = await reader.listAll(list, { filters, sort, limit: 10_000 });
          for (const entry of page.entries) seen.set(entry.id, entry.lastModified);
          since = page.timestamp ?? 0;
          if (isLast) return;
        }
      };
      const following = follow();
      await Promise.all(
        Array.from({ length: 4 * processes }, async (_, writer) => {
          for (let n = 0; n < 10; n++) {
            await unit(writer, async ({ storage }) => {
              await storage.create(list, `a${writer}-${n}`, '{}');
              await storage.create(list, `b${writer}-${n}`, '{}');
            });
          }
        }),
      );
      progress.writing = false;
      await following;
      expect(seen.size).toBe(80 * processes);
      expect(new Set(seen.values()).size).toBe(seen.size);
    });

    it('a unit that finds a changed list by reading takes a lease on it in its retry.', async () => {
      const write = (id: string): Promise<unknown> => unit(1, ({ storage }) => storage.update(list, id, '{}'));
      await write('a');
      const storage = createRedisStorage(databases[0]!);
      const lose = inUnit(databases[0]!, async (transaction) => {
        const writer = storage.writer(transaction);
        await writer.lock(list);
        await write('b');
        await writer.countAll(list, { filters: [], ids: ['a', 'b'] });
      });
      await expect(lose).rejects.toMatchObject({ name: 'TransactionConflict', lists: [list] });
      let writing: Promise<unknown> = Promise.resolve();
      await inUnit(databases[0]!, async (transaction) => {
        const writer = storage.writer(transaction);
        await writer.lock(list);
        writing = write('c');
        for (let n = 0; n < 20; n++) {
          expect(await writer.countAll(list, { filters: [], ids: ['a', 'b', 'c'] })).toBe(2);
        }
        await writer.update(list, 'd', '{}');
      });
      await writing;
      expect(await storage.reader.countAll(list, { filters: [] })).toBe(4);
    });

    it('units that lock two lists in either order all succeed.', { timeout: 60_000 }, async () => {
      const lists = ['/buckets/x', '/buckets/y'].map((uri) => ({ kind: 'group', parent: storedUri(uri) }));
      await Promise.all(
        Array.from({ length: 4 * processes }, (_, writer) =>
          unit(writer, async ({ storage }) => {
            for (const each of writer % 2 === 0 ? lists : lists.toReversed()) {
              await storage.create(each, `g${writer}`, '{}');
            }
          }),
        ),
      );
      const { reader } = createRedisStorage(databases[0]!);
      const counts = await Promise.all(lists.map((each) => reader.countAll(each, { filters: [] })));
      expect(counts).toEqual([4 * processes, 4 * processes]);
    });

    it.each([true, false])(
      'a unit fails when the object above its list has changed; the list exists: %s',
      async (exists) => {
        const collections: ListKey = { kind: 'collection', parent: storedParent('/buckets/b') };
        const [before, after] = ['{"declares":0}', '{"declares":1}'];
        await unit(0, async ({ storage }) => {
          await storage.update(collections, 'c', before);
          if (exists) await storage.update(list, 'first', '{}');
        });
        const declare = (): Promise<number> =>
          unit(1, async ({ storage }) => {
            await storage.update(collections, 'c', after);
            await storage.touch(list);
            return storage.countAll(list, { filters: [] });
          });
        let declaring: Promise<number> | undefined;
        let attempts = 0;
        await unit(0, async ({ storage }) => {
          attempts++;
          const [above] = await Promise.all([storage.lockShared(collections, 'c', list), storage.lock(list, 'x')]);
          // On a retry the list may be leased, so the change is not awaited twice.
          declaring ??= declare();
          await declaring;
          await storage.update(list, 'x', above!.text);
        });
        const { reader } = createRedisStorage(databases[0]!);
        expect([attempts, (await reader.get(list, 'x'))?.text]).toEqual([2, after]);
      },
    );

    it('a unit that has read the object above before a change fails when it has locked the list after it.', async () => {
      const collections: ListKey = { kind: 'collection', parent: storedParent('/buckets/b') };
      await unit(0, ({ storage }) => storage.update(collections, 'c', '{"declares":0}'));
      const texts: string[] = [];
      await unit(0, async ({ storage }) => {
        const above = await storage.lockShared(collections, 'c', list);
        if (texts.length === 0) await unit(1, ({ storage: other }) => other.update(collections, 'c', '{"declares":1}'));
        await storage.lock(list, 'x');
        texts.push(above!.text);
        await storage.update(list, 'x', above!.text);
      });
      expect(texts).toEqual(['{"declares":0}', '{"declares":1}']);
    });

    it('an object is not created below a parent that is deleted at the same time.', { timeout: 60_000 }, async () => {
      const bucket: ListKey = { kind: 'bucket', parent: '' };
      const groups: ListKey = { kind: 'group', parent: storedParent('/buckets/b') };
      const isAtomic = databases[0]!.abilities.atomicAcrossParents;
      const { reader } = createRedisStorage(databases[0]!);
      for (let round = 0; round < (isAtomic ? 30 : 3); round++) {
        await unit(0, ({ storage }) => storage.update(bucket, 'b', '{}'));
        const deletion = (): Promise<unknown> =>
          unit(1, async ({ storage }) => {
            await storage.delete(bucket, 'b');
            await storage.deleteChildren(storedUri('/buckets/b'));
          });
        const creation = (): Promise<boolean> =>
          unit(2, async ({ storage }) => {
            if ((await storage.lockShared(bucket, 'b')) === undefined) return false;
            await storage.update(groups, 'g', '{}');
            return true;
          });
        // On a cluster the two may overlap, as the guide describes. It promises the result only for one after the other.
        if (isAtomic) await Promise.all([deletion(), creation(), creation()]);
        else {
          await creation();
          await deletion();
        }
        expect(await reader.countAll(groups, { filters: [] })).toBe(0);
      }
    });
  },
);
