// Cases about the horizon of a list: up to which moment deletions may have been forgotten, so that who knows the list up
// to an earlier one can be told.
import assert from 'node:assert/strict';
import type { StorageCase } from '../contract-case.ts';
import { compare, pageQuery, records, rollbackCase, storageCase, type StorageProbe } from './storage-probe.ts';

/** The horizon as a page and the walk over all lists say it, which have to agree. */
async function horizonOf(probe: StorageProbe): Promise<number> {
  const { horizon } = await probe.page({ includeDeleted: true, limit: 1 });
  const state = (await probe.reader.lists(undefined, 100)).find(
    ({ kind, parent }) => kind === probe.list.kind && parent === probe.list.parent,
  );
  assert.equal(state?.horizon ?? 0, horizon);
  return horizon;
}

/** Tombstones a, b, c of the times 110, 120, 130 and a live object d. */
async function seedTombstones(probe: StorageProbe): Promise<void> {
  for (const [id, time] of Object.entries({ a: 100, b: 101, c: 102, d: 103 })) await probe.create(id, {}, time);
  for (const [id, time] of Object.entries({ a: 110, b: 120, c: 130 })) await probe.delete(id, { lastModified: time });
}

export const horizonCases: readonly StorageCase[] = [
  storageCase('a list from which nothing was taken has no horizon', async (probe) => {
    assert.equal(await horizonOf(probe), 0);
    await seedTombstones(probe);
    await probe.update('d', { n: 1 });
    await probe.create('b');
    await probe.deleteAll({ filters: [compare('n', 'eq', 1)] });
    assert.equal(await horizonOf(probe), 0);
  }),
  ...(
    [
      ['all', undefined, 130],
      ['those before a time', { before: 121 }, 120],
      ['those before the first', { before: 110 }, 0],
      ['all but the newest', { maxRetained: 1 }, 120],
      ['the oldest', { limit: 1 }, 110],
      ['those of another kind', { kind: 'group' }, 0],
    ] as const
  ).map(([what, options, expected]) =>
    storageCase(`forgetting ${what} moves the horizon to the latest that is gone`, async (probe) => {
      await seedTombstones(probe);
      await probe.purge(options);
      assert.equal(await horizonOf(probe), expected);
      assert.equal((await probe.page({ filters: [compare('id', 'eq', 'none')] })).horizon, expected);
      assert.equal((await probe.page({ filters: [compare('n', 'eq', 1)], ids: ['d'] })).horizon, expected);
    }),
  ),
  storageCase('the horizon of a list stays when less is forgotten later', async (probe) => {
    await seedTombstones(probe);
    await probe.purge();
    await probe.create('old', {}, 50);
    await probe.delete('old', { lastModified: 60 });
    assert.equal(await probe.purge(), 1);
    assert.equal(await horizonOf(probe), 130);
  }),
  storageCase('forgetting leaves the horizon of other lists alone', async (probe) => {
    const other = probe.at({ kind: 'record', parent: '/buckets/food/collections/nuts' });
    await seedTombstones(probe);
    await seedTombstones(other);
    await probe.purge({ ...records });
    assert.equal(await horizonOf(other), 0);
    await other.purge({ before: 115 });
    assert.equal(await horizonOf(probe), 130);
    assert.equal(await horizonOf(other), 110);
  }),
  storageCase('a deletion that leaves no tombstone moves the horizon to its timestamp', async (probe) => {
    await probe.seed({ a: {}, b: {} });
    const deletion = await probe.delete('a', { keepTombstone: false });
    assert.equal(await horizonOf(probe), deletion!.tombstone.lastModified);
    await probe.delete('b');
    assert.equal(await horizonOf(probe), deletion!.tombstone.lastModified);
  }),
  storageCase('deleting children moves the horizon of each list that loses something to its clock', async (probe) => {
    const dead = probe.at({ kind: 'group', parent: '/buckets/food' });
    const touched = probe.at({ kind: 'collection', parent: '/buckets/food' });
    const neighbour = probe.at({ kind: 'record', parent: '/buckets/foods/collections/fruits' });
    await probe.seed({ a: {} });
    await dead.seed({ a: {} });
    await dead.delete('a');
    await touched.touch();
    await neighbour.seed({ a: {} });
    await probe.deleteChildren('/buckets/food');
    assert.equal(await horizonOf(probe), await probe.timestamp());
    assert.equal(await horizonOf(dead), await dead.timestamp());
    assert.equal(await horizonOf(touched), 0);
    assert.equal(await horizonOf(neighbour), 0);
  }),
  storageCase('a list that is deleted with its parent keeps its horizon when it is filled again', async (probe) => {
    await probe.seed({ a: {} });
    await probe.deleteChildren('/buckets/food');
    const horizon = await probe.timestamp();
    await probe.seed({ b: {} });
    assert.equal(await horizonOf(probe), horizon);
    // Nothing has been lost since.
    await probe.at({ ...records, parent: '/buckets/other' }).seed({ a: {} });
    await probe.deleteChildren('/buckets/other');
    assert.equal(await horizonOf(probe), horizon);
  }),
  storageCase('what is written and deleted with its parent in one unit of work counts as lost', async (probe) => {
    await probe.seed({ a: {} });
    await probe.unit(async (writer) => {
      await writer.delete(records, 'a');
      await writer.deleteChildren('/buckets/food');
      await writer.create(records, 'b', '{}');
    });
    const [horizon, clock] = [await horizonOf(probe), (await probe.timestamp())!];
    // The deletion is before what was created after it.
    assert.equal(horizon, clock - 1);
  }),
  storageCase('what was trimmed is not lost again with its parent in the same unit of work', async (probe) => {
    await probe.seed({ a: {} });
    const clock = await probe.timestamp();
    await probe.unit(async (writer) => {
      await writer.trimObjects(records, { filters: [] }, 0);
      await writer.deleteChildren('/buckets/food');
    });
    assert.equal(await horizonOf(probe), 0);
    assert.equal(await probe.timestamp(), clock);
  }),
  storageCase('a unit of work sees the horizon that it has moved', async (probe) => {
    await seedTombstones(probe);
    await probe.unit(async (writer) => {
      await writer.purgeDeleted({ before: 121 });
      const page = await writer.listAll(records, pageQuery({ limit: 1 }));
      assert.equal(page.horizon, 120);
    });
  }),
  storageCase('a deletion of the past that leaves no tombstone never moves the horizon back', async (probe) => {
    await probe.seed({ a: {}, b: {}, c: {} });
    await probe.delete('a', { keepTombstone: false });
    const horizon = await horizonOf(probe);
    await probe.delete('b', { lastModified: 1234, keepTombstone: false });
    assert.equal(await horizonOf(probe), horizon);
    await probe.unit(async (writer) => {
      await writer.delete(records, 'c', { lastModified: 1235, keepTombstone: false });
      await writer.restore(records, { clock: 0, horizon: 1, entries: [] });
    });
    assert.equal(await horizonOf(probe), horizon);
  }),
  storageCase('a list that has lost its tombstones only moves its horizon to a clock that stays', async (probe) => {
    await probe.seed({ a: {} });
    await probe.delete('a');
    const clock = await probe.timestamp();
    probe.clock.advance(5000);
    await probe.deleteChildren('/buckets/food');
    assert.equal(await probe.timestamp(), clock);
    assert.equal(await horizonOf(probe), clock);
  }),
  storageCase('trimming leaves the horizon alone', async (probe) => {
    await probe.seed({ a: {}, b: {} });
    assert.equal(await probe.trim(1), 1);
    assert.equal(await horizonOf(probe), 0);
  }),
  storageCase('a restoration moves the horizon on and never back', async (probe) => {
    const restore = (horizon?: number): Promise<void> =>
      probe.unit((writer) => writer.restore(records, { clock: 500, horizon, entries: [] }));
    await restore();
    assert.equal(await horizonOf(probe), 0);
    await restore(200);
    await restore(100);
    await restore();
    assert.equal(await horizonOf(probe), 200);
    assert.equal(await probe.timestamp(), 500);
  }),
  rollbackCase('a horizon that was moved goes back when the unit of work is undone', async (probe) => {
    await seedTombstones(probe);
    const undone = probe.unit(async (writer) => {
      await writer.purgeDeleted();
      await writer.delete(records, 'd', { keepTombstone: false });
      throw new Error('undone');
    });
    await assert.rejects(undone, /undone/);
    assert.equal(await horizonOf(probe), 0);
  }),
  storageCase('a flush forgets the horizon with the clock', async (probe) => {
    await seedTombstones(probe);
    await probe.purge();
    await probe.unit((writer) => writer.flush());
    assert.equal(await horizonOf(probe), 0);
  }),
];
