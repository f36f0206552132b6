// Cases about the objects that a list selects: every operator on values of every type and on missing fields, special
// fields, tombstones, restriction to ids, and counts that agree with the lists.
import assert from 'node:assert/strict';
import { ExactNumber, type JsonObject, type JsonValue } from '../../../base/json.ts';
import type { Filter, Selection } from '../../../core/query/ast.ts';
import type { StorageCase } from '../contract-case.ts';
import {
  ascending,
  compare,
  contains,
  containsAny,
  has,
  like,
  noneOf,
  oneOf,
  storageCase,
  type StorageProbe,
} from './storage-probe.ts';

export type Objects = Readonly<Record<string, JsonObject>>;
type Row = readonly [name: string, filters: Filter | readonly Filter[], expected: string];

/** Checks list and count, also with other selections that give the same result. */
async function requireSelected(probe: StorageProbe, selection: Selection, expected: readonly string[]): Promise<void> {
  const oldestFirst = [ascending('last_modified')];
  assert.deepEqual(await probe.ids({ ...selection, sort: oldestFirst }), expected);
  assert.equal(await probe.count(selection), expected.length);
  assert.deepEqual((await probe.ids({ ...selection, sort: [ascending('id')] })).toSorted(), expected.toSorted());
}

export function table(objects: Objects, rows: readonly Row[]): readonly StorageCase[] {
  return rows.map(([name, filters, expected]) =>
    storageCase(name, async (probe) => {
      await probe.seed(objects);
      const list = Array.isArray(filters) ? (filters as readonly Filter[]) : [filters as Filter];
      await requireSelected(probe, { filters: list }, expected === '' ? [] : expected.split(' '));
    }),
  );
}

const mixed: Objects = {
  one: { n: 1 },
  two: { n: 2 },
  ten: { n: 10 },
  text: { n: '2' },
  null: { n: null },
  none: {},
  half: { n: 1.5 },
  list: { n: [1] },
  map: { n: { a: 1 } },
  yes: { n: true },
  no: { n: false },
};

const all = 'one two ten text null none half list map yes no';

const comparisons = table(mixed, [
  ['equality with a number matches that number alone', compare('n', 'eq', 1), 'one'],
  ['equality with 1.0 matches 1', compare('n', 'eq', new ExactNumber('1.0')), 'one'],
  ['equality with a text does not match a number', compare('n', 'eq', '2'), 'text'],
  ['equality with null matches null and no missing field', compare('n', 'eq', null), 'null'],
  ['equality with true matches true and not 1', compare('n', 'eq', true), 'yes'],
  ['equality with false matches false and not 0, null or nothing', compare('n', 'eq', false), 'no'],
  ['equality with an array compares the whole array', compare('n', 'eq', [1]), 'list'],
  ['equality with a longer array does not match', compare('n', 'eq', [1, 2]), ''],
  ['equality with an object compares the whole object', compare('n', 'eq', { a: 1 }), 'map'],
  ['equality with part of an object does not match', compare('n', 'eq', {}), ''],
  [
    'inequality matches everything else and missing fields',
    compare('n', 'not', 1),
    'two ten text null none half list map yes no',
  ],
  [
    'inequality with null matches missing fields',
    compare('n', 'not', null),
    'one two ten text none half list map yes no',
  ],
  ['at least a number matches larger types and missing fields', compare('n', 'min', 2), 'two ten none list map yes no'],
  ['at most a number matches texts and null', compare('n', 'max', 2), 'one two text null half'],
  ['less than a number matches texts and null', compare('n', 'lt', 2), 'one text null half'],
  [
    'greater than a number matches larger types and missing fields',
    compare('n', 'gt', 1),
    'two ten none half list map yes no',
  ],
  ['greater than null matches all but null', compare('n', 'gt', null), 'one two ten text none half list map yes no'],
  ['at least null matches everything', compare('n', 'min', null), all],
  ['less than null matches nothing', compare('n', 'lt', null), ''],
  ['at most null matches null', compare('n', 'max', null), 'null'],
  ['greater than a text matches all numbers', compare('n', 'gt', 'z'), 'one two ten none half list map yes no'],
  ['less than a text matches smaller texts and null', compare('n', 'lt', '3'), 'text null'],
  ['greater than false matches true and larger types', compare('n', 'gt', false), 'none list map yes'],
  ['at most false matches false and all smaller types', compare('n', 'max', false), 'one two ten text null half no'],
  ['at least true matches true and larger types', compare('n', 'min', true), 'none list map yes'],
  ['greater than an array matches objects and missing fields', compare('n', 'gt', [1]), 'none map'],
  ['at least an array matches it', compare('n', 'min', [1]), 'none list map'],
  ['less than an array matches all smaller types', compare('n', 'lt', [1]), 'one two ten text null half yes no'],
  ['an empty array is less than any other', compare('n', 'gt', []), 'none list map'],
  ['greater than an object matches missing fields', compare('n', 'gt', { a: 1 }), 'none'],
  [
    'less than an object matches all smaller types',
    compare('n', 'lt', { a: 1 }),
    'one two ten text null half list yes no',
  ],
  [
    'an object with a smaller value is smaller',
    compare('n', 'lt', { a: 2 }),
    'one two ten text null half list map yes no',
  ],
  ['one of several numbers matches each', oneOf('n', 1, 2), 'one two'],
  ['one of values of several types matches each', oneOf('n', '2', 1, null, true), 'one text null yes'],
  ['one of arrays and objects compares them whole', oneOf('n', [1], { a: 1 }), 'list map'],
  ['one of no values matches nothing', oneOf('n'), ''],
  [
    'none of several numbers matches the others and missing fields',
    noneOf('n', 1, 2),
    'ten text null none half list map yes no',
  ],
  ['none of null matches missing fields', noneOf('n', null), 'one two ten text none half list map yes no'],
  ['none of no values matches everything', noneOf('n'), all],
  ['a field is present when it is null', has('n', true), 'one two ten text null half list map yes no'],
  ['a field is absent only when it is missing', has('n', false), 'none'],
  ['an unknown field is missing everywhere', [compare('x', 'gt', 1), compare('x', 'not', 1), noneOf('x', 1)], all],
  ['an unknown field equals nothing', compare('x', 'eq', null), ''],
  ['an unknown field is less than nothing', compare('x', 'lt', 1), ''],
  ['an unknown field is at most nothing', compare('x', 'max', { a: 1 }), ''],
  ['an unknown field is one of nothing', oneOf('x', 1, null), ''],
  ['no filter matches everything', [], all],
  ['several filters must all match', [compare('n', 'gt', 1), compare('n', 'lt', 10)], 'two half'],
  ['contradictory filters match nothing', [compare('n', 'eq', 1), compare('n', 'eq', 2)], ''],
  ['one filter may be given twice', [compare('n', 'eq', 1), compare('n', 'eq', 1)], 'one'],
]);

const numbers: Objects = {
  small: { n: new ExactNumber('12345678901234567889') },
  large: { n: new ExactNumber('12345678901234567890') },
  one: { n: new ExactNumber('1.0') },
  thousand: { n: new ExactNumber('1e3') },
  tenth: { n: 0.1 },
  minus: { n: -5 },
  zero: { n: new ExactNumber('-0') },
};

const exactNumbers = table(numbers, [
  [
    'a number beyond a double equals itself alone',
    compare('n', 'eq', new ExactNumber('12345678901234567890')),
    'large',
  ],
  [
    'numbers beyond a double compare by all digits',
    compare('n', 'gt', new ExactNumber('12345678901234567889')),
    'large',
  ],
  ['1 equals a stored 1.0', compare('n', 'eq', 1), 'one'],
  ['1000 equals a stored 1e3', oneOf('n', 1000), 'thousand'],
  ['0 equals a stored -0', compare('n', 'eq', 0), 'zero'],
  ['0.10 equals a stored 0.1', compare('n', 'eq', new ExactNumber('0.10')), 'tenth'],
  ['negative numbers are less than zero', compare('n', 'lt', 0), 'minus'],
  ['exact numbers and others compare with each other', compare('n', 'min', 1), 'small large one thousand'],
]);

const texts: Objects = {
  apple: { s: 'Apple' },
  applet: { s: 'an applet' },
  pine: { s: 'PINEAPPLE' },
  percent: { s: '100% a_b' },
  axb: { s: '100 axb' },
  back: { s: 'back\\slash' },
  digits: { s: '10' },
  umlaut: { s: 'ÄPFEL und Éclairs' },
  sigma: { s: 'ΟΔΥΣΣΕΥΣ' },
  // Younger than the Unicode of some databases.
  capital: { s: 'ᲐᲑᲒ' },
  small: { s: 'აბგ' },
  empty: { s: '' },
  number: { s: 1024 },
  tags: { s: ['apple', 'pear'] },
  truth: { s: true },
  nothing: { s: null },
  missing: {},
};

const patterns = table(texts, [
  ['text is found anywhere and in any case', like('s', '*APP*'), 'apple applet pine tags'],
  ['text at the start is found', like('s', 'app*'), 'apple'],
  ['text at the end is found', like('s', '*apple'), 'apple pine'],
  ['whole text is found', like('s', 'apple'), 'apple'],
  ['parts match in their order', like('s', '*p*e*'), 'apple applet pine umlaut tags'],
  ['parts do not overlap', like('s', 'app*ple'), ''],
  ['a part is not found twice in the same place', like('s', '*pple*pple*'), ''],
  ['a percent sign and an underscore stand for themselves', like('s', '*0% a_b'), 'percent'],
  ['an underscore is no wildcard', like('s', '*a_b*'), 'percent'],
  ['a backslash stands for itself', like('s', '*k\\s*'), 'back'],
  ['a question mark and brackets stand for themselves', like('s', '*[a]?*'), ''],
  ['letters beyond ASCII match in any case', like('s', '*äpfel*éCLAIRS'), 'umlaut'],
  ['a capital sigma in a word matches one at its end', like('s', 'ΟΔΥΣ*'), 'sigma'],
  ['all forms of a sigma match', like('s', '*σΣευς'), 'sigma'],
  ['new capitals match their small letters', like('s', 'ᲐᲑ*'), 'capital small'],
  ['other types match by their JSON text', like('s', '*24*'), 'number'],
  ['arrays match by their JSON text', like('s', '*e","p*'), 'tags'],
  ['true matches by its JSON text', like('s', 'tru*'), 'truth'],
  ['digits in texts and numbers are found', like('s', '10*'), 'percent axb digits number'],
  [
    'a lone star matches everything but null and nothing',
    like('s', '*'),
    'apple applet pine percent axb back digits umlaut sigma capital small empty number tags truth',
  ],
  ['text equality is case-sensitive', compare('s', 'eq', 'apple'), ''],
  ['text equality compares the whole text', compare('s', 'eq', 'Apple'), 'apple'],
]);

const arrays: Objects = {
  ab: { tags: ['a', 'b'] },
  b: { tags: ['b'] },
  twice: { tags: ['c', 'c'] },
  nested: { tags: [['a'], { x: 1, y: 2 }, null, 1, true] },
  exact: { tags: [new ExactNumber('2.0')] },
  empty: { tags: [] },
  text: { tags: 'a' },
  map: { tags: { a: 1 } },
  null: { tags: null },
  missing: {},
};

const containment = table(arrays, [
  ['an array contains a value', contains('tags', 'a'), 'ab'],
  ['an array contains all values, in any order', contains('tags', 'b', 'a'), 'ab'],
  ['a value given twice is contained once', contains('tags', 'b', 'b'), 'ab b'],
  ['an array contains no part of a text', contains('tags', ''), ''],
  ['every array contains no values at all', contains('tags'), 'ab b twice nested exact empty'],
  ['an array contains null', contains('tags', null), 'nested'],
  ['an array contains a number and not its text', contains('tags', 1), 'nested'],
  ['an array contains no text of its number', contains('tags', '1'), ''],
  ['an array contains true and not 1', contains('tags', true), 'nested'],
  ['an array contains 2 when it holds 2.0', contains('tags', 2), 'exact'],
  ['an array contains an object that has more keys', contains('tags', { x: 1 }), 'nested'],
  ['an array does not contain an object with another value', contains('tags', { x: 2 }), ''],
  ['an array contains an array', contains('tags', ['a']), 'nested'],
  ['an array contains any of the values', containsAny('tags', 'a', 'b', 'z'), 'ab b'],
  ['an array contains any object that has more keys', containsAny('tags', { y: 2 }, 'c'), 'twice nested'],
  ['no array contains any of no values', containsAny('tags'), ''],
  ['texts, objects and null contain nothing', containsAny('tags', 'a'), 'ab'],
  ['an unknown field contains nothing', contains('x', 1), ''],
]);

const fields: Objects = {
  deep: { a: { b: { c: 1 } } },
  literal: { 'a.b.c': 1 },
  list: { a: [{ b: { c: 1 } }] },
  shallow: { a: { b: 1 } },
  text: { a: 'b' },
  null: { a: null },
  proto: { a: JSON.parse('{"__proto__":{"c":1}}') as JsonObject },
  odd: { 'x-y': 1, 'q\'"': 2, $: 3 },
};

const nested = table(fields, [
  ['dots descend into objects', compare('a.b.c', 'eq', 1), 'deep'],
  ['dots do not name a key with dots', compare('a.b.c', 'min', 1), 'deep literal list shallow text null proto odd'],
  ['arrays are not descended into', has('a.b', true), 'deep shallow'],
  ['fields below a text or null are missing', has('a.b', false), 'literal list text null proto odd'],
  ['an object is compared whole', compare('a.b', 'eq', { c: 1 }), 'deep'],
  ['the key __proto__ is a key like any other', compare('a.__proto__.c', 'eq', 1), 'proto'],
  ['built-in members are missing', has('constructor', true), ''],
  ['nested built-in members are missing', has('a.toString', true), ''],
  ['a field name may hold a dash', compare('x-y', 'eq', 1), 'odd'],
  ['a field name may hold quotes', compare('q\'"', 'eq', 2), 'odd'],
  ['a field name may be a dollar sign', compare('$', 'eq', 3), 'odd'],
  ['a field below the id is missing', has('id.x', false), 'deep literal list shallow text null proto odd'],
]);

/** Four objects a, b, c, d at the times 100 to 400, of which b is deleted at 500. */
async function seedTimes(probe: StorageProbe): Promise<void> {
  const times = { a: 100, b: 200, c: 300, d: 400 };
  for (const [id, time] of Object.entries(times)) await probe.create(id, { n: time }, time);
  await probe.delete('b', { lastModified: 500 });
}

type TimeRow = readonly [name: string, filters: readonly Filter[], live: string, withTombstones: string];
const timed = (operator: Parameters<typeof compare>[1], value: JsonValue): Filter =>
  compare('last_modified', operator, value);

const times: readonly TimeRow[] = [
  ['after a time', [timed('gt', 300)], 'd', 'd †b'],
  ['after the last time', [timed('gt', 500)], '', ''],
  ['from a time on', [timed('min', 300)], 'c d', 'c d †b'],
  ['before a time', [timed('lt', 300)], 'a', 'a'],
  ['up to a time', [timed('max', 300)], 'a c', 'a c'],
  ['at a time', [timed('eq', 300)], 'c', 'c'],
  ['at a time that no object has', [timed('eq', 301)], '', ''],
  ['at the time of a tombstone', [timed('eq', 500)], '', '†b'],
  ['at any but one time', [timed('not', 300)], 'a d', 'a d †b'],
  ['between two times', [timed('gt', 100), timed('lt', 500)], 'c d', 'c d'],
  ['between times that exclude each other', [timed('gt', 300), timed('lt', 200)], '', ''],
  ['between times with a fraction', [timed('gt', 299.5), timed('max', 400.5)], 'c d', 'c d'],
  ['at one of several times', [oneOf('last_modified', 100, 500, 7)], 'a', 'a †b'],
  ['at none of several times', [noneOf('last_modified', 100, 500)], 'c d', 'c d'],
  ['after a time and with another filter', [timed('gt', 100), compare('n', 'lt', 400)], 'c', 'c'],
  ['compared with a text', [timed('gt', 'z')], 'a c d', 'a c d †b'],
  ['compared with null', [timed('eq', null)], '', ''],
  ['compared with true', [timed('lt', true)], 'a c d', 'a c d †b'],
  ['compared with an exact number', [timed('min', new ExactNumber('3e2'))], 'c d', 'c d †b'],
  ['with the mark of deletion', [compare('deleted', 'eq', true)], '', '†b'],
  ['without the mark of deletion', [compare('deleted', 'not', true)], 'a c d', 'a c d'],
  ['where the mark of deletion is present', [has('deleted', true)], '', '†b'],
  ['where a field is above a number or missing, as in tombstones', [compare('n', 'gt', 100)], 'c d', 'c d †b'],
  ['where a field is below a number', [compare('n', 'lt', 400)], 'a c', 'a c'],
  ['where a field differs', [compare('n', 'not', 100)], 'c d', 'c d †b'],
  ['where a field is absent', [has('n', false)], '', '†b'],
  ['with an id', [compare('id', 'eq', 'c')], 'c', 'c'],
  ['with the id of a tombstone', [compare('id', 'eq', 'b')], '', '†b'],
  ['with one of several ids', [oneOf('id', 'a', 'b', 'z')], 'a', 'a †b'],
  ['with none of several ids', [noneOf('id', 'a', 'b')], 'c d', 'c d'],
  ['with an id after another', [compare('id', 'gt', 'a')], 'c d', 'c d †b'],
  ['with an id up to another', [compare('id', 'max', 'c')], 'a c', 'a c †b'],
  ['with another id', [compare('id', 'not', 'b')], 'a c d', 'a c d'],
  ['with an id like a text', [like('id', '*B*')], '', '†b'],
  ['with an id that is a number', [compare('id', 'eq', 1)], '', ''],
  ['with ids below any number', [compare('id', 'lt', 1)], 'a c d', 'a c d †b'],
];

const timeCases = times.flatMap(([name, filters, live, withTombstones]) => [
  storageCase(`live objects ${name} are selected`, async (probe) => {
    await seedTimes(probe);
    await requireSelected(probe, { filters }, live === '' ? [] : live.split(' '));
  }),
  storageCase(`objects and tombstones ${name} are selected`, async (probe) => {
    await seedTimes(probe);
    const expected = withTombstones === '' ? [] : withTombstones.split(' ');
    await requireSelected(probe, { filters, includeDeleted: true }, expected);
  }),
]);

const restrictions: readonly StorageCase[] = [
  ...(
    [
      ['some ids', { ids: ['d', 'a'] }, 'a d'],
      ['ids given twice', { ids: ['a', 'a'] }, 'a'],
      ['unknown ids', { ids: ['z', 'c'] }, 'c'],
      ['no ids at all', { ids: [] }, ''],
      ['the id of a tombstone', { ids: ['b', 'c'] }, 'c'],
      ['the id of a tombstone with tombstones', { ids: ['b', 'c'], includeDeleted: true }, 'c †b'],
      ['ids and a filter', { ids: ['a', 'c'], filters: [compare('n', 'gt', 100)] }, 'c'],
      ['ids and a filter on ids', { ids: ['a', 'c'], filters: [oneOf('id', 'c', 'd')] }, 'c'],
      ['ids and a time', { ids: ['a', 'c'], filters: [timed('gt', 100)] }, 'c'],
      ['ids and a time they reach', { ids: ['a', 'c'], filters: [timed('min', 300), timed('max', 300)] }, 'c'],
      ['ids that are empty texts', { ids: [''] }, ''],
    ] as readonly (readonly [string, Partial<Selection>, string])[]
  ).map(([name, selection, expected]) =>
    storageCase(`a restriction to ${name} is applied`, async (probe) => {
      await seedTimes(probe);
      await requireSelected(probe, { filters: [], ...selection }, expected === '' ? [] : expected.split(' '));
    }),
  ),
  storageCase('a restriction to many ids is applied', async (probe) => {
    await seedTimes(probe);
    const ids = Array.from({ length: 5000 }, (_, n) => `unknown${n}`);
    await requireSelected(probe, { filters: [], ids: [...ids, 'c'] }, ['c']);
  }),
  storageCase('counts without filters follow every kind of write', async (probe) => {
    await probe.seed({ a: {}, b: {}, c: {} });
    await probe.update('a', { n: 1 });
    await probe.update('d');
    await probe.delete('b');
    await probe.delete('c', { keepTombstone: false });
    assert.equal(await probe.count(), 2);
    assert.equal(await probe.count({ includeDeleted: true }), 3);
    await probe.create('b');
    assert.equal(await probe.count(), 3);
    await probe.trim(1);
    assert.equal(await probe.count(), 1);
    await probe.deleteAll();
    assert.equal(await probe.count(), 0);
    assert.equal(await probe.count({ includeDeleted: true }), 1);
  }),
  storageCase('the count of an empty list is 0', async (probe) => {
    assert.equal(await probe.count(), 0);
    assert.equal(await probe.count({ includeDeleted: true, filters: [compare('n', 'eq', 1)] }), 0);
  }),
  storageCase('an attribute called deleted of a live object is an ordinary attribute', async (probe) => {
    await probe.seed({ marked: { deleted: false }, other: {} });
    assert.deepEqual(await probe.ids({ filters: [compare('deleted', 'eq', false)] }), ['marked']);
    assert.deepEqual(await probe.ids({ filters: [has('deleted', false)] }), ['other']);
  }),
];

/** Selections of objects. */
export const filterCases: readonly StorageCase[] = [
  ...comparisons,
  ...exactNumbers,
  ...patterns,
  ...containment,
  ...nested,
  ...timeCases,
  ...restrictions,
];
