// Cases about single objects: create, read, replace, delete, tombstones, the state read under the lock, and odd data.
import assert from 'node:assert/strict';
import { ExactNumber, parseJson, type JsonObject } from '../../../base/json.ts';
import { UnicityError } from '../../../contracts/errors.ts';
import { isTombstone } from '../../../core/objects/stored.ts';
import type { StorageCase } from '../contract-case.ts';
import type { StorageReader } from '../plain-contracts.ts';
import { ascending, compare, records, storageCase } from './storage-probe.ts';

const singles: readonly StorageCase[] = [
  storageCase('a created object is returned and read back unchanged', async (probe) => {
    const created = await probe.create('x', { color: 'red', size: 3 });
    const found = await probe.get('x');
    for (const object of [created, found!]) {
      assert.equal(object.id, 'x');
      assert.equal(object.lastModified, probe.now);
      assert.deepEqual(object.attributes, { color: 'red', size: 3 });
    }
  }),
  storageCase('an object that was never created is absent', async (probe) => {
    assert.equal(await probe.get('x'), undefined);
    await probe.create('y');
    assert.equal(await probe.get('x'), undefined);
  }),
  storageCase('a live object cannot be created again', async (probe) => {
    await probe.create('x', { n: 1 });
    const before = await probe.timestamp();
    await assert.rejects(probe.create('x', { n: 2 }), (error) => error instanceof UnicityError && error.field === 'id');
    assert.deepEqual(await probe.attributes('x'), { n: 1 });
    assert.equal(await probe.timestamp(), before);
  }),
  storageCase('a live object cannot be created again with another timestamp', async (probe) => {
    await probe.create('x');
    await assert.rejects(probe.create('x', {}, 1234), UnicityError);
  }),
  storageCase('one id may exist in lists of different kinds and parents', async (probe) => {
    const lists = [
      { kind: 'group', parent: records.parent },
      { kind: 'record', parent: '/buckets/food/collections/nuts' },
      { kind: 'record', parent: '' },
    ];
    await probe.create('x', { here: true });
    for (const list of lists) {
      assert.equal(await probe.at(list).get('x'), undefined);
      await probe.at(list).create('x', { list: `${list.kind} of ${list.parent}` });
    }
    assert.deepEqual(await probe.attributes('x'), { here: true });
    for (const list of lists) {
      assert.deepEqual(await probe.at(list).attributes('x'), { list: `${list.kind} of ${list.parent}` });
      assert.equal(await probe.at(list).count(), 1);
    }
  }),
  storageCase(
    'a long text that was stored outside of the process is read only if memory for it was reserved',
    async (probe) => {
      const text = 'é'.repeat(70_000);
      await probe.create('long', { text });
      await probe.create('other', { text });
      await probe.create('short', { text: 'é' });
      const reserved: number[] = [];
      const refused = new Error('no memory');
      const refuse = (): void => {
        throw refused;
      };
      const isOutside = probe.database.abilities.durable;
      const requireRefused = async (read: Promise<unknown>): Promise<void> => {
        if (isOutside) await assert.rejects(read, (error) => error === refused);
        else await read;
      };
      const look = async (reader: StorageReader): Promise<void> => {
        await requireRefused(reader.get(records, 'long', refuse));
        const found = await reader.get(records, 'long', (chars) => reserved.push(chars));
        assert.deepEqual(found?.attributes, { text });
        assert.equal((await reader.get(records, 'short', refuse))?.id, 'short');
        assert.equal(await reader.get(records, 'none', refuse), undefined);
      };
      await look(probe.reader);
      await probe.unit(look);
      await probe.unit(async (writer) => {
        await writer.lock(records, 'other');
        await look(writer);
      });
      assert.equal(reserved.length, isOutside ? 3 : 0);
      for (const chars of reserved) assert.ok(chars >= 70_000, `${chars} characters`);
    },
  ),
  storageCase('an update replaces all attributes', async (probe) => {
    await probe.create('x', { a: 1, b: 2 });
    const updated = await probe.update('x', { b: 3 });
    assert.deepEqual(updated.attributes, { b: 3 });
    assert.deepEqual(await probe.attributes('x'), { b: 3 });
    assert.equal(await probe.count(), 1);
  }),
  storageCase('an update creates an object that is absent', async (probe) => {
    const updated = await probe.update('x', { n: 1 });
    assert.equal(updated.id, 'x');
    assert.deepEqual(await probe.attributes('x'), { n: 1 });
  }),
  storageCase('an update without a change gets a new timestamp', async (probe) => {
    await probe.create('x', { n: 1 });
    await probe.update('x', { n: 1 });
    assert.equal((await probe.get('x'))!.lastModified, probe.now + 1);
  }),
  storageCase('an updated object is listed once, in its new place', async (probe) => {
    await probe.seed({ a: {}, b: {}, c: {} });
    await probe.update('a');
    assert.deepEqual(await probe.everything(), ['b', 'c', 'a']);
  }),
];

const deletions: readonly StorageCase[] = [
  storageCase('a delete returns the object and the tombstone', async (probe) => {
    await probe.create('x', { n: 1 });
    const { old, tombstone } = (await probe.delete('x'))!;
    assert.deepEqual([old.id, old.lastModified, old.attributes], ['x', probe.now, { n: 1 }]);
    assert.deepEqual(tombstone, { id: 'x', lastModified: probe.now + 1, deleted: true });
  }),
  storageCase('a deleted object is absent', async (probe) => {
    await probe.create('x');
    await probe.delete('x');
    assert.equal(await probe.get('x'), undefined);
    assert.deepEqual(await probe.ids(), []);
    assert.equal(await probe.count(), 0);
  }),
  storageCase('a deleted object leaves a tombstone', async (probe) => {
    await probe.create('x', { n: 1 });
    await probe.delete('x');
    const [entry] = (await probe.page({ includeDeleted: true })).entries;
    assert.ok(entry !== undefined && isTombstone(entry));
    assert.deepEqual({ ...entry }, { id: 'x', lastModified: probe.now + 1, deleted: true });
  }),
  storageCase('a delete without tombstone returns the same and leaves no entry', async (probe) => {
    await probe.create('x', { n: 1 });
    const { old, tombstone } = (await probe.delete('x', { keepTombstone: false }))!;
    assert.deepEqual(old.attributes, { n: 1 });
    assert.deepEqual(tombstone, { id: 'x', lastModified: probe.now + 1, deleted: true });
    assert.deepEqual(await probe.everything(), []);
    assert.equal(await probe.timestamp(), probe.now + 1);
  }),
  storageCase('deleting an absent object returns nothing and changes nothing', async (probe) => {
    await probe.create('y');
    const clock = await probe.timestamp();
    assert.equal(await probe.delete('x'), undefined);
    assert.equal(await probe.delete('x', { lastModified: clock! + 1000 }), undefined);
    assert.deepEqual([await probe.everything(), await probe.timestamp()], [['y'], clock]);
  }),
  storageCase('deleting a deleted object again returns nothing and keeps its tombstone', async (probe) => {
    await probe.create('x');
    const { tombstone } = (await probe.delete('x'))!;
    assert.equal(await probe.delete('x'), undefined);
    assert.deepEqual((await probe.lock('x')).tombstone, tombstone);
    assert.equal(await probe.timestamp(), tombstone.lastModified);
  }),
  storageCase('a create removes the tombstone of its id', async (probe) => {
    await probe.create('x', { n: 1 });
    await probe.delete('x');
    await probe.create('x', { n: 2 });
    assert.deepEqual(await probe.everything(), ['x']);
    assert.deepEqual(await probe.attributes('x'), { n: 2 });
    assert.equal((await probe.lock('x')).tombstone, undefined);
  }),
  storageCase('an update removes the tombstone of its id', async (probe) => {
    await probe.create('x', { n: 1 });
    await probe.delete('x');
    await probe.update('x', { n: 2 });
    assert.deepEqual(await probe.everything(), ['x']);
    assert.deepEqual(await probe.attributes('x'), { n: 2 });
  }),
  storageCase('an object that is deleted and recreated many times has at most one tombstone', async (probe) => {
    for (let round = 0; round < 3; round++) {
      await probe.create('x', { round });
      await probe.delete('x');
    }
    assert.deepEqual(await probe.everything(), ['†x']);
  }),
];

const locks: readonly StorageCase[] = [
  storageCase('a lock reads the clock and the live object', async (probe) => {
    await probe.create('x', { n: 1 });
    await probe.create('y');
    const { timestamp, object, tombstone } = await probe.lock('x');
    assert.equal(timestamp, probe.now + 1);
    assert.deepEqual([object!.id, object!.lastModified, object!.attributes], ['x', probe.now, { n: 1 }]);
    assert.equal(tombstone, undefined);
  }),
  storageCase('a lock reads the tombstone of a deleted object', async (probe) => {
    await probe.create('x');
    await probe.delete('x');
    assert.deepEqual(await probe.lock('x'), {
      timestamp: probe.now + 1,
      object: undefined,
      tombstone: { id: 'x', lastModified: probe.now + 1, deleted: true },
    });
  }),
  storageCase('a lock with an absent id reads the clock only', async (probe) => {
    await probe.create('y');
    assert.deepEqual(await probe.lock('x'), { timestamp: probe.now, object: undefined, tombstone: undefined });
  }),
  storageCase('a lock without an id reads the clock only', async (probe) => {
    await probe.create('x');
    assert.deepEqual(await probe.lock(), { timestamp: probe.now, object: undefined, tombstone: undefined });
  }),
  storageCase('a lock may be taken twice in one unit of work and sees its writes', async (probe) => {
    await probe.unit(async (writer) => {
      assert.equal((await writer.lock(records, 'x')).object, undefined);
      await writer.create(records, 'x', '{"n":1}');
      const { timestamp, object } = await writer.lock(records, 'x');
      assert.equal(timestamp, probe.now);
      assert.deepEqual(object!.attributes, { n: 1 });
    });
  }),
  storageCase('a lock changes nothing', async (probe) => {
    await probe.create('x', { n: 1 });
    probe.clock.advance(1000);
    const before = await probe.timestamp();
    await probe.lock('x');
    assert.equal(await probe.timestamp(), before);
    assert.equal((await probe.get('x'))!.lastModified, before);
  }),
];

const long = { text: 'long '.repeat(80_000) };
const longer = JSON.stringify({ text: 'longer '.repeat(80_000) });

/** Reads of objects with long texts that the unit of work is going to replace. */
const deferredTexts: readonly StorageCase[] = [
  storageCase('a deferred text can be used until the object changes', async (probe) => {
    await probe.create('x', long);
    await probe.create('y', long);
    await probe.unit(async (writer) => {
      const read = await writer.get(records, 'x', undefined, { defersText: true });
      const { object: locked } = await writer.lock(records, 'x', { defersText: true });
      const { object: other } = await writer.lock(records, 'y', { defersText: true });
      await writer.update(records, 'y', longer);
      assert.deepEqual([read?.attributes, locked?.attributes], [long, long]);
      assert.ok(read!.isLarge && read!.chars >= read!.text.length && !read!.isDeferred);
      assert.ok(other!.isLarge && other!.chars >= 400_000 && other!.lastModified < probe.now + 2);
      await writer.update(records, 'x', longer);
      assert.equal(locked?.text, JSON.stringify(long));
      assert.equal((await writer.lock(records, 'x', { defersText: true })).object?.text, longer);
    });
  }),
  storageCase('a text that a later read needs is not deferred for it', async (probe) => {
    await probe.create('x', long);
    await probe.create('y', long);
    await probe.unit(async (writer) => {
      await writer.lock(records, 'x', { defersText: true });
      await writer.get(records, 'y', undefined, { defersText: true });
      const { object: x } = await writer.lock(records, 'x');
      const y = await writer.get(records, 'y');
      await writer.update(records, 'x', '{}');
      await writer.delete(records, 'y');
      assert.deepEqual([x?.attributes, y?.attributes], [long, long]);
      assert.equal((await writer.get(records, 'x', undefined, { defersText: true }))?.text, '{}');
      assert.equal(await writer.get(records, 'y', undefined, { defersText: true }), undefined);
    });
  }),
];

/** Attributes that a backend could change by mistake. */
const oddAttributes: readonly (readonly [string, string])[] = [
  ['nothing at all', '{}'],
  ['null, booleans and empty containers', '{"a":null,"b":true,"c":false,"d":[],"e":{},"f":""}'],
  ['nested arrays and objects', '{"a":[{"b":[[],[{}]]},{"c":{"d":{"e":[1,[2]]}}}]}'],
  ['keys in their order', '{"z":1,"a":2,"m":3,"B":4}'],
  ['integers beyond a double', '{"n":12345678901234567890,"m":-9007199254740993}'],
  ['decimals with their zeros', '{"n":1.0,"m":1.50,"e":1e3,"z":-0,"t":0.1000000000000000055511151231257827}'],
  ['numbers in deep places', '{"a":[1.0,{"b":12345678901234567890}]}'],
  ['the key __proto__', '{"__proto__":{"admin":true}}'],
  ['keys of built-in members', '{"constructor":1,"toString":2,"hasOwnProperty":3,"__defineGetter__":4}'],
  ['nested keys of built-in members', '{"a":{"__proto__":{"b":1},"constructor":{"prototype":2}}}'],
  ['the empty key and keys with dots', '{"":1,"a.b":2,".":3,"$":4,"a b":5}'],
  ['keys that look like columns', '{"data":1,"parent":2,"kind":3,"deleted":false,"lastModified":4}'],
  ['quotes, backslashes and line feeds', '{"a":"\\"\\\\\\n\\r\\t\\b\\f","b":"\'; --","c":"%_*?[x]"}'],
  ['text of many scripts', '{"a":"žluťoučký","b":"日本語","c":"العربية","d":"🍓👩‍👩‍👧","e":"\\u200b\\ufeff"}'],
  ['combined and single accents as different texts', '{"a":"é","b":"e\u0301"}'],
  ['control characters', '{"a":"\\u0001\\u001f\u007f"}'],
  ['text that looks like other types', '{"a":"null","b":"1","c":"true","d":"{}","e":"2020-01-01T00:00:00Z"}'],
];

const oddIds: readonly (readonly [string, string])[] = [
  ['of one letter', 'a'],
  ['of 512 characters', 'x'.repeat(512)],
  ['called __proto__', '__proto__'],
  ['called constructor', 'constructor'],
  ['with wildcards', 'a_b%c*d?e'],
  ['with quotes', `a"b'c\`d\\e`],
  ['with separators', 'a/b.c:d e,f'],
  ['of other scripts', 'žluť-日本-🍓'],
];

const odds: readonly StorageCase[] = [
  ...oddAttributes.map(([what, text]) =>
    storageCase(`attributes keep ${what}`, async (probe) => {
      const attributes = parseJson(text) as JsonObject;
      const created = await probe.unit((writer) => writer.create(records, 'x', text));
      const found = await probe.get('x');
      const listed = (await probe.page()).entries[0];
      assert.equal(created.text, text);
      assert.equal(found!.text, text);
      assert.deepEqual(found!.attributes, attributes);
      assert.ok(listed !== undefined && !isTombstone(listed) && listed.text === text);
    }),
  ),
  ...oddIds.map(([what, id]) =>
    storageCase(`an id ${what} works like any other`, async (probe) => {
      await probe.seed({ a1: {}, axbyc: {} });
      await probe.create(id, { n: 1 });
      assert.equal((await probe.get(id))!.id, id);
      assert.deepEqual(await probe.ids({ ids: [id] }), [id]);
      assert.deepEqual(await probe.ids({ filters: [compare('id', 'eq', id)] }), [id]);
      await probe.update(id, { n: 2 });
      assert.deepEqual(await probe.attributes(id), { n: 2 });
      await probe.delete(id);
      assert.equal(await probe.get(id), undefined);
      assert.deepEqual(await probe.everything(), ['a1', 'axbyc', `†${id}`]);
    }),
  ),
  storageCase('ids are compared byte for byte', async (probe) => {
    await probe.seed({ a: {}, A: {}, é: {}, 'e\u0301': {}, 'a ': {} });
    assert.equal(await probe.count(), 5);
    assert.deepEqual(await probe.ids({ ids: ['A'] }), ['A']);
    assert.deepEqual(await probe.ids({ sort: [ascending('id')] }), ['A', 'a', 'a ', 'e\u0301', 'é']);
  }),
  storageCase('a list named like built-in members works like any other', async (probe) => {
    const list = probe.at({ kind: '__proto__', parent: 'constructor' });
    assert.equal(await list.timestamp(), undefined);
    await list.create('toString', { n: 1 });
    assert.deepEqual(await list.everything(), ['toString']);
    assert.deepEqual(await probe.reader.listParents('__proto__'), ['constructor']);
  }),
  storageCase('a large object is read back whole', async (probe) => {
    const attributes = { lines: Array.from({ length: 20_000 }, (_, n) => `line ${n} ü`) };
    await probe.create('x', attributes);
    assert.deepEqual(await probe.attributes('x'), attributes);
  }),
  storageCase('exact numbers are read back as exact numbers', async (probe) => {
    await probe.create('x', { n: new ExactNumber('1.0') });
    assert.deepEqual(await probe.attributes('x'), { n: new ExactNumber('1.0') });
  }),
];

/** Single objects, their tombstones and their contents. */
export const objectCases: readonly StorageCase[] = [...singles, ...deletions, ...locks, ...deferredTexts, ...odds];
