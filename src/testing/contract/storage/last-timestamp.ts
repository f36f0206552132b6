// Cases about the last timestamp of a list: writes that need a later one are refused and change nothing.
import assert from 'node:assert/strict';
import { IntegrityError } from '../../../contracts/errors.ts';
import type { StorageCase } from '../contract-case.ts';
import { ascending, marks, pageQuery, records, storageCase, type StorageProbe } from './storage-probe.ts';
import { writes } from './timestamps.ts';
import type { StorageWriter } from '../plain-contracts.ts';

/** The last timestamp of a list. The next one would not be a safe integer. */
const last = Number.MAX_SAFE_INTEGER;

/** Returns the state that a refused write must leave unchanged. */
async function snapshotOf(probe: StorageProbe): Promise<unknown> {
  const { entries, timestamp, horizon } = await probe.page({
    includeDeleted: true,
    sort: [ascending('last_modified')],
  });
  const counts = [await probe.count(), await probe.count({ includeDeleted: true })];
  return { times: entries.map(({ lastModified }) => lastModified), ids: marks(entries), timestamp, horizon, counts };
}

/** Writes of several objects, each of which needs a timestamp of its own. */
const ofSeveral: readonly (readonly [string, (writer: StorageWriter) => Promise<unknown>])[] = [
  [
    'creating several objects at once',
    (writer) =>
      writer.createAll(
        records,
        ['p', 'q', 'r'].map((id) => ({ id, text: '{}' })),
      ),
  ],
  ['deleting a page of objects', (writer) => writer.deleteAll(records, pageQuery({}))],
];

/** Writes to a list with too few timestamps left. */
export const lastTimestampCases: readonly StorageCase[] = [
  ...writes.flatMap(({ name, prepare, write }) => [
    storageCase(`${name} is refused and changes nothing when the list has no timestamps left`, async (probe) => {
      await prepare(probe);
      await probe.create('other', {}, last);
      const before = await snapshotOf(probe);
      await assert.rejects(write(probe), IntegrityError);
      await assert.rejects(write(probe, last), IntegrityError);
      assert.deepEqual(await snapshotOf(probe), before);
    }),
    storageCase(`${name} with a timestamp below the clock succeeds when the list has none left`, async (probe) => {
      await prepare(probe);
      await probe.create('other', {}, last);
      assert.equal(await write(probe, 1234), 1234);
      assert.equal(await probe.timestamp(), last);
    }),
    storageCase(`${name} may get the last timestamp of a list`, async (probe) => {
      await prepare(probe);
      await probe.create('other', {}, last - 1);
      assert.equal(await write(probe), last);
      assert.equal(await probe.timestamp(), last);
    }),
  ]),
  ...ofSeveral.flatMap(([name, write]) => [
    storageCase(`${name} is refused as a whole when the list has too few timestamps left`, async (probe) => {
      await probe.seed({ a: {}, b: {} });
      await probe.create('c', {}, last - 2);
      const before = await snapshotOf(probe);
      await probe.unit(async (writer) => {
        await assert.rejects(write(writer), IntegrityError);
      });
      assert.deepEqual(await snapshotOf(probe), before);
    }),
    storageCase(`${name} may use up the timestamps of a list`, async (probe) => {
      await probe.seed({ a: {}, b: {} });
      await probe.create('c', {}, last - 3);
      await probe.unit(write);
      assert.equal(await probe.timestamp(), last);
    }),
  ]),
  storageCase('creating hundreds of objects at once is refused as a whole near the last timestamp', async (probe) => {
    await probe.create('a', {}, last - 450);
    const before = await snapshotOf(probe);
    const objects = Array.from({ length: 500 }, (_, n) => ({ id: `n${n}`, text: '{}' }));
    await probe.unit(async (writer) => {
      await assert.rejects(writer.createAll(records, objects), IntegrityError);
    });
    assert.deepEqual(await snapshotOf(probe), before);
  }),
  storageCase('a unit of work continues after a write that found no timestamps left', async (probe) => {
    const other = { ...records, parent: '/buckets/food/collections/nuts' };
    await probe.create('a', {}, last);
    const written = await probe.unit(async (writer) => {
      await assert.rejects(writer.create(records, 'b', '{}'), IntegrityError);
      return writer.create(other, 'c', '{}');
    });
    assert.equal(written.lastModified, probe.now);
    assert.deepEqual(await probe.everything(), ['a']);
    assert.deepEqual(await probe.at(other).everything(), ['c']);
  }),
  storageCase('the writes of one unit of work may use up the timestamps, and no more', async (probe) => {
    await probe.create('a', {}, last - 2);
    await probe.unit(async (writer) => {
      await writer.create(records, 'b', '{}');
      await writer.update(records, 'a', '{}');
      await assert.rejects(writer.create(records, 'c', '{}'), IntegrityError);
      await assert.rejects(writer.delete(records, 'b'), IntegrityError);
    });
    assert.deepEqual(await probe.everything(), ['b', 'a']);
    assert.equal(await probe.timestamp(), last);
  }),
  storageCase('a list without timestamps left is emptied with its parent and keeps its clock', async (probe) => {
    await probe.create('a', {}, last);
    await probe.deleteChildren('/buckets/food');
    assert.deepEqual(await snapshotOf(probe), { times: [], ids: [], timestamp: last, horizon: last, counts: [0, 0] });
    await assert.rejects(probe.create('b'), IntegrityError);
    assert.deepEqual(await probe.everything(), []);
  }),
  storageCase(
    'a unit of work that has written to a list without timestamps left can delete its parent',
    async (probe) => {
      await probe.create('a', {}, last - 1);
      await probe.unit(async (writer) => {
        await writer.update(records, 'a', '{}');
        await writer.deleteChildren('/buckets/food');
      });
      assert.deepEqual(await snapshotOf(probe), { times: [], ids: [], timestamp: last, horizon: last, counts: [0, 0] });
    },
  ),
  storageCase('a list without timestamps left can be touched, trimmed and purged', async (probe) => {
    await probe.create('a');
    await probe.delete('a');
    await probe.create('b');
    await probe.create('c', {}, last);
    assert.equal(await probe.touch(), last);
    assert.equal(await probe.purge(), 1);
    assert.equal(await probe.trim(1), 1);
    assert.deepEqual(await probe.everything(), ['c']);
    assert.equal(await probe.timestamp(), last);
  }),
];
