// Cases about reading the clocks of several lists at once, and about the number of flushes.
import assert from 'node:assert/strict';
import type { StorageCase } from '../contract-case.ts';
import { oddTexts } from '../hostile-text.ts';
import { records, rollbackCase, storageCase } from './storage-probe.ts';
import type { ListKey } from '../plain-contracts.ts';

const nuts: ListKey = { kind: 'record', parent: '/buckets/food/collections/nuts' };
const groups: ListKey = { kind: 'group', parent: '/buckets/food' };
const unused: ListKey = { kind: 'record', parent: '/buckets/none/collections/none' };

/** More lists than any backend reads in one statement. */
const manyLists: readonly ListKey[] = Array.from({ length: 10_000 }, (_, n) => {
  return { kind: 'record', parent: `/buckets/many/collections/c${n}` };
});

/** Clocks of several lists, and the number of flushes. */
export const clockCases: readonly StorageCase[] = [
  storageCase('clocks of several lists come in the order asked for', async (probe) => {
    await probe.seed({ a: {}, b: {} });
    await probe.delete('b');
    const touched = await probe.at(groups).touch();
    const clock = await probe.timestamp();
    const { clocks } = await probe.reader.clocks([groups, unused, records, nuts]);
    assert.deepEqual(clocks, [touched, undefined, clock, undefined]);
  }),
  storageCase('a list that is named twice has its clock twice', async (probe) => {
    const clock = await probe.touch();
    assert.deepEqual((await probe.reader.clocks([records, unused, records])).clocks, [clock, undefined, clock]);
  }),
  storageCase('lists of one parent and of one kind have clocks of their own', async (probe) => {
    const lists = [records, { ...records, kind: 'other' }, nuts];
    const clocks: number[] = [];
    for (const list of lists) {
      probe.clock.advance(10);
      clocks.push(await probe.at(list).touch());
    }
    assert.deepEqual((await probe.reader.clocks(lists)).clocks, clocks);
    assert.equal(new Set(clocks).size, 3);
  }),
  storageCase('no lists have no clocks, and the number of flushes', async (probe) => {
    const { clocks, flushes } = await probe.reader.clocks([]);
    assert.deepEqual(clocks, []);
    assert.ok(Number.isSafeInteger(flushes) && flushes >= 0);
    assert.equal((await probe.reader.clocks([records])).flushes, flushes);
  }),
  storageCase('clocks of ten thousand lists are read together', async (probe) => {
    const used = [0, 1, 999, 1000, 1001, 4999, 5000, 5001, 9999];
    for (const n of used) {
      probe.clock.advance(10);
      await probe.at(manyLists[n]!).touch();
    }
    const { clocks } = await probe.reader.clocks(manyLists);
    assert.equal(clocks.length, manyLists.length);
    const found = [...clocks.entries()].filter(([, clock]) => clock !== undefined);
    const expected = used.map(async (n) => [n, await probe.at(manyLists[n]!).timestamp()]);
    assert.deepEqual(found, await Promise.all(expected));
    const ofUnit = await probe.unit((writer) => writer.clocks(manyLists));
    assert.deepEqual(ofUnit.clocks, clocks);
  }),
  storageCase('clocks of lists with odd names are kept apart', async (probe) => {
    const lists = oddTexts.map((text) => ({ kind: 'record', parent: `/buckets/${text}` }));
    const clocks: number[] = [];
    for (const list of lists) {
      probe.clock.advance(10);
      clocks.push(await probe.at(list).touch());
    }
    assert.deepEqual((await probe.reader.clocks(lists)).clocks, clocks);
    assert.deepEqual((await probe.reader.clocks(lists.toReversed())).clocks, clocks.toReversed());
    const kinds = oddTexts.map((kind) => ({ kind, parent: '/buckets/none' }));
    assert.ok((await probe.reader.clocks(kinds)).clocks.every((clock) => clock === undefined));
  }),
  storageCase('clocks stay when the contents of lists are deleted with their parents', async (probe) => {
    await probe.create('x');
    const before = (await probe.timestamp())!;
    const touched = await probe.at(nuts).touch();
    await probe.deleteChildren('/buckets/food');
    const { clocks, flushes } = await probe.reader.clocks([records, nuts]);
    assert.deepEqual(clocks, [await probe.timestamp(), touched]);
    assert.ok(clocks[0]! > before);
    assert.equal(flushes, (await probe.reader.clocks([])).flushes);
  }),
  storageCase('a unit of work reads the clocks that it has moved', async (probe) => {
    await probe.create('x');
    const old = (await probe.timestamp())!;
    const { lastModified: kept } = await probe.at(groups).create('g');
    await probe.unit(async (writer) => {
      const created = await writer.create(records, 'y', '{}');
      const added = await writer.create(nuts, 'n', '{}');
      const { clocks } = await writer.clocks([nuts, groups, records, unused]);
      assert.deepEqual(clocks, [added.lastModified, kept, created.lastModified, undefined]);
      assert.ok(created.lastModified > old);
      await writer.deleteChildren(records.parent);
      const [emptied] = (await writer.clocks([records])).clocks;
      assert.equal(emptied, await writer.resourceTimestamp(records));
    });
  }),
  storageCase('a flush deletes clocks and is counted', async (probe) => {
    await probe.create('x');
    const before = (await probe.reader.clocks([records])).flushes;
    await probe.unit((writer) => writer.flush());
    const after = await probe.reader.clocks([records]);
    assert.deepEqual(after.clocks, [undefined]);
    assert.ok(after.flushes > before);
    await probe.create('x');
    await probe.deleteChildren(records.parent);
    await probe.purge();
    assert.equal((await probe.reader.clocks([])).flushes, after.flushes);
    await probe.unit((writer) => writer.flush());
    await probe.unit((writer) => writer.flush());
    assert.ok((await probe.reader.clocks([])).flushes >= after.flushes + 2);
  }),
  storageCase('a unit of work counts its own flush, and others only once it is committed', async (probe) => {
    await probe.create('x');
    const { clocks, flushes } = await probe.reader.clocks([records]);
    await probe.unit(async (writer) => {
      await writer.flush();
      const { lastModified } = await writer.create(records, 'y', '{}');
      const own = await writer.clocks([records, nuts]);
      assert.deepEqual(own.clocks, [lastModified, undefined]);
      assert.ok(own.flushes > flushes);
    });
    const after = await probe.reader.clocks([records]);
    assert.ok(after.flushes > flushes);
    assert.deepEqual(after.clocks, [probe.now]);
    assert.notEqual(clocks[0], undefined);
  }),
  rollbackCase('a flush that is rolled back is not counted', async (probe) => {
    await probe.create('x');
    const before = await probe.reader.clocks([records, nuts]);
    const failing = probe.unit(async (writer) => {
      await writer.flush();
      throw new Error('on purpose');
    });
    await assert.rejects(failing, /on purpose/);
    assert.deepEqual(await probe.reader.clocks([records, nuts]), before);
  }),
];
