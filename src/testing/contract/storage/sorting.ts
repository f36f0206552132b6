// Cases about the order and the pages of a list: values of every type, missing ones, several keys, nested keys. Pages
// contain each entry once in every order.
import assert from 'node:assert/strict';
import { ExactNumber, type JsonObject } from '../../../base/json.ts';
import type { PagePosition, PageQuery, SortKey } from '../../../core/query/ast.ts';
import { positionOf } from '../../../core/query/sort.ts';
import type { StorageCase } from '../contract-case.ts';
import { ascending, compare, descending, marks, sortKeys, storageCase, type StorageProbe } from './storage-probe.ts';

type Objects = Readonly<Record<string, JsonObject>>;
type Row = readonly [name: string, objects: Objects, sort: string, expected: string];

/** More entries than any case stores: pages that never end stop here. */
const maxEntries = 1000;

/** Returns the ids of all pages, each continued after the last entry of the previous one. */
async function walkPages(
  probe: StorageProbe,
  query: Partial<PageQuery> & { sort: readonly SortKey[] },
): Promise<string[]> {
  const seen: string[] = [];
  let after: PagePosition | undefined;
  for (;;) {
    const page = await probe.page({ ...query, after });
    seen.push(...marks(page.entries));
    assert.ok(seen.length <= maxEntries, 'the pages show more than there is');
    assert.ok(page.entries.length <= query.limit!, 'a page holds more than its limit');
    if (!page.more) return seen;
    assert.equal(page.entries.length, query.limit, 'a page that is not the last is not full');
    after = positionOf(page.entries.at(-1)!, query.sort);
  }
}

const types: Objects = {
  missing: {},
  map: { n: { a: 1 } },
  list: { n: [1] },
  yes: { n: true },
  no: { n: false },
  ten: { n: 10 },
  two: { n: 2 },
  half: { n: 1.5 },
  text: { n: '2' },
  null: { n: null },
};

const texts: Objects = {
  emoji: { s: '\u{1F353}' },
  wide: { s: '\u{FF5E}' },
  umlaut: { s: 'ä' },
  lower: { s: 'a' },
  longer: { s: 'aa' },
  upper: { s: 'Z' },
  digit: { s: '10' },
  empty: { s: '' },
};

const numbers: Objects = {
  huge: { n: new ExactNumber('1e30') },
  large: { n: new ExactNumber('12345678901234567890') },
  lessLarge: { n: new ExactNumber('12345678901234567889') },
  ten: { n: 10 },
  nine: { n: new ExactNumber('9.50') },
  zero: { n: 0 },
  minus: { n: -1 },
  veryMinus: { n: new ExactNumber('-12345678901234567890') },
};

const arrays: Objects = {
  nested: { a: [[1]] },
  pair: { a: [0, 0] },
  text: { a: ['x'] },
  two: { a: [2] },
  one: { a: [1] },
  null: { a: [null] },
  empty: { a: [] },
};

const maps: Objects = {
  twoKeys: { o: { a: 0, b: 0 } },
  longKey: { o: { aa: 0 } },
  otherKey: { o: { b: 0 } },
  larger: { o: { a: 2 } },
  smaller: { o: { a: 1 } },
  empty: { o: {} },
};

const people: Objects = {
  ann: { name: 'Ann', age: 30, home: { city: 'Oslo' } },
  bob: { name: 'Bob', age: 20, home: { city: 'Rome' } },
  cyd: { name: 'Cyd', age: 30, home: { city: 'Bern' } },
  dan: { name: 'Dan', age: 20, home: 'Rome' },
  eve: { name: 'Eve' },
};

const odd: Objects = {
  c: JSON.parse('{"__proto__":3,"x-y":1,"q\'\\"":2}') as JsonObject,
  b: JSON.parse('{"__proto__":2,"x-y":2,"q\'\\"":3}') as JsonObject,
  a: JSON.parse('{"__proto__":1,"x-y":3,"q\'\\"":1}') as JsonObject,
};

/** Values that differ only at their ends, in objects of which some are so large that they are read in steps. */
const same = 'x'.repeat(1200);
const padding = 'p'.repeat(70_000);
const long: Objects = {
  short: { n: 'x' },
  missing: { padding },
  number: { n: 1, padding },
  lower: { n: `${same}a` },
  large: { n: `${same}b`, padding },
  wide: { n: `${same}\u{FF5E}` },
  emoji: { n: `${same}\u{1F353}`, padding },
  list: { n: listEnding(1) },
  otherList: { n: listEnding(2), padding },
  map: { n: mapEnding(1) },
  otherMap: { n: mapEnding(2) },
  longerMap: { n: { ...mapEnding(0), a: 0 } },
};

function listEnding(last: number): number[] {
  return [...Array.from({ length: 500 }, () => 0), last];
}

function mapEnding(last: number): JsonObject {
  return Object.fromEntries(Array.from({ length: 150 }, (_, number) => [`key${number}`, number < 149 ? 0 : last]));
}

const rows: readonly Row[] = [
  [
    'long values differ at their ends',
    long,
    'n',
    'short lower large wide emoji number list otherList map otherMap longerMap missing',
  ],
  [
    'long values come in descending order',
    long,
    '-n',
    'missing longerMap otherMap map otherList list number emoji wide large lower short',
  ],
  ['the default order is newest first', people, '-last_modified', 'eve dan cyd bob ann'],
  ['the oldest come first in ascending order', people, 'last_modified', 'ann bob cyd dan eve'],
  ['lists are sorted by id', people, 'id', 'ann bob cyd dan eve'],
  ['lists are sorted by id in descending order', people, '-id', 'eve dan cyd bob ann'],
  ['types have an order, and missing values come last', types, 'n', 'null text half two ten no yes list map missing'],
  ['missing values come first in descending order', types, '-n', 'missing map list yes no ten two half text null'],
  ['texts are ordered by code point', texts, 's', 'empty digit upper lower longer umlaut wide emoji'],
  ['texts are ordered by code point backwards', texts, '-s', 'emoji wide umlaut longer lower upper digit empty'],
  ['numbers are ordered exactly', numbers, 'n', 'veryMinus minus zero nine ten lessLarge large huge'],
  ['shorter arrays come first, then elements decide', arrays, 'a', 'empty null text one two nested pair'],
  [
    'objects with fewer keys come first, then keys and values decide',
    maps,
    'o',
    'empty smaller larger longKey otherKey twoKeys',
  ],
  ['a second key decides among equals', people, 'age,name', 'bob dan ann cyd eve'],
  ['each key has its direction', people, 'age,-name', 'dan bob cyd ann eve'],
  ['the first key may descend and the second ascend', people, '-age,name', 'eve ann cyd bob dan'],
  ['among equals the newest come first', people, 'age', 'dan bob cyd ann eve'],
  ['keys may lie in objects', people, 'home.city,name', 'cyd ann bob dan eve'],
  ['keys may lie in objects and descend', people, '-home.city,-name', 'eve dan bob ann cyd'],
  ['an unknown key has no effect before the default key', people, 'x', 'eve dan cyd bob ann'],
  ['an unknown key has no effect before the id', people, 'x,id', 'ann bob cyd dan eve'],
  ['a key after the timestamp has no effect', people, 'last_modified,name', 'ann bob cyd dan eve'],
  ['a repeated key has no effect', people, 'name,-name', 'ann bob cyd dan eve'],
  ['the key __proto__ works like any other', odd, '__proto__', 'a b c'],
  ['a key may hold a dash', odd, 'x-y', 'c b a'],
  ['a key may hold quotes', odd, `q'"`, 'a c b'],
  ['built-in members are missing values', odd, 'constructor,id', 'a b c'],
];

const orders = rows.flatMap(([name, objects, sort, expected]) => [
  storageCase(`${name} (by ${sort})`, async (probe) => {
    await probe.seed(objects);
    assert.deepEqual(await probe.ids({ sort: sortKeys(sort) }), expected.split(' '));
  }),
  storageCase(`pages show each object once where ${name} (by ${sort})`, async (probe) => {
    await probe.seed(objects);
    for (const limit of [1, 2, 3]) {
      assert.deepEqual(await walkPages(probe, { sort: sortKeys(sort), limit }), expected.split(' '));
    }
  }),
]);

function withoutMark(mark: string): string {
  return mark.replace('†', '');
}

async function seedDeleted(probe: StorageProbe): Promise<void> {
  await probe.seed({ a: { n: 1 }, b: { n: 2 }, c: {}, d: { n: 2 }, e: { n: 1 }, f: {} });
  for (const id of ['b', 'e', 'c']) await probe.delete(id);
}

const pages: readonly StorageCase[] = [
  ...(
    [
      ['last_modified', 'a d f †b †e †c'],
      ['-last_modified', '†c †e †b f d a'],
      ['id', 'a †b †c d †e f'],
      ['-n', '†c †e †b f d a'],
      ['n', 'a d †c †e †b f'],
      ['deleted', '†c †e †b f d a'],
    ] as const
  ).map(([sort, expected]) =>
    storageCase(`pages mix tombstones in by ${sort}`, async (probe) => {
      await seedDeleted(probe);
      for (const limit of [1, 2, 5, 6]) {
        const found = await walkPages(probe, { sort: sortKeys(sort), limit, includeDeleted: true });
        assert.deepEqual(found, expected.split(' '));
      }
    }),
  ),
  storageCase('tombstones are included only on request', async (probe) => {
    await seedDeleted(probe);
    assert.deepEqual(await probe.ids(), ['f', 'd', 'a']);
    assert.deepEqual(await probe.ids({ includeDeleted: false }), ['f', 'd', 'a']);
  }),
  storageCase('a list of exactly one page has no further one', async (probe) => {
    await probe.seed({ a: {}, b: {} });
    const { entries, more } = await probe.page({ limit: 2 });
    assert.deepEqual([marks(entries), more], [['b', 'a'], false]);
  }),
  storageCase('a list longer than a page has a further one', async (probe) => {
    await probe.seed({ a: {}, b: {}, c: {} });
    const { entries, more } = await probe.page({ limit: 2 });
    assert.deepEqual([marks(entries), more], [['c', 'b'], true]);
  }),
  storageCase('an empty list has one empty page', async (probe) => {
    const { entries, more } = await probe.page({ limit: 1 });
    assert.deepEqual([marks(entries), more], [[], false]);
  }),
  storageCase('a page has the clock of its list', async (probe) => {
    await probe.seed({ a: {}, b: {} });
    await probe.delete('b', { keepTombstone: false });
    assert.equal((await probe.page({ limit: 1 })).timestamp, probe.now + 2);
  }),
  storageCase('filters apply to every page', async (probe) => {
    await probe.seed(types);
    const filters = [compare('n', 'gt', 2)];
    for (const sort of ['n', '-n', 'last_modified', 'id']) {
      const whole = await probe.ids({ filters, sort: sortKeys(sort) });
      assert.equal(whole.length, 6);
      assert.deepEqual(await walkPages(probe, { filters, sort: sortKeys(sort), limit: 2 }), whole);
    }
  }),
  storageCase('bounds on ids apply to every page in the order of ids, with tombstones and without', async (probe) => {
    await probe.seed({ ...types, '\u{1F600}': {}, '\uFFFD': {} });
    for (const id of ['text', '\uFFFD']) await probe.delete(id);
    const ends = ['', 'list', 'm', 'text', '\uFFFD', '\u{1F600}'];
    for (const includeDeleted of [false, true]) {
      const all = await probe.ids({ includeDeleted, sort: sortKeys('id') });
      for (const low of ends) {
        for (const [from, to] of [
          ['gt', 'lt'],
          ['min', 'max'],
        ] as const) {
          const filters = [compare('id', from, low), compare('id', to, '\u{1F600}'), compare('id', 'not', 'two')];
          const ranges = [filters.slice(0, 1), filters.slice(0, 2), filters];
          for (const some of ranges) {
            const whole = await probe.ids({ includeDeleted, filters: some });
            const expected = all.filter((id) => whole.includes(id));
            for (const [sort, ids] of [['id', expected] as const, ['-id', expected.toReversed()] as const]) {
              const query = { filters: some, includeDeleted, sort: sortKeys(sort), limit: 2 };
              assert.deepEqual((await walkPages(probe, query)).map(withoutMark), ids.map(withoutMark));
            }
          }
        }
      }
    }
  }),
  storageCase('a restriction to ids applies to every page', async (probe) => {
    await probe.seed(types);
    const ids = ['two', 'missing', 'list', 'unknown', 'null', 'yes'];
    for (const sort of ['n', '-n', 'last_modified', '-last_modified', 'id']) {
      const whole = await probe.ids({ ids, sort: sortKeys(sort) });
      assert.equal(whole.length, 5);
      assert.deepEqual(await walkPages(probe, { ids, sort: sortKeys(sort), limit: 2 }), whole);
    }
  }),
  storageCase('a page continues after an object that was deleted meanwhile', async (probe) => {
    await probe.seed(people);
    const sort = sortKeys('age,name');
    const first = await probe.page({ sort, limit: 2 });
    const after = positionOf(first.entries[1]!, sort);
    await probe.delete('dan');
    assert.deepEqual(await probe.ids({ sort, after }), ['ann', 'cyd', 'eve']);
  }),
  storageCase('a page continues after a position without an object', async (probe) => {
    await probe.seed(people);
    const continued = await probe.ids({ sort: [ascending('age'), descending('last_modified')], after: [25, 0] });
    assert.deepEqual(continued, ['cyd', 'ann', 'eve']);
  }),
  storageCase('a page continues after a value of another type', async (probe) => {
    await probe.seed(types);
    assert.deepEqual(await probe.ids({ sort: sortKeys('n'), after: [false, 0] }), ['yes', 'list', 'map', 'missing']);
    assert.deepEqual(await probe.ids({ sort: sortKeys('-n'), after: ['3', 0] }), ['text', 'null']);
  }),
  storageCase('a page continues after a missing value', async (probe) => {
    await probe.seed(people);
    const sort = sortKeys('-age,name');
    const [eve] = (await probe.page({ sort, limit: 1 })).entries;
    assert.deepEqual(positionOf(eve!, sort).slice(0, 2), [undefined, 'Eve']);
    assert.deepEqual(await probe.ids({ sort, after: positionOf(eve!, sort) }), ['ann', 'cyd', 'bob', 'dan']);
  }),
  storageCase('a page continues within equal values', async (probe) => {
    await probe.seed({ a: { n: 1 }, b: { n: 1 }, c: { n: 1 }, d: { n: 1 } });
    for (const sort of ['n', '-n', 'n,last_modified', 'n,id', '-n,-id']) {
      const whole = await probe.ids({ sort: sortKeys(sort) });
      assert.deepEqual(await walkPages(probe, { sort: sortKeys(sort), limit: 1 }), whole);
    }
  }),
  storageCase('a page beyond the end is empty', async (probe) => {
    await probe.seed({ a: {} });
    const { entries, more, timestamp } = await probe.page({ after: [0] });
    assert.deepEqual([marks(entries), more, timestamp], [[], false, probe.now]);
  }),
  storageCase('a position of the wrong type in the order by timestamp is compared by type', async (probe) => {
    await probe.seed({ a: {} });
    assert.deepEqual(await probe.ids({ sort: [ascending('last_modified')], after: ['text'] }), ['a']);
    assert.deepEqual(await probe.ids({ sort: [descending('last_modified')], after: ['text'] }), []);
    assert.deepEqual(await probe.ids({ sort: [ascending('last_modified')], after: [undefined] }), []);
    assert.deepEqual(await probe.ids({ sort: [descending('last_modified')], after: [undefined] }), ['a']);
  }),
  storageCase('a client that follows the clock receives every change in its order', async (probe) => {
    let since = 0;
    const seen: string[] = [];
    const poll = async (): Promise<void> => {
      const page = await probe.page({
        filters: [compare('last_modified', 'gt', since)],
        sort: [ascending('last_modified')],
        includeDeleted: true,
      });
      seen.push(...marks(page.entries));
      since = page.timestamp!;
    };
    await probe.seed({ a: {}, b: {} });
    await poll();
    await probe.update('a');
    await probe.delete('b');
    await poll();
    await poll();
    await probe.create('b');
    await poll();
    assert.deepEqual(seen, ['a', 'b', 'a', '†b', 'b']);
  }),
  storageCase('a list of many objects is paged to its end', async (probe) => {
    const names = Array.from({ length: 250 }, (_, n) => `r${String(n).padStart(3, '0')}`);
    await probe.seed(Object.fromEntries(names.map((name, n) => [name, { n: n % 7 }])));
    assert.deepEqual(await walkPages(probe, { sort: sortKeys('last_modified'), limit: 40 }), names);
    assert.deepEqual(await walkPages(probe, { sort: sortKeys('-id'), limit: 40 }), names.toReversed());
    const byValue = await walkPages(probe, { sort: sortKeys('n,id'), limit: 40 });
    assert.deepEqual(byValue.toSorted(), names);
    assert.deepEqual(byValue.slice(0, 2), ['r000', 'r007']);
  }),
];

/** The order of lists, and their pages. */
export const sortingCases: readonly StorageCase[] = [...orders, ...pages];
