// Telling every client to synchronise anew, on every durable backend.
import { describe, expect, test } from 'vitest';
import { storedParent } from '../../src/core/objects/uris.ts';
import { inUnit } from '../../src/maintenance/units.ts';
import { resyncAll } from '../../src/maintenance/resync.ts';
import { StoredObject, type ListKey, type StoredEntry } from '../../src/core/objects/stored.ts';
import { openDurable, restoreList } from '../support/durable-stores.ts';
import { inExtent } from '../support/extent.ts';

const entries: readonly StoredEntry[] = [
  new StoredObject('kept', 10, '{}'),
  { id: 'gone', lastModified: 20, deleted: true },
];

const backends = ['sqlite', 'postgresql', 'redis', 'redis-cluster'] as const;

// A cluster starts in many seconds, so only the complete run has one.
describe.each(inExtent<readonly (typeof backends)[number][]>(backends.slice(0, -1), backends))(
  'resync on %s',
  (backend) => {
    test('advances clocks and horizons of all lists, and changes nothing else', async () => {
      const { settings, stores } = await openDurable(backend);
      const lists = Array.from({ length: 45 }, (_, n) => ({
        kind: 'record',
        parent: storedParent(`/buckets/a/collections/${n}`),
      }));
      for (const [index, list] of lists.entries()) await restoreList(stores, list, 100 + index, entries);
      const ahead: ListKey = { kind: 'group', parent: storedParent('/buckets/a') };
      await restoreList(stores, ahead, 9000, entries);

      expect(await resyncAll(settings, { now: () => 5000 })).toBe(46);
      const states = await stores.storage.reader.lists(undefined, 100);
      expect(states).toHaveLength(46);
      for (const { parent, timestamp, horizon, live, dead } of states) {
        const moment = parent === ahead.parent ? 9001 : 5000;
        expect([timestamp, horizon, live, dead]).toEqual([moment, moment, 1, 1]);
      }
      const { lastModified, text } = (await stores.storage.reader.get(lists[0]!, 'kept'))!;
      expect([lastModified, text]).toEqual([10, '{}']);
      const created = await inUnit(stores.storage.database, (transaction) =>
        stores.storage.writer(transaction).create(ahead, 'new', '{}', 9001),
      );
      expect(created.lastModified).toBeGreaterThan(9001);
    });

    test('counts unused lists of existing buckets and collections', async () => {
      const { settings, stores } = await openDurable(backend);
      await restoreList(stores, { kind: 'bucket', parent: '' }, 100, entries);
      await restoreList(stores, { kind: 'collection', parent: storedParent('/buckets/kept') }, 100, entries);
      const expected: readonly ListKey[] = [
        { kind: 'bucket', parent: '' },
        { kind: 'collection', parent: storedParent('/buckets/kept') },
        { kind: 'group', parent: storedParent('/buckets/kept') },
        { kind: 'record', parent: storedParent('/buckets/kept/collections/kept') },
      ];
      for (const moment of [5000, 6000]) {
        expect(await resyncAll(settings, { now: () => moment })).toBe(4);
        const states = await stores.storage.reader.lists(undefined, 10);
        expect(states.map(({ kind, parent }) => ({ kind, parent }))).toEqual(expected);
        expect(states.map(({ timestamp, horizon }) => [timestamp, horizon])).toEqual(
          expected.map(() => [moment, moment]),
        );
      }
    });
  },
);
