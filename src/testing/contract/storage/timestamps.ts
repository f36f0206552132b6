// Cases about the clock of a list: the timestamps of writes, and the moves of the clock, which never goes back.
import assert from 'node:assert/strict';
import { IntegrityError } from '../../../contracts/errors.ts';
import type { StorageCase } from '../contract-case.ts';
import { records, rollbackCase, storageCase, type StorageProbe } from './storage-probe.ts';

/** Every kind of write that gives a timestamp. Each leaves one entry `x`. */
export const writes: readonly {
  readonly name: string;
  readonly prepare: (probe: StorageProbe) => Promise<unknown>;
  readonly write: (probe: StorageProbe, lastModified?: number) => Promise<number>;
}[] = [
  {
    name: 'a create',
    prepare: async () => {},
    write: async (probe, lastModified) => (await probe.create('x', {}, lastModified)).lastModified,
  },
  {
    name: 'a create over a tombstone',
    prepare: async (probe) => {
      await probe.create('x');
      await probe.delete('x');
    },
    write: async (probe, lastModified) => (await probe.create('x', {}, lastModified)).lastModified,
  },
  {
    name: 'an update',
    prepare: (probe) => probe.create('x'),
    write: async (probe, lastModified) => (await probe.update('x', { n: 1 }, lastModified)).lastModified,
  },
  {
    name: 'an update that creates',
    prepare: async () => {},
    write: async (probe, lastModified) => (await probe.update('x', {}, lastModified)).lastModified,
  },
  {
    name: 'a delete',
    prepare: (probe) => probe.create('x'),
    write: async (probe, lastModified) => (await probe.delete('x', { lastModified }))!.tombstone.lastModified,
  },
  {
    name: 'a delete without tombstone',
    prepare: (probe) => probe.create('x'),
    write: async (probe, lastModified) =>
      (await probe.delete('x', { lastModified, keepTombstone: false }))!.tombstone.lastModified,
  },
];

const perWrite = writes.flatMap(({ name, prepare, write }): readonly StorageCase[] => [
  storageCase(`${name} without a timestamp gets the current time when the clock is behind it`, async (probe) => {
    await prepare(probe);
    probe.clock.advance(5000);
    assert.equal(await write(probe), probe.now);
    assert.equal(await probe.timestamp(), probe.now);
  }),
  storageCase(`${name} without a timestamp gets one more than the clock when time stands still`, async (probe) => {
    await probe.create('other');
    await prepare(probe);
    const clock = await probe.timestamp();
    assert.equal(await write(probe), clock! + 1);
    assert.equal(await probe.timestamp(), clock! + 1);
  }),
  storageCase(`${name} gets one more than the clock after the time has stepped back`, async (probe) => {
    await probe.create('other');
    await prepare(probe);
    const clock = await probe.timestamp();
    probe.clock.advance(-60_000);
    assert.equal(await write(probe), clock! + 1);
  }),
  storageCase(`${name} with a timestamp above the clock gets it and moves the clock to it`, async (probe) => {
    await probe.create('other');
    await prepare(probe);
    const future = probe.now + 1_000_000;
    assert.equal(await write(probe, future), future);
    assert.equal(await probe.timestamp(), future);
  }),
  storageCase(`${name} with a timestamp equal to the clock gets the current time when that is later`, async (probe) => {
    await prepare(probe);
    await probe.create('other');
    const clock = await probe.timestamp();
    probe.clock.advance(5000);
    assert.equal(await write(probe, clock), probe.now);
    assert.equal(await probe.timestamp(), probe.now);
  }),
  storageCase(`${name} with a timestamp equal to the clock gets one more when time stands still`, async (probe) => {
    await prepare(probe);
    await probe.create('other');
    const clock = await probe.timestamp();
    assert.equal(await write(probe, clock), clock! + 1);
    assert.equal(await probe.timestamp(), clock! + 1);
  }),
  storageCase(`${name} with a timestamp below the clock gets it and leaves the clock alone`, async (probe) => {
    await probe.create('other');
    await prepare(probe);
    const clock = await probe.timestamp();
    assert.equal(await write(probe, 1234), 1234);
    assert.equal(await probe.timestamp(), clock);
  }),
  storageCase(`${name} may have the timestamp zero`, async (probe) => {
    await probe.create('other');
    await prepare(probe);
    assert.equal(await write(probe, 0), 0);
  }),
  storageCase(`${name} with the timestamp of another object is refused and changes nothing`, async (probe) => {
    await probe.create('other', {}, 1234);
    await probe.create('newer');
    await prepare(probe);
    const before = [await probe.everything(), await probe.timestamp()];
    await assert.rejects(write(probe, 1234), IntegrityError);
    assert.deepEqual([await probe.everything(), await probe.timestamp()], before);
  }),
  storageCase(`${name} with the timestamp of the tombstone of another object is refused`, async (probe) => {
    await probe.create('other');
    await probe.delete('other', { lastModified: 1234 });
    await probe.create('newer');
    await prepare(probe);
    await assert.rejects(write(probe, 1234), IntegrityError);
  }),
]);

const others: readonly StorageCase[] = [
  storageCase('the first object of a list gets the current time', async (probe) => {
    assert.equal((await probe.create('x')).lastModified, probe.now);
  }),
  storageCase('the first object of a list may be in the past and sets the clock', async (probe) => {
    assert.equal((await probe.create('x', {}, 1000)).lastModified, 1000);
    assert.equal(await probe.timestamp(), 1000);
    assert.equal((await probe.create('y')).lastModified, probe.now);
  }),
  storageCase('later writes follow a timestamp in the future', async (probe) => {
    const future = probe.now + 1_000_000;
    await probe.create('a', {}, future);
    assert.equal((await probe.create('b')).lastModified, future + 1);
    assert.equal((await probe.update('b')).lastModified, future + 2);
    assert.equal((await probe.delete('b'))!.tombstone.lastModified, future + 3);
  }),
  storageCase('an update may keep its own timestamp of the past', async (probe) => {
    await probe.create('x', {}, 1234);
    await probe.create('newer');
    assert.equal((await probe.update('x', { n: 1 }, 1234)).lastModified, 1234);
    assert.deepEqual(await probe.attributes('x'), { n: 1 });
    assert.deepEqual(await probe.everything(), ['x', 'newer']);
  }),
  storageCase('a tombstone may take over the timestamp of its object', async (probe) => {
    await probe.create('x', {}, 1234);
    await probe.create('newer');
    assert.equal((await probe.delete('x', { lastModified: 1234 }))!.tombstone.lastModified, 1234);
    assert.deepEqual(await probe.everything(), ['†x', 'newer']);
  }),
  storageCase('a recreated object may take over the timestamp of its tombstone', async (probe) => {
    await probe.create('x');
    await probe.delete('x', { lastModified: 1234 });
    await probe.create('newer');
    assert.equal((await probe.create('x', {}, 1234)).lastModified, 1234);
    assert.deepEqual(await probe.everything(), ['x', 'newer']);
  }),
  storageCase('a timestamp set free by an update may be used by another object', async (probe) => {
    await probe.create('x', {}, 1234);
    await probe.update('x');
    assert.equal((await probe.create('y', {}, 1234)).lastModified, 1234);
  }),
  storageCase('a timestamp set free by a purge may be used by another object', async (probe) => {
    await probe.create('x');
    await probe.delete('x', { lastModified: 1234 });
    await probe.create('newer');
    await probe.purge();
    assert.equal((await probe.create('y', {}, 1234)).lastModified, 1234);
  }),
  storageCase('a refused timestamp does not end the unit of work', async (probe) => {
    await probe.create('x', {}, 1234);
    await probe.create('newer');
    await probe.unit(async (writer) => {
      await assert.rejects(writer.create(records, 'y', '{}', 1234), IntegrityError);
      await writer.create(records, 'z', '{}');
    });
    assert.deepEqual(await probe.everything(), ['x', 'newer', 'z']);
  }),
  storageCase('the writes of one unit of work get ascending timestamps', async (probe) => {
    const given = await probe.unit(async (writer) => [
      (await writer.create(records, 'a', '{}')).lastModified,
      (await writer.create(records, 'b', '{}')).lastModified,
      (await writer.update(records, 'a', '{}')).lastModified,
      (await writer.delete(records, 'b'))!.tombstone.lastModified,
    ]);
    assert.deepEqual(
      given,
      [0, 1, 2, 3].map((n) => probe.now + n),
    );
  }),
  storageCase('lists of one parent but different kinds have clocks of their own', async (probe) => {
    const groups = probe.at({ kind: 'group', parent: records.parent });
    await probe.create('x', {}, probe.now + 1000);
    assert.equal(await groups.timestamp(), undefined);
    assert.equal((await groups.create('x')).lastModified, probe.now);
  }),
  storageCase('lists of one kind below different parents have clocks of their own', async (probe) => {
    const other = probe.at({ kind: 'record', parent: '/buckets/food/collections/nuts' });
    await probe.create('x', {}, probe.now + 1000);
    assert.equal(await other.timestamp(), undefined);
    assert.equal((await other.create('x')).lastModified, probe.now);
  }),
  storageCase('one timestamp may be used in two lists', async (probe) => {
    const other = probe.at({ kind: 'record', parent: '/buckets/food/collections/nuts' });
    await probe.create('x', {}, 1234);
    assert.equal((await other.create('x', {}, 1234)).lastModified, 1234);
  }),
  storageCase('a list that was never read nor written has no clock', async (probe) => {
    assert.equal(await probe.timestamp(), undefined);
    assert.equal((await probe.page()).timestamp, undefined);
    assert.equal((await probe.lock()).timestamp, undefined);
  }),
  storageCase('reading and locking do not create a clock', async (probe) => {
    await probe.get('x');
    await probe.count();
    await probe.page();
    await probe.lock('x');
    await probe.delete('x');
    await probe.deleteAll();
    await probe.trim(0);
    assert.equal(await probe.timestamp(), undefined);
  }),
  storageCase('touching a list creates its clock with the current time', async (probe) => {
    assert.equal(await probe.touch(), probe.now);
    assert.equal(await probe.timestamp(), probe.now);
    assert.equal((await probe.page()).timestamp, probe.now);
  }),
  storageCase('a touched clock is stable', async (probe) => {
    const first = await probe.touch();
    probe.clock.advance(5000);
    assert.equal(await probe.touch(), first);
    probe.clock.advance(-10_000);
    assert.equal(await probe.touch(), first);
    assert.equal(await probe.timestamp(), first);
  }),
  storageCase('touching a list with objects does not move its clock', async (probe) => {
    const { lastModified } = await probe.create('x');
    probe.clock.advance(5000);
    assert.equal(await probe.touch(), lastModified);
  }),
  storageCase('the first object after a touch is newer than the touch', async (probe) => {
    const touched = await probe.touch();
    assert.equal((await probe.create('x')).lastModified, touched + 1);
  }),
  storageCase('a touch with a timestamp moves the clock on to it, never back', async (probe) => {
    assert.equal(await probe.touch(probe.now - 100), probe.now - 100);
    assert.equal(await probe.touch(probe.now + 5), probe.now + 5);
    assert.equal(await probe.touch(probe.now), probe.now + 5);
    assert.equal(await probe.timestamp(), probe.now + 5);
    assert.equal((await probe.create('x')).lastModified, probe.now + 6);
    const clocks = await probe.unit(async (writer) => {
      const created = await writer.create(records, 'y', '{}');
      const touched = await writer.touch(records, created.lastModified + 10);
      return [created.lastModified, touched, (await writer.create(records, 'z', '{}')).lastModified];
    });
    assert.deepEqual(clocks, [probe.now + 7, probe.now + 17, probe.now + 18]);
    assert.equal((await probe.page()).timestamp, probe.now + 18);
    assert.equal((await probe.page()).entries.length, 3);
  }),
  rollbackCase('a touch with a timestamp that is rolled back moves nothing', async (probe) => {
    const { lastModified } = await probe.create('x');
    const transaction = await probe.database.begin();
    await probe.storage.writer(transaction).touch(records, lastModified + 1000);
    await transaction.rollback();
    assert.equal(await probe.timestamp(), lastModified);
  }),
  rollbackCase('a touch that is rolled back leaves no clock', async (probe) => {
    const transaction = await probe.database.begin();
    await probe.storage.writer(transaction).touch(records);
    await transaction.rollback();
    assert.equal(await probe.timestamp(), undefined);
  }),
  storageCase('purging every tombstone does not move the clock', async (probe) => {
    await probe.create('x');
    await probe.delete('x');
    const clock = await probe.timestamp();
    await probe.purge();
    assert.equal(await probe.timestamp(), clock);
    assert.equal((await probe.create('x')).lastModified, clock! + 1);
  }),
  storageCase('trimming does not move the clock', async (probe) => {
    await probe.seed({ a: {}, b: {} });
    const clock = await probe.timestamp();
    probe.clock.advance(5000);
    await probe.trim(0);
    assert.equal(await probe.timestamp(), clock);
  }),
  storageCase('writes that are not awaited get timestamps in the order of the calls', async (probe) => {
    const { list } = probe;
    await probe.seed({ a: {}, b: {} });
    await probe.unit(async (writer) => {
      await Promise.all([
        writer.create(list, 'c', '{}'),
        writer.update(list, 'a', '{}'),
        writer.delete(list, 'b'),
        writer.create(list, 'd', '{}'),
        writer.create(list, 'e', '{}'),
      ]);
    });
    assert.deepEqual(await probe.everything(), ['c', 'a', '†b', 'd', 'e']);
    await probe.unit(async (writer) => {
      await writer.deleteChildren('/buckets/food');
      await writer.lock(list, 'x');
      const written = await Promise.all(['x', 'y', 'z'].map((id) => writer.create(list, id, '{}')));
      const times = written.map(({ lastModified }) => lastModified);
      assert.deepEqual(
        times.map((time) => time - times[0]!),
        [0, 1, 2],
      );
    });
    assert.deepEqual(await probe.everything(), ['x', 'y', 'z']);
  }),
];

/** Timestamps of writes, and moves of the clock. */
export const timestampCases: readonly StorageCase[] = [...perWrite, ...others];
