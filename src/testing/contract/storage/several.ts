// Cases about several new objects stored at once, and about counts of a kind.
import assert from 'node:assert/strict';
import type { StorageCase } from '../contract-case.ts';
import { ascending, compare, storageCase } from './storage-probe.ts';

/** Several objects stored together, and counts of kinds. */
export const severalCases: readonly StorageCase[] = [
  storageCase('several objects are created at once, with timestamps in their order', async (probe) => {
    const { list } = probe;
    await probe.seed({ a: {}, b: {} });
    await probe.delete('b');
    const clock = (await probe.timestamp())!;
    const objects = Array.from({ length: 1100 }, (_, n) => ({ id: `n${n}`, text: `{"n":${n}.0}` }));
    const created = await probe.unit(async (writer) => {
      assert.deepEqual(await writer.createAll(list, []), []);
      const stored = await writer.createAll(list, objects);
      assert.equal((await writer.get(list, 'n7'))?.text, '{"n":7.0}');
      assert.equal(await writer.countAll(list, { filters: [compare('n', 'lt', 10)] }), 10);
      return stored;
    });
    assert.deepEqual(
      created.map(({ id, lastModified, text }) => ({ id, text, after: lastModified - clock })),
      objects.map((object, index) => ({ ...object, after: index + 1 })),
    );
    assert.equal(await probe.timestamp(), clock + 1100);
    assert.equal(await probe.count(), 1101);
    const page = await probe.ids({ sort: [ascending('last_modified')], filters: [compare('n', 'min', 1097)] });
    assert.deepEqual(page, ['a', 'n1097', 'n1098', 'n1099']);
    await probe.update('n7', { n: 'new' });
    assert.deepEqual(await probe.attributes('n7'), { n: 'new' });
  }),
  storageCase('a list that was never touched can receive several objects', async (probe) => {
    await probe.unit((writer) =>
      writer.createAll(probe.list, [
        { id: 'x', text: '{}' },
        { id: 'y', text: '{}' },
      ]),
    );
    assert.deepEqual(await probe.everything(), ['x', 'y']);
    assert.equal(await probe.timestamp(), probe.now + 1);
  }),
  storageCase('objects and tombstones are counted by kind, over all lists', async (probe) => {
    const nuts = probe.at({ kind: 'record', parent: '/buckets/food/collections/nuts' });
    const groups = probe.at({ kind: 'group', parent: '/buckets/food' });
    await probe.seed({ a: {}, b: {}, c: {} });
    await nuts.seed({ d: {}, e: {} });
    await groups.seed({ g: {} });
    await groups.delete('g');
    await nuts.delete('d');
    await probe.at({ kind: 'bucket', parent: '' }).touch();
    const present = async (): Promise<unknown> => {
      const counts = [...(await probe.reader.countKinds())];
      return Object.fromEntries(counts.filter(([, { objects, tombstones }]) => objects + tombstones > 0));
    };
    const group = { objects: 0, tombstones: 1 };
    assert.deepEqual(await present(), { record: { objects: 4, tombstones: 1 }, group });
    await probe.unit(async (writer) => {
      await writer.create(probe.list, 'x', '{}');
      assert.equal((await writer.countKinds()).get('record')?.objects, 5);
    });
    await probe.deleteChildren('/buckets/food/collections/fruits');
    assert.deepEqual(await present(), { record: { objects: 1, tombstones: 1 }, group });
  }),
];
