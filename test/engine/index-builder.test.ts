// The order in which lists get the keys of their indexes: parties take turns, and so do the lists of a party. A build goes on
// after failures, and when the process that began it has gone.
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createMemoryDatabase } from '../../src/backends/memory/database.ts';
import { createMemoryPermission } from '../../src/backends/memory/permission.ts';
import { createMemoryStorage } from '../../src/backends/memory/storage.ts';
import { silentLogger, type Logger } from '../../src/contracts/logger.ts';
import type { ListKey } from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import { IndexBuilder } from '../../src/engine/index-builder.ts';
import { declareIndexes, readStates } from '../../src/engine/index-states.ts';
import { indexesOf } from '../../src/engine/list-indexes.ts';
import { runInUnit } from '../../src/engine/retry.ts';
import { createTestClock } from '../../src/testing/index.ts';
import { openDurable } from '../support/durable-stores.ts';
import { failures, SqliteFaults } from '../support/sqlite-faults.ts';

type Stores = ConstructorParameters<typeof IndexBuilder>[0]['stores'];

const kinds = new Map([['record', { indexes: 'parent', parent: { name: 'collection' } } as const]]);

/** Returns a list in a bucket with objects and an index that waits for keys. */
function declare(stores: Stores, bucket: string, collection: string, count: number): Promise<ListKey> {
  return runInUnit(stores, silentLogger, async (unit) => {
    const { storage } = await unit.writer();
    const collections = { kind: 'collection', parent: storedParent(`/buckets/${bucket}`) };
    const list = { kind: 'record', parent: storedParent(`/buckets/${bucket}/collections/${collection}`) };
    const objects = Array.from({ length: count }, (_, n) => ({ id: `r${n}`, text: `{"n":${n}}` }));
    await storage.createAll(list, objects);
    const above = await storage.create(collections, collection, '{"indexes":[{"fields":["n"]}]}');
    await declareIndexes(storage, list, indexesOf(above));
    return list;
  });
}

async function statusOf(stores: Stores, list: ListKey): Promise<string | undefined> {
  const { indexes } = await readStates(stores.storage.reader, list);
  return indexes[0]?.status;
}

describe('the builder of indexes', () => {
  /** Parents of the lists in the order of their units of work. */
  let order: string[];
  let isListening: boolean;
  let stores: Stores;
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
    const large = await Promise.all(['c0', 'c1', 'c2'].map((collection) => declare(stores, 'a', collection, 250)));
    const small = await declare(stores, 'b', 'c', 10);
    const units = await build([...large.map((list) => [list] as const), [small]]);
    expect(units).toEqual(['a c0', 'b c', 'a c1', 'a c2', 'a c0', 'a c1', 'a c2', 'a c0', 'a c1', 'a c2']);
  });

  it('gives the buckets of one user one share', async () => {
    const large = await Promise.all(['a0', 'a1'].map((bucket) => declare(stores, bucket, 'c', 150)));
    const small = await declare(stores, 'b', 'c', 10);
    const units = await build([...large.map((list) => [list, '192.0.2.1 alice'] as const), [small, '192.0.2.2 bob']]);
    expect(units).toEqual(['a0 c', 'b c', 'a1 c', 'a0 c', 'a1 c']);
  });
});

describe('a build of indexes', () => {
  function newBuilder(
    stores: Stores,
    options: Partial<ConstructorParameters<typeof IndexBuilder>[0]> = {},
  ): IndexBuilder {
    const builder = new IndexBuilder({ stores, kinds, logger: silentLogger, ...options });
    onTestFinished(() => builder.stop());
    return builder;
  }

  it('goes on after a failure of the database, and pauses in between', async () => {
    const { stores } = await openDurable('sqlite');
    const list = await declare(stores, 'b', 'c', 150);
    const faults = SqliteFaults.install();
    const builder = newBuilder(stores);
    faults.arm(1, failures.full, { isLasting: true });
    builder.wake(list);
    await builder.idle();
    const { length } = faults.seen;
    expect(length).toBeGreaterThan(0);
    builder.wake(list);
    await builder.idle();
    expect(faults.seen).toHaveLength(length);
    faults.disarm();
    expect(await statusOf(stores, list)).toBe('building');
    await expect.poll(() => statusOf(stores, list), { timeout: 30_000 }).toBe('ready');
  });

  it('that an earlier process has begun is found after a failure of the search', async () => {
    const { stores } = await openDurable('sqlite');
    const list = await declare(stores, 'b', 'c', 10);
    const faults = SqliteFaults.install();
    faults.arm(1, failures.ioerr, { isLasting: true });
    const warned = new Promise<void>((resolve) => {
      const logger: Logger = { ...silentLogger, warn: () => resolve() };
      newBuilder(stores, { logger }).start();
    });
    await warned;
    faults.disarm();
    expect(await statusOf(stores, list)).toBe('building');
    await expect.poll(() => statusOf(stores, list), { timeout: 30_000 }).toBe('ready');
  });

  it.each(['sqlite', 'postgresql', 'redis'] as const)(
    'that another process has left is continued by a running one on %s',
    async (backend) => {
      const { stores } = await openDurable(backend);
      const found = await declare(stores, 'b', 'before', 10);
      newBuilder(stores, { searchMs: 1 }).start();
      await expect.poll(() => statusOf(stores, found), { timeout: 30_000 }).toBe('ready');
      const list = await declare(stores, 'b', 'c', 250);
      await expect.poll(() => statusOf(stores, list), { timeout: 30_000 }).toBe('ready');
    },
  );
});
