// Cases about the horizon of a list, the highest timestamp of a deletion without a tombstone. Clients that know the list
// only up to an earlier timestamp may have missed a deletion.
import assert from 'node:assert/strict';
import type { StorageCase } from '../contract-case.ts';
import { compare, pageQuery, records, rollbackCase, storageCase, type StorageProbe } from './storage-probe.ts';

/** Returns the horizon from a page and from the walk over all lists, which must agree. */
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
  storageCase('a list that has lost no tombstones has the horizon 0', async (probe) => {
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
    storageCase(`purging ${what} moves the horizon to the latest purged tombstone`, async (probe) => {
      await seedTombstones(probe);
      await probe.purge(options);
      assert.equal(await horizonOf(probe), expected);
      assert.equal((await probe.page({ filters: [compare('id', 'eq', 'none')] })).horizon, expected);
      assert.equal((await probe.page({ filters: [compare('n', 'eq', 1)], ids: ['d'] })).horizon, expected);
    }),
  ),
  storageCase('a later purge of older tombstones does not move the horizon', async (probe) => {
    await seedTombstones(probe);
    await probe.purge();
    await probe.create('old', {}, 50);
    await probe.delete('old', { lastModified: 60 });
    assert.equal(await probe.purge(), 1);
    assert.equal(await horizonOf(probe), 130);
  }),
  storageCase('purging leaves the horizon of other lists alone', async (probe) => {
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
  storageCase('a list that was emptied with its parent keeps its horizon when it is filled again', async (probe) => {
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
  storageCase(
    'objects that are written and deleted with their parent in one unit of work move the horizon',
    async (probe) => {
      await probe.seed({ a: {} });
      await probe.unit(async (writer) => {
        await writer.delete(records, 'a');
        await writer.deleteChildren('/buckets/food');
        await writer.create(records, 'b', '{}');
      });
      const [horizon, clock] = [await horizonOf(probe), (await probe.timestamp())!];
      // The deletion is older than the later create.
      assert.equal(horizon, clock - 1);
    },
  ),
  storageCase(
    'objects that were trimmed do not move the horizon with their parent in the same unit of work',
    async (probe) => {
      await probe.seed({ a: {} });
      const clock = await probe.timestamp();
      await probe.unit(async (writer) => {
        await writer.trimObjects(records, { filters: [] }, 0);
        await writer.deleteChildren('/buckets/food');
      });
      assert.equal(await horizonOf(probe), 0);
      assert.equal(await probe.timestamp(), clock);
    },
  ),
  storageCase('a unit of work sees the horizon that it has moved', async (probe) => {
    await seedTombstones(probe);
    await probe.unit(async (writer) => {
      await writer.purgeDeleted({ before: 121 });
      const page = await writer.listAll(records, pageQuery({ limit: 1 }));
      assert.equal(page.horizon, 120);
    });
  }),
  storageCase('a deletion in the past without a tombstone never moves the horizon back', async (probe) => {
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
  storageCase('a list that loses only tombstones moves its horizon to its unchanged clock', async (probe) => {
    await probe.seed({ a: {} });
    await probe.delete('a');
    const clock = await probe.timestamp();
    probe.clock.advance(5000);
    await probe.deleteChildren('/buckets/food');
    assert.equal(await probe.timestamp(), clock);
    assert.equal(await horizonOf(probe), clock);
  }),
  storageCase('trimming does not move the horizon', async (probe) => {
    await probe.seed({ a: {}, b: {} });
    assert.equal(await probe.trim(1), 1);
    assert.equal(await horizonOf(probe), 0);
  }),
  storageCase('a restoration never moves the horizon back', async (probe) => {
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
  rollbackCase('a rollback restores the horizon', async (probe) => {
    await seedTombstones(probe);
    const undone = probe.unit(async (writer) => {
      await writer.purgeDeleted();
      await writer.delete(records, 'd', { keepTombstone: false });
      throw new Error('undone');
    });
    await assert.rejects(undone, /undone/);
    assert.equal(await horizonOf(probe), 0);
  }),
  storageCase('a flush deletes horizon and clock', async (probe) => {
    await seedTombstones(probe);
    await probe.purge();
    await probe.unit((writer) => writer.flush());
    assert.equal(await horizonOf(probe), 0);
  }),
];
