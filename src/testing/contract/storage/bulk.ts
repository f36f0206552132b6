// Cases about writes to many objects: deleting a list, a subtree or the excess, purging tombstones, flushing.
import assert from 'node:assert/strict';
import { positionOf } from '../../../core/query/sort.ts';
import type { StorageCase } from '../contract-case.ts';
import { ascending, compare, oneOf, records, sortKeys, storageCase, type StorageProbe } from './storage-probe.ts';
import type { ListKey } from '../plain-contracts.ts';

type DeletedPage = Awaited<ReturnType<StorageProbe['deleteAll']>>;

function deletedIds({ deletions }: DeletedPage): readonly string[] {
  return deletions.map(({ old }) => old.id);
}

async function seedNumbers(probe: StorageProbe): Promise<void> {
  await probe.seed({ a: { n: 3 }, b: { n: 1 }, c: { n: 2 }, d: { n: 1 }, e: {} });
}

const lists: readonly StorageCase[] = [
  storageCase('deleting a list leaves a tombstone for each object', async (probe) => {
    await seedNumbers(probe);
    const deleted = await probe.deleteAll();
    assert.deepEqual(deletedIds(deleted), ['e', 'd', 'c', 'b', 'a']);
    assert.equal(deleted.more, false);
    assert.deepEqual(await probe.everything(), ['†e', '†d', '†c', '†b', '†a']);
    assert.equal(await probe.count(), 0);
  }),
  storageCase('a deleted list gives timestamps ascending in the order of selection', async (probe) => {
    await seedNumbers(probe);
    const clock = (await probe.timestamp())!;
    const { deletions } = await probe.deleteAll({ sort: sortKeys('n,id') });
    assert.deepEqual(
      deletions.map(({ old, tombstone }) => [old.id, tombstone.id, tombstone.lastModified - clock]),
      [
        ['b', 'b', 1],
        ['d', 'd', 2],
        ['c', 'c', 3],
        ['a', 'a', 4],
        ['e', 'e', 5],
      ],
    );
    assert.equal(await probe.timestamp(), clock + 5);
  }),
  storageCase('a deleted list starts its timestamps at the current time when the clock is behind', async (probe) => {
    await seedNumbers(probe);
    probe.clock.advance(10_000);
    const { deletions } = await probe.deleteAll();
    assert.deepEqual(
      deletions.map(({ tombstone }) => tombstone.lastModified - probe.now),
      [0, 1, 2, 3, 4],
    );
  }),
  storageCase('deleting a list returns the deleted objects', async (probe) => {
    await seedNumbers(probe);
    const { deletions } = await probe.deleteAll({ filters: [compare('n', 'eq', 3)] });
    assert.equal(deletions.length, 1);
    const { old, tombstone } = deletions[0]!;
    assert.deepEqual([old.id, old.lastModified, old.attributes], ['a', probe.now, { n: 3 }]);
    assert.deepEqual({ ...tombstone }, { id: 'a', lastModified: probe.now + 5, deleted: true });
  }),
  storageCase('only selected objects of a list are deleted', async (probe) => {
    await seedNumbers(probe);
    const deleted = await probe.deleteAll({ filters: [compare('n', 'max', 2)], sort: [ascending('id')] });
    assert.deepEqual(deletedIds(deleted), ['b', 'c', 'd']);
    assert.deepEqual(await probe.everything(), ['a', 'e', '†b', '†c', '†d']);
  }),
  storageCase('only objects with the given ids are deleted', async (probe) => {
    await seedNumbers(probe);
    assert.deepEqual(deletedIds(await probe.deleteAll({ ids: ['c', 'z', 'a'] })), ['c', 'a']);
    assert.deepEqual(deletedIds(await probe.deleteAll({ ids: [] })), []);
    assert.equal(await probe.count(), 3);
  }),
  storageCase('a list is deleted page by page', async (probe) => {
    await seedNumbers(probe);
    const sort = sortKeys('n,id');
    const first = await probe.deleteAll({ sort, limit: 2 });
    assert.deepEqual([deletedIds(first), first.more], [['b', 'd'], true]);
    const after = positionOf(first.deletions[1]!.old, sort);
    const second = await probe.deleteAll({ sort, limit: 2, after });
    assert.deepEqual([deletedIds(second), second.more], [['c', 'a'], true]);
    const third = await probe.deleteAll({ sort, limit: 2, after: positionOf(second.deletions[1]!.old, sort) });
    assert.deepEqual([deletedIds(third), third.more], [['e'], false]);
  }),
  storageCase('a page of deletions may start in the middle of the list', async (probe) => {
    await seedNumbers(probe);
    const deleted = await probe.deleteAll({ sort: [ascending('id')], after: ['b'], limit: 2 });
    assert.deepEqual([deletedIds(deleted), deleted.more], [['c', 'd'], true]);
    assert.deepEqual(await probe.ids({ sort: [ascending('id')] }), ['a', 'b', 'e']);
  }),
  storageCase('a page of deletions that ends the list has no more', async (probe) => {
    await seedNumbers(probe);
    assert.equal((await probe.deleteAll({ limit: 5 })).more, false);
  }),
  storageCase('tombstones are not deleted again', async (probe) => {
    await seedNumbers(probe);
    await probe.delete('a');
    const clock = await probe.timestamp();
    const filters = [compare('last_modified', 'gt', 0)];
    const deleted = await probe.deleteAll({ includeDeleted: true, filters, limit: 10 });
    assert.deepEqual(deletedIds(deleted), ['e', 'd', 'c', 'b']);
    assert.equal((await probe.lock('a')).tombstone!.lastModified, clock);
    assert.deepEqual(await probe.deleteAll({ includeDeleted: true, filters }), { deletions: [], more: false });
  }),
  storageCase('deleting nothing does not move the clock', async (probe) => {
    await seedNumbers(probe);
    const clock = await probe.timestamp();
    probe.clock.advance(1000);
    await probe.deleteAll({ filters: [compare('n', 'eq', 99)] });
    assert.equal(await probe.timestamp(), clock);
  }),
  storageCase('deleting a list leaves other lists alone', async (probe) => {
    const groups = probe.at({ kind: 'group', parent: records.parent });
    const nuts = probe.at({ kind: 'record', parent: `${records.parent}2` });
    for (const list of [probe, groups, nuts]) await list.create('x');
    await probe.deleteAll();
    assert.deepEqual([await groups.everything(), await nuts.everything()], [['x'], ['x']]);
    assert.equal(await nuts.timestamp(), probe.now);
  }),
];

/** Lists below, next to and above `/buckets/a_b`, and whether deleting its children empties them. */
const family: readonly (readonly [ListKey, boolean])[] = [
  [{ kind: 'bucket', parent: '' }, false],
  [{ kind: 'collection', parent: '/buckets/a_b' }, true],
  [{ kind: 'group', parent: '/buckets/a_b' }, true],
  [{ kind: 'history', parent: '/buckets/a_b' }, true],
  [{ kind: 'record', parent: '/buckets/a_b/collections/c' }, true],
  [{ kind: 'record', parent: '/buckets/a_b/collections/c%' }, true],
  [{ kind: 'quota', parent: '/buckets/a_b/collections/c/records/r' }, true],
  [{ kind: 'record', parent: '/buckets/axb/collections/c' }, false],
  [{ kind: 'collection', parent: '/buckets/axb' }, false],
  [{ kind: 'collection', parent: '/buckets/a_b2' }, false],
  [{ kind: 'record', parent: '/buckets/a_b2/collections/c' }, false],
  [{ kind: 'collection', parent: '/buckets/a_b-c' }, false],
  [{ kind: 'collection', parent: '/buckets/a_b0' }, false],
  [{ kind: 'collection', parent: '/buckets/a_' }, false],
  [{ kind: 'collection', parent: '/buckets/A_B' }, false],
  [{ kind: 'collection', parent: '/buckets/a%b' }, false],
  [{ kind: 'record', parent: '/other/buckets/a_b/x' }, false],
  [{ kind: 'collection', parent: 'a_b' }, false],
];

const subtrees: readonly StorageCase[] = [
  ...family.map(([list, emptied]) =>
    storageCase(
      `deleting the children of /buckets/a_b ${emptied ? 'empties' : 'spares'} the ${list.kind} list of "${list.parent}"`,
      async (probe) => {
        const one = probe.at(list);
        await one.seed({ a: {}, b: {}, gone: {} });
        await one.delete('gone');
        const clock = (await one.timestamp())!;
        await probe.deleteChildren('/buckets/a_b');
        assert.deepEqual(await one.everything(), emptied ? [] : ['a', 'b', '†gone']);
        assert.equal(await one.count(), emptied ? 0 : 2);
        assert.equal(await one.get('a').then((object) => object?.id), emptied ? undefined : 'a');
        assert.equal(await one.timestamp(), emptied ? clock + 1 : clock);
      },
    ),
  ),
  ...(['%', '_', '*', '.*', '/buckets/%', '/buckets/a%', ''] as const).map((uri) =>
    storageCase(`deleting the children of "${uri}" reads its wildcards as ordinary text`, async (probe) => {
      await probe.seed({ a: {} });
      await probe.at({ kind: 'collection', parent: 'x' }).seed({ a: {} });
      await probe.deleteChildren(uri);
      assert.deepEqual(await probe.at({ kind: 'collection', parent: 'x' }).everything(), ['a']);
      // Everything with a leading slash lies below the empty URI.
      assert.deepEqual(await probe.everything(), uri === '' ? [] : ['a']);
    }),
  ),
  storageCase('deleting children empties all lists of the subtree at once', async (probe) => {
    for (const [list] of family) await probe.at(list).seed({ a: {}, b: {} });
    await probe.deleteChildren('/buckets/a_b');
    for (const [list, emptied] of family) {
      assert.deepEqual(await probe.at(list).everything(), emptied ? [] : ['a', 'b'], `${list.kind} of ${list.parent}`);
    }
  }),
  storageCase(
    'a list that is emptied with its parent moves its clock to the current time when the clock is behind',
    async (probe) => {
      await probe.seed({ a: {} });
      probe.clock.advance(5000);
      await probe.deleteChildren('/buckets/food');
      assert.equal(await probe.timestamp(), probe.now);
    },
  ),
  storageCase('a list with tombstones only keeps its clock when its parent is deleted', async (probe) => {
    await probe.create('a');
    await probe.delete('a');
    const clock = await probe.timestamp();
    probe.clock.advance(5000);
    await probe.deleteChildren('/buckets/food');
    assert.equal(await probe.timestamp(), clock);
    assert.deepEqual(await probe.everything(), []);
  }),
  storageCase('a list that was only touched keeps its clock when its parent is deleted', async (probe) => {
    const clock = await probe.touch();
    probe.clock.advance(5000);
    await probe.deleteChildren('/buckets/food');
    assert.equal(await probe.timestamp(), clock);
  }),
  storageCase('a list recreated below its parent starts empty and continues its clock', async (probe) => {
    const future = probe.now + 1_000_000;
    await probe.create('a', { n: 1 }, future);
    await probe.deleteChildren('/buckets/food');
    assert.equal((await probe.create('a', { n: 2 })).lastModified, future + 2);
    assert.deepEqual(await probe.everything(), ['a']);
    assert.deepEqual(await probe.attributes('a'), { n: 2 });
  }),
  storageCase('a timestamp of the lost subtree may be used again', async (probe) => {
    await probe.seed({ a: {} });
    const { lastModified } = (await probe.get('a'))!;
    await probe.deleteChildren('/buckets/food');
    assert.equal((await probe.create('b', {}, lastModified)).lastModified, lastModified);
  }),
  storageCase('deleting children does nothing when none exist', async (probe) => {
    await probe.seed({ a: {} });
    await probe.deleteChildren('/buckets/none');
    assert.deepEqual(await probe.everything(), ['a']);
    assert.equal((await probe.reader.lists(undefined, 9)).length, 1);
  }),
  storageCase('children written in the same unit of work are deleted with the others', async (probe) => {
    await probe.create('a');
    await probe.unit(async (writer) => {
      await writer.create(records, 'b', '{}');
      await writer.deleteChildren('/buckets/food');
      assert.equal(await writer.get(records, 'b'), undefined);
      await writer.create(records, 'c', '{}');
    });
    assert.deepEqual(await probe.everything(), ['c']);
    assert.equal(await probe.count(), 1);
  }),
];

const otherKind: ListKey = { kind: 'group', parent: records.parent };
const otherParent: ListKey = { kind: 'record', parent: '/buckets/food/collections/nuts' };

/** Tombstones a, b, c of the times 110, 120, 130 and a live object d in each of three lists. */
async function seedTombstones(probe: StorageProbe): Promise<void> {
  for (const list of [records, otherKind, otherParent]) {
    const one = probe.at(list);
    for (const [id, time] of Object.entries({ a: 100, b: 101, c: 102, d: 103 })) await one.create(id, {}, time);
    for (const [id, time] of Object.entries({ a: 110, b: 120, c: 130 })) await one.delete(id, { lastModified: time });
  }
}

type Purge = Parameters<StorageProbe['purge']>[0];

const purges: readonly (readonly [string, Purge, number, string, string, string])[] = [
  ['everything', undefined, 9, 'd', 'd', 'd'],
  ['one kind', { kind: 'record' }, 6, 'd', 'd †a †b †c', 'd'],
  ['one parent', { parent: records.parent }, 6, 'd', 'd', 'd †a †b †c'],
  ['one list', { kind: 'record', parent: records.parent }, 3, 'd', 'd †a †b †c', 'd †a †b †c'],
  ['an unknown kind', { kind: 'recor' }, 0, 'd †a †b †c', 'd †a †b †c', 'd †a †b †c'],
  ['a parent above', { parent: '/buckets/food' }, 0, 'd †a †b †c', 'd †a †b †c', 'd †a †b †c'],
  ['a parent with wildcards', { parent: '/buckets/%' }, 0, 'd †a †b †c', 'd †a †b †c', 'd †a †b †c'],
  ['what is older than a time', { before: 120 }, 3, 'd †b †c', 'd †b †c', 'd †b †c'],
  ['what is older than all', { before: 100 }, 0, 'd †a †b †c', 'd †a †b †c', 'd †a †b †c'],
  ['what is older than the future', { before: 1000 }, 9, 'd', 'd', 'd'],
  ['one kind before a time', { kind: 'record', before: 121 }, 4, 'd †c', 'd †a †b †c', 'd †c'],
  ['all but the newest of each list', { maxRetained: 1 }, 6, 'd †c', 'd †c', 'd †c'],
  ['all but the newest of one list', { ...records, maxRetained: 2 }, 1, 'd †b †c', 'd †a †b †c', 'd †a †b †c'],
  ['all but more than there are', { maxRetained: 9 }, 0, 'd †a †b †c', 'd †a †b †c', 'd †a †b †c'],
  ['all but none', { maxRetained: 0 }, 9, 'd', 'd', 'd'],
];

const forgetting: readonly StorageCase[] = [
  ...purges.map(([what, options, expected, ...left]) =>
    storageCase(`purging ${what} deletes only those tombstones and counts them`, async (probe) => {
      await seedTombstones(probe);
      assert.equal(await probe.purge(options), expected);
      for (const [index, list] of [records, otherKind, otherParent].entries()) {
        const one = probe.at(list);
        assert.deepEqual(await one.everything(), left[index]!.split(' '));
        assert.equal(await one.timestamp(), 130);
      }
    }),
  ),
  storageCase('purging both before a time and all but some is refused', async (probe) => {
    await seedTombstones(probe);
    await assert.rejects(probe.purge({ before: 1000, maxRetained: 1 }));
    assert.deepEqual(await probe.everything(), ['d', '†a', '†b', '†c']);
  }),
  storageCase('purging an empty store deletes nothing', async (probe) => {
    assert.equal(await probe.purge(), 0);
  }),
  ...(
    [
      ['all but the newest two', 2, {}, 3, 'd e'],
      ['all but more than there are', 9, {}, 0, 'a b c d e'],
      ['all', 0, {}, 5, ''],
      ['selected ones', 1, { filters: [compare('n', 'max', 2)] }, 2, 'a d e'],
      ['those with some ids', 1, { ids: ['a', 'b', 'z'] }, 1, 'b c d e'],
      ['those of a time', 0, { filters: [compare('last_modified', 'lt', 1_700_000_000_002)] }, 2, 'c d e'],
      ['those with ids by a filter', 0, { filters: [oneOf('id', 'a', 'e')] }, 2, 'b c d'],
    ] as readonly (readonly [string, number, Parameters<StorageProbe['trim']>[1], number, string])[]
  ).map(([what, maxObjects, selection, removed, left]) =>
    storageCase(`trimming ${what} removes the oldest and counts them`, async (probe) => {
      await seedNumbers(probe);
      assert.equal(await probe.trim(maxObjects, selection), removed);
      assert.deepEqual(await probe.everything(), left === '' ? [] : left.split(' '));
      assert.equal(await probe.count(), 5 - removed);
    }),
  ),
  storageCase('trimming leaves tombstones alone and does not count them', async (probe) => {
    await seedNumbers(probe);
    await probe.delete('a');
    assert.equal(await probe.trim(3, { includeDeleted: true }), 1);
    assert.deepEqual(await probe.everything(), ['c', 'd', 'e', '†a']);
  }),
  storageCase('trimming named objects removes the oldest, also one of the same unit', async (probe) => {
    await probe.create('stays');
    const { timestamp } = await probe.page();
    await probe.unit(async (writer) => {
      await writer.create(probe.list, 'older', '{}', timestamp! - 1);
      assert.equal(await writer.trimObjects(probe.list, { filters: [], ids: ['older', 'stays'] }, 1), 1);
    });
    assert.deepEqual(await probe.ids(), ['stays']);
  }),

  storageCase('trimming leaves other lists alone', async (probe) => {
    await probe.create('x');
    await probe.at(otherKind).create('x');
    await probe.trim(0);
    assert.equal(await probe.at(otherKind).count(), 1);
  }),
  storageCase('a flush deletes objects, tombstones and clocks of all lists', async (probe) => {
    await seedTombstones(probe);
    await probe.at(otherParent).touch();
    await probe.unit((writer) => writer.flush());
    for (const list of [records, otherKind, otherParent]) {
      assert.deepEqual(await probe.at(list).everything(), []);
      assert.equal(await probe.at(list).count(), 0);
      assert.equal(await probe.at(list).timestamp(), undefined);
    }
    assert.deepEqual(await probe.reader.lists(undefined, 9), []);
    assert.deepEqual(await probe.reader.listParents('record'), []);
  }),
  storageCase('a flushed store may be used at once', async (probe) => {
    await probe.create('x', {}, probe.now + 1000);
    await probe.unit(async (writer) => {
      await writer.flush();
      await writer.create(records, 'x', '{"n":1}');
    });
    assert.deepEqual(await probe.attributes('x'), { n: 1 });
    assert.equal(await probe.timestamp(), probe.now);
  }),
  storageCase('initializing the schema again keeps everything', async (probe) => {
    await probe.create('x', { n: 1 });
    assert.deepEqual(await probe.database.initializeSchema({ dryRun: true }), []);
    await probe.database.initializeSchema({ dryRun: false });
    assert.deepEqual(await probe.attributes('x'), { n: 1 });
  }),
];

const parents: readonly StorageCase[] = [
  storageCase('the parents of a kind are those with live objects', async (probe) => {
    const at = (parent: string): StorageProbe => probe.at({ kind: 'record', parent });
    await at('/one').create('x');
    await at('/two').seed({ x: {}, y: {} });
    await at('/deleted').create('x');
    await at('/deleted').delete('x');
    await at('/touched').touch();
    await at('/trimmed').create('x');
    await at('/trimmed').trim(0);
    await at('/gone/child').create('x');
    await probe.deleteChildren('/gone');
    await at('').create('x');
    await probe.at({ kind: 'group', parent: '/three' }).create('x');
    assert.deepEqual((await probe.reader.listParents('record')).toSorted(), ['', '/one', '/two']);
    assert.deepEqual(await probe.reader.listParents('group'), ['/three']);
    assert.deepEqual(await probe.reader.listParents('bucket'), []);
  }),
];

/** Writes to many objects at once. */
export const bulkCases: readonly StorageCase[] = [...lists, ...subtrees, ...forgetting, ...parents];
