// Purging tombstones by age or by number, on every durable backend and during writes.
import { describe, expect, test } from 'vitest';
import { storedParent } from '../../src/core/objects/uris.ts';
import { inUnit } from '../../src/maintenance/units.ts';
import { purgeDeleted } from '../../src/maintenance/deletions.ts';
import { StoredObject, type ListKey, type StoredEntry } from '../../src/core/objects/stored.ts';
import { openDurable, restoreList, type DurableBackend } from '../support/durable-stores.ts';
import { inExtent } from '../support/extent.ts';

const records: ListKey = { kind: 'record', parent: storedParent('/buckets/a/collections/b') };
const groups: ListKey = { kind: 'group', parent: storedParent('/buckets/a') };

/** Live objects and tombstones in turns, with the timestamps 0, 1, 2 and so on. */
function mixed(count: number): readonly StoredEntry[] {
  return Array.from({ length: count }, (_, n) =>
    n % 2 === 0 ? new StoredObject(`e${n}`, n, '{}') : { id: `e${n}`, lastModified: n, deleted: true },
  );
}

describe.each(['sqlite', 'postgresql', 'redis'] as const)('purge-deleted on %s', (backend) => {
  test('by age keeps live objects of any age, newer tombstones and clocks', async () => {
    const { settings, stores } = await openDurable(backend);
    for (const list of [records, groups]) await restoreList(stores, list, 5000, mixed(20));
    expect(await purgeDeleted(settings, { kinds: ['record'], before: 9 })).toBe(4);
    expect(await stores.storage.reader.lists(undefined, 9)).toEqual([
      { ...groups, timestamp: 5000, horizon: 0, live: 10, dead: 10 },
      { ...records, timestamp: 5000, horizon: 7, live: 10, dead: 6 },
    ]);
    expect(await purgeDeleted(settings, { kinds: [], before: 9 })).toBe(4);
    expect(await purgeDeleted(settings, { kinds: [], before: 9 })).toBe(0);
    expect(await stores.storage.reader.countAll(records, { filters: [] })).toBe(10);
  });

  test('by number keeps the newest of each list', async () => {
    const { settings, stores } = await openDurable(backend);
    for (const list of [records, groups]) await restoreList(stores, list, 5000, mixed(20));
    expect(await purgeDeleted(settings, { kinds: ['record', 'group'], maxRetained: 3 })).toBe(14);
    expect((await stores.storage.reader.lists(undefined, 9)).map(({ dead }) => dead)).toEqual([3, 3]);
  });

  test('purges many tombstones of many lists in short units of work, during other writes', async () => {
    const { settings, stores } = await openDurable(backend);
    await restoreList(stores, records, 20_000, mixed(10_000));
    for (let n = 0; n < 50; n++) {
      await restoreList(stores, { kind: 'record', parent: storedParent(`/many/${n}`) }, 20_000, mixed(10));
    }
    let purged: number | undefined;
    const purge = async (): Promise<void> => {
      purged = await purgeDeleted(settings, { kinds: [], before: 20_000 });
    };
    const writeOn = async (): Promise<void> => {
      for (let written = 0; purged === undefined; written++) {
        await inUnit(stores.storage.database, async (transaction) => {
          const writer = stores.storage.writer(transaction);
          await writer.update(records, `new${written % 3}`, '{}');
          await writer.update({ kind: 'record', parent: storedParent('/many/7') }, 'new', '{}');
          if (written % 5 === 4) await writer.delete(records, 'new0');
        });
        // SQLite has no queue between processes: a writer that never pauses blocks the others.
        for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
      }
    };
    await Promise.all([purge(), writeOn()]);
    expect(purged).toBe(5000 + 50 * 5);
    const states = await stores.storage.reader.lists(undefined, 100);
    // Deletions of this moment are newer than what was to be forgotten.
    expect(states.filter(({ parent }) => parent.startsWith('/many')).every(({ dead }) => dead === 0)).toBe(true);
    expect(states.find(({ parent }) => parent === records.parent)?.dead).toBeLessThanOrEqual(1);
    expect(await stores.storage.reader.countAll(records, { filters: [] })).toBeGreaterThanOrEqual(5000);
  });
});

// A cluster starts in many seconds, so only the complete run has one.
test.each(inExtent<readonly DurableBackend[]>([], ['redis-cluster']))(
  'purge-deleted by age purges tombstones of lists on all nodes of a %s',
  async (backend) => {
    const { settings, stores } = await openDurable(backend);
    const lists = Array.from({ length: 30 }, (_, n) => ({ kind: 'record', parent: storedParent(`/many/${n}`) }));
    for (const list of lists) await restoreList(stores, list, 5000, mixed(10));
    expect(await purgeDeleted(settings, { kinds: [], before: 8 })).toBe(30 * 4);
    const states = await stores.storage.reader.lists(undefined, 100);
    expect(states.map(({ live, dead, timestamp }) => [live, dead, timestamp])).toEqual(lists.map(() => [5, 1, 5000]));
  },
);
