// The order in which lists get the keys of their indexes: parties take turns, and so do the lists of a party.
import { beforeEach, describe, expect, it } from 'vitest';
import { createMemoryDatabase } from '../../src/backends/memory/database.ts';
import { createMemoryPermission } from '../../src/backends/memory/permission.ts';
import { createMemoryStorage } from '../../src/backends/memory/storage.ts';
import { silentLogger } from '../../src/contracts/logger.ts';
import type { ListKey } from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import { IndexBuilder } from '../../src/engine/index-builder.ts';
import { declareIndexes, readStates } from '../../src/engine/index-states.ts';
import { indexesOf } from '../../src/engine/list-indexes.ts';
import { runInUnit } from '../../src/engine/retry.ts';
import { createTestClock } from '../../src/testing/index.ts';

const kinds = new Map([['record', { indexes: 'parent', parent: { name: 'collection' } } as const]]);

describe('the builder of indexes', () => {
  /** Parents of the lists in the order of their units of work. */
  let order: string[];
  let isListening: boolean;
  let stores: ConstructorParameters<typeof IndexBuilder>[0]['stores'];
  let builder: IndexBuilder;

  beforeEach(() => {
    const database = createMemoryDatabase({ clock: createTestClock(10_000) });
    order = [];
    isListening = false;
    const commits = {
      get isListening() {
        return isListening;
      },
      committed(hints: readonly object[]) {
        for (const hint of hints) if ('list' in hint) order.push((hint.list as ListKey).parent);
      },
    };
    stores = { storage: createMemoryStorage(database), permission: createMemoryPermission(database), commits };
    builder = new IndexBuilder({ stores, kinds, logger: silentLogger });
  });

  /** Returns a list in a bucket with objects and an index that waits for keys. */
  const declare = (bucket: string, collection: string, count: number): Promise<ListKey> =>
    runInUnit(stores, silentLogger, async (unit) => {
      const { storage } = await unit.writer();
      const collections = { kind: 'collection', parent: storedParent(`/buckets/${bucket}`) };
      const list = { kind: 'record', parent: storedParent(`/buckets/${bucket}/collections/${collection}`) };
      const objects = Array.from({ length: count }, (_, n) => ({ id: `r${n}`, text: `{"n":${n}}` }));
      await storage.createAll(list, objects);
      const above = await storage.create(collections, collection, '{"indexes":[{"fields":["n"]}]}');
      await declareIndexes(storage, list, indexesOf(above));
      return list;
    });

  /** Builds the indexes of lists, each of a party, and returns the order of the units of work. */
  async function build(lists: readonly (readonly [list: ListKey, party?: string])[]): Promise<readonly string[]> {
    isListening = true;
    for (const [list, party] of lists) builder.wake(list, party);
    await builder.idle();
    for (const [list] of lists) {
      const { indexes, work } = await readStates(stores.storage.reader, list);
      expect([indexes.map(({ status }) => status), work]).toEqual([['ready'], undefined]);
    }
    return order.map((parent) => parent.replace('/buckets/', '').replace('/collections/', ' '));
  }

  it('gives a bucket its turn before other lists are complete', async () => {
    const large = await Promise.all(['c0', 'c1', 'c2'].map((collection) => declare('a', collection, 250)));
    const small = await declare('b', 'c', 10);
    const units = await build([...large.map((list) => [list] as const), [small]]);
    expect(units).toEqual(['a c0', 'b c', 'a c1', 'a c2', 'a c0', 'a c1', 'a c2', 'a c0', 'a c1', 'a c2']);
  });

  it('gives the buckets of one user one share', async () => {
    const large = await Promise.all(['a0', 'a1'].map((bucket) => declare(bucket, 'c', 150)));
    const small = await declare('b', 'c', 10);
    const units = await build([...large.map((list) => [list, '192.0.2.1 alice'] as const), [small, '192.0.2.2 bob']]);
    expect(units).toEqual(['a0 c', 'b c', 'a1 c', 'a0 c', 'a1 c']);
  });
});
