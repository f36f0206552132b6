// Cases about copies: walks over all lists, and writing entries exactly as they are in another store.
import assert from 'node:assert/strict';
import { TransactionConflict } from '../../../contracts/errors.ts';
import type { ListSummary, Restoration } from '../../../contracts/storage.ts';
import { StoredObject, type StoredEntry, type Tombstone } from '../../../core/objects/stored.ts';
import type { StorageCase } from '../contract-case.ts';
import { ascending, records, rollbackCase, storageCase, type StorageProbe } from './storage-probe.ts';
import type { ListKey } from '../plain-contracts.ts';

const start = 1_700_000_000_000;

function live(id: string, lastModified: number, text = '{}'): StoredObject {
  return new StoredObject(id, lastModified, text);
}

function dead(id: string, lastModified: number): Tombstone {
  return { id, lastModified, deleted: true };
}

/** Whether the work was done; it may fail with a conflict instead. */
async function allOrNothing(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof TransactionConflict) return false;
    throw error;
  }
}

function restore(probe: StorageProbe, restoration: Restoration, list: ListKey = probe.list): Promise<void> {
  return probe.unit((writer) => writer.restore(list, restoration));
}

/** Everything stored in the list by id, texts and timestamps included. */
async function contents(probe: StorageProbe): Promise<readonly (readonly [string, number, string | undefined])[]> {
  const { entries } = await probe.page({ includeDeleted: true, sort: [ascending('id')] });
  return entries.map((entry: StoredEntry) => {
    return [entry.id, entry.lastModified, entry instanceof StoredObject ? entry.text : undefined] as const;
  });
}

async function stateOf(probe: StorageProbe): Promise<ListSummary | undefined> {
  const states = await probe.reader.lists(undefined, 100);
  return states.find(({ kind, parent }) => kind === probe.list.kind && parent === probe.list.parent);
}

const walking: readonly StorageCase[] = [
  storageCase('an empty store has no lists', async (probe) => {
    assert.deepEqual(await probe.reader.lists(undefined, 10), []);
  }),
  storageCase('lists have clocks and counts, and parents come before the lists below them', async (probe) => {
    const at = (kind: string, parent: string): StorageProbe => probe.at({ kind, parent });
    await at('record', '/buckets/a/collections/b').seed({ x: {}, y: {} });
    await at('record', '/buckets/a/collections/b').delete('x');
    await at('group', '/buckets/a').touch();
    await at('collection', '/buckets/a').create('b');
    await at('collection', '/buckets/a').delete('b', { keepTombstone: false });
    await at('bucket', '').create('a');
    await at('record', '/\u{1F600}').create('x');
    await at('record', '/\uFFFD').create('x');
    assert.deepEqual(await probe.reader.lists(undefined, 10), [
      { kind: 'bucket', parent: '', timestamp: start, horizon: 0, live: 1, dead: 0 },
      { kind: 'collection', parent: '/buckets/a', timestamp: start + 1, horizon: start + 1, live: 0, dead: 0 },
      { kind: 'group', parent: '/buckets/a', timestamp: start, horizon: 0, live: 0, dead: 0 },
      { kind: 'record', parent: '/buckets/a/collections/b', timestamp: start + 2, horizon: 0, live: 1, dead: 1 },
      { kind: 'record', parent: '/\uFFFD', timestamp: start, horizon: 0, live: 1, dead: 0 },
      { kind: 'record', parent: '/\u{1F600}', timestamp: start, horizon: 0, live: 1, dead: 0 },
    ]);
  }),
  storageCase('pages of any size visit each list once', async (probe) => {
    const keys = ['', '/a', '/a/b', '/b'].flatMap((parent) => ['x', 'y', 'z'].map((kind) => ({ kind, parent })));
    for (const key of keys) await probe.at(key).touch();
    for (const limit of [1, 2, 5, 12, 13]) {
      const seen: ListKey[] = [];
      for (let after: ListKey | undefined; ; after = seen.at(-1)) {
        const page = await probe.reader.lists(after, limit);
        assert.ok(page.length <= limit);
        seen.push(...page.map(({ kind, parent }) => ({ kind, parent })));
        if (page.length < limit) break;
      }
      assert.deepEqual(seen, keys);
    }
  }),
  storageCase('lists are in order, with any names of parents', async (probe) => {
    const parents = [
      '',
      ' ',
      '%',
      '%2',
      '/a%7Db',
      '/a%b',
      '/a-b',
      '/a/b',
      '/a{b',
      '/a|',
      '/a|a',
      '/a|b',
      '/a}',
      '/a}b',
      '/a~',
      '/é',
    ];
    for (const parent of parents.toReversed()) for (const kind of ['x', 'y']) await probe.at({ kind, parent }).touch();
    for (const limit of [1, 7, 100]) {
      const seen: ListKey[] = [];
      for (let after: ListKey | undefined; ; after = seen.at(-1)) {
        const page = await probe.reader.lists(after, limit);
        seen.push(...page.map(({ kind, parent }) => ({ kind, parent })));
        if (page.length < limit) break;
      }
      assert.deepEqual(
        seen,
        parents.flatMap((parent) => ['x', 'y'].map((kind) => ({ kind, parent }))),
      );
    }
  }),
  storageCase('a unit of work sees its own writes in the lists', async (probe) => {
    await probe.at({ kind: 'x', parent: '/b' }).seed({ a: {}, b: {} });
    await probe.unit(async (writer) => {
      await writer.delete({ kind: 'x', parent: '/b' }, 'a');
      for (const parent of ['/a', '/c']) await writer.create({ kind: 'x', parent }, 'a', '{}');
      for (const limit of [1, 2, 3, 4]) {
        const page = await writer.lists(undefined, limit);
        const counts = page.map((state) => [state.parent, state.live, state.dead]);
        const all = [
          ['/a', 1, 0],
          ['/b', 1, 1],
          ['/c', 1, 0],
        ];
        assert.deepEqual(counts, all.slice(0, limit));
      }
      assert.deepEqual(
        (await writer.lists({ kind: 'x', parent: '/b' }, 5)).map(({ parent }) => parent),
        ['/c'],
      );
    });
  }),
  storageCase('a page of lists continues after a list that does not exist', async (probe) => {
    await probe.at({ kind: 'x', parent: '/c' }).touch();
    assert.equal((await probe.reader.lists({ kind: 'y', parent: '/b' }, 5)).length, 1);
    assert.equal((await probe.reader.lists({ kind: 'y', parent: '/c' }, 5)).length, 0);
  }),
];

const restoring: readonly StorageCase[] = [
  storageCase('restored entries keep ids, texts and timestamps, and the list gets the clock', async (probe) => {
    const entries = [live('a', 5, '{"n":1.10}'), dead('b', 7), live('__proto__', 2 ** 52), live('é', 6)];
    await restore(probe, { clock: 2 ** 52 + 1, entries });
    assert.deepEqual(await contents(probe), [
      ['__proto__', 2 ** 52, '{}'],
      ['a', 5, '{"n":1.10}'],
      ['b', 7, undefined],
      ['é', 6, '{}'],
    ]);
    assert.deepEqual(await stateOf(probe), { ...records, timestamp: 2 ** 52 + 1, horizon: 0, live: 3, dead: 1 });
    assert.equal(await probe.count(), 3);
  }),
  storageCase('a restored list without entries has the given clock', async (probe) => {
    await restore(probe, { clock: 77, entries: [] });
    assert.deepEqual(await stateOf(probe), { ...records, timestamp: 77, horizon: 0, live: 0, dead: 0 });
    assert.equal(await probe.timestamp(), 77);
  }),
  storageCase('a restored list continues from its clock', async (probe) => {
    await restore(probe, { clock: start + 50, entries: [live('a', 5)] });
    assert.equal((await probe.create('b')).lastModified, start + 51);
    assert.equal((await probe.update('a')).lastModified, start + 52);
  }),
  storageCase('a restoration never moves a clock back, and later entries move it on', async (probe) => {
    await restore(probe, { clock: 100, entries: [] });
    await restore(probe, { clock: 50, entries: [live('a', 60)] });
    assert.equal(await probe.timestamp(), 100);
    await restore(probe, { clock: 50, entries: [live('b', 200)] });
    assert.equal(await probe.timestamp(), 200);
  }),
  storageCase('restored entries replace objects and tombstones of their ids', async (probe) => {
    await restore(probe, { clock: 9, entries: [live('a', 1), dead('b', 2), live('c', 3), dead('d', 4)] });
    await restore(probe, {
      clock: 9,
      entries: [dead('a', 5), live('b', 6, '{"n":2}'), live('c', 3, '{"n":3}'), dead('d', 8)],
    });
    assert.deepEqual(await contents(probe), [
      ['a', 5, undefined],
      ['b', 6, '{"n":2}'],
      ['c', 3, '{"n":3}'],
      ['d', 8, undefined],
    ]);
    assert.deepEqual(await stateOf(probe), { ...records, timestamp: 9, horizon: 0, live: 2, dead: 2 });
  }),
  storageCase('restoring twice is restoring once', async (probe) => {
    const restoration = { clock: 9, entries: [live('a', 1), dead('b', 2)], gone: ['c'] };
    await restore(probe, restoration);
    await restore(probe, restoration);
    assert.deepEqual(await stateOf(probe), { ...records, timestamp: 9, horizon: 0, live: 1, dead: 1 });
  }),
  storageCase('other entries with a restored timestamp are removed without tombstones', async (probe) => {
    await restore(probe, { clock: 9, entries: [live('a', 1), dead('b', 2), live('c', 3), dead('d', 4)] });
    await restore(probe, { clock: 9, entries: [dead('x', 1), live('y', 2), live('d', 3), live('c', 4)] });
    assert.deepEqual(await contents(probe), [
      ['c', 4, '{}'],
      ['d', 3, '{}'],
      ['x', 1, undefined],
      ['y', 2, '{}'],
    ]);
    assert.deepEqual(await stateOf(probe), { ...records, timestamp: 9, horizon: 0, live: 3, dead: 1 });
  }),
  storageCase('the ids in `gone` are removed, and the others stay', async (probe) => {
    await restore(probe, { clock: 9, entries: [live('a', 1), dead('b', 2), live('c', 3), dead('d', 4)] });
    await restore(probe, { clock: 9, entries: [live('e', 1)], gone: ['a', 'b', 'z'] });
    assert.deepEqual(
      (await contents(probe)).map(([id]) => id),
      ['c', 'd', 'e'],
    );
    assert.deepEqual(await stateOf(probe), { ...records, timestamp: 9, horizon: 0, live: 2, dead: 1 });
  }),
  storageCase('restored objects are found by filters, in pages and by their ids', async (probe) => {
    await restore(probe, { clock: 9, entries: [live('a', 3, '{"n":1}'), live('b', 1, '{"n":2}'), dead('c', 2)] });
    assert.deepEqual(await probe.ids({ includeDeleted: true }), ['a', '†c', 'b']);
    assert.deepEqual(await probe.attributes('b'), { n: 2 });
    assert.equal((await probe.lock('c')).tombstone?.lastModified, 2);
  }),
  storageCase('restoring leaves other lists alone', async (probe) => {
    const other = probe.at({ kind: 'group', parent: records.parent });
    await restore(probe, { clock: 9, entries: [live('a', 1)] }, other.list);
    await restore(probe, { clock: 9, entries: [live('b', 1)], gone: ['a'] });
    assert.deepEqual(await other.everything(), ['a']);
    assert.deepEqual(await probe.everything(), ['b']);
  }),
  storageCase('many entries are restored at once', async (probe) => {
    const entries = Array.from({ length: 1200 }, (_, n) => (n % 3 === 0 ? dead(`e${n}`, n) : live(`e${n}`, n)));
    await restore(probe, { clock: 5000, entries });
    await restore(probe, { clock: 5000, entries: entries.slice(0, 10), gone: entries.slice(600).map(({ id }) => id) });
    assert.deepEqual(await stateOf(probe), { ...records, timestamp: 5000, horizon: 0, live: 400, dead: 200 });
    assert.equal(await probe.count({ includeDeleted: true }), 600);
  }),
  storageCase('entries that are declared as new are restored', async (probe) => {
    await restore(probe, { clock: 9, entries: [live('a', 1), dead('b', 2)], isFresh: true });
    await restore(probe, { clock: 9, entries: [live('c', 3, '{"n":"é\\u001e"}'), dead('d', 4)], isFresh: true });
    assert.deepEqual(await contents(probe), [
      ['a', 1, '{}'],
      ['b', 2, undefined],
      ['c', 3, '{"n":"é\\u001e"}'],
      ['d', 4, undefined],
    ]);
    assert.deepEqual(await stateOf(probe), { ...records, timestamp: 9, horizon: 0, live: 2, dead: 2 });
  }),
  storageCase('entries that are wrongly declared as new are all restored, or none is', async (probe) => {
    const before = { clock: 9, entries: [live('a', 1), dead('b', 2), live('c', 3)] };
    const after = { clock: 20, entries: [live('new', 4), live('a', 5), dead('b', 6), dead('c', 7)] };
    await restore(probe, before);
    const restored = await allOrNothing(() => restore(probe, { ...after, isFresh: true }));
    assert.equal((await contents(probe)).length, restored ? 4 : 3);
    await restore(probe, after);
    assert.deepEqual(await contents(probe), [
      ['a', 5, '{}'],
      ['b', 6, undefined],
      ['c', 7, undefined],
      ['new', 4, '{}'],
    ]);
    assert.deepEqual(await stateOf(probe), { ...records, timestamp: 20, horizon: 0, live: 2, dead: 2 });
  }),
  storageCase('a unit of work sees what it restored', async (probe) => {
    await probe.unit(async (writer) => {
      await writer.create(records, 'a', '{}', 1);
      await writer.restore(records, { clock: start + 5, entries: [live('a', 2, '{"n":1}'), dead('b', 3)] });
      assert.deepEqual((await writer.get(records, 'a'))?.attributes, { n: 1 });
      assert.equal((await writer.lock(records, 'b')).tombstone?.lastModified, 3);
      assert.equal((await writer.create(records, 'c', '{}')).lastModified, start + 6);
      assert.equal((await writer.delete(records, 'a'))?.tombstone.lastModified, start + 7);
    });
    assert.deepEqual(await stateOf(probe), { ...records, timestamp: start + 7, horizon: 0, live: 1, dead: 2 });
  }),
  rollbackCase('a rollback undoes a restoration', async (probe) => {
    await restore(probe, { clock: 9, entries: [live('a', 1), dead('b', 2)] });
    await assert.rejects(
      probe.unit(async (writer) => {
        const entries = [dead('a', 5), live('b', 6), live('c', 7), dead('d', 8)];
        await writer.restore(records, { clock: 99, entries, gone: ['x'] });
        await writer.restore({ kind: 'other', parent: '' }, { clock: 5, entries });
        throw new Error('no');
      }),
    );
    assert.deepEqual(await contents(probe), [
      ['a', 1, '{}'],
      ['b', 2, undefined],
    ]);
    assert.deepEqual(await probe.reader.lists(undefined, 10), [
      { ...records, timestamp: 9, horizon: 0, live: 1, dead: 1 },
    ]);
  }),
];

const purging: readonly StorageCase[] = [
  storageCase('a limited purge deletes the oldest tombstones first, and no more than its limit', async (probe) => {
    const entries = [live('x', 1), dead('d', 2), dead('c', 3), dead('b', 4), dead('a', 5)];
    await restore(probe, { clock: 9, entries });
    assert.equal(await probe.purge({ ...records, before: 5, limit: 2 }), 2);
    assert.deepEqual(await probe.everything(), ['x', '†b', '†a']);
    assert.equal(await probe.purge({ ...records, before: 5, limit: 2 }), 1);
    assert.deepEqual(await probe.everything(), ['x', '†a']);
    assert.equal((await stateOf(probe))?.dead, 1);
  }),
  storageCase('a limited purge of several lists stops at its limit and keeps the newest of each', async (probe) => {
    const other = probe.at({ kind: 'group', parent: records.parent });
    const entries = [dead('a', 1), dead('b', 2), dead('c', 3)];
    for (const { list } of [probe, other]) await restore(probe, { clock: 9, entries }, list);
    assert.equal(await probe.purge({ maxRetained: 1, limit: 3 }), 3);
    assert.equal(await probe.purge({ maxRetained: 1, limit: 3 }), 1);
    assert.deepEqual([await probe.everything(), await other.everything()], [['†c'], ['†c']]);
  }),
];

/** Copies of lists. */
export const restoringCases: readonly StorageCase[] = [...walking, ...restoring, ...purging];
