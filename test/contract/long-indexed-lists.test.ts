// Lists with more objects than are looked up by an index: pages and counts are those of the evaluator, and the index is used
// where it helps. The short run reads two pages of each case, and ranges in the default order of pages only. The complete run
// reads up to 20 pages of each case, so most lists to their end, and ranges in both orders of their field as well.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/base/json.ts';
import { keysOf, parseIndexes } from '../../src/core/index/definition.ts';
import { QueryPlanReport } from '../../src/core/index/query-plan.ts';
import { formatAttributes, type ListKey, type StoredEntry } from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import type { Filter, ListIndex, SortKey } from '../../src/core/query/ast.ts';
import { matches } from '../../src/core/query/evaluate.ts';
import { defaultSelectorLimits, parseSelector } from '../../src/core/query/selector.ts';
import { parseField } from '../../src/core/query/fields.ts';
import { comparePositions, newestFirst, positionOf } from '../../src/core/query/sort.ts';
import type { TransactionContext } from '../../src/testing/index.ts';
import { inUnitOf } from '../../src/testing/contract/unit-of-work.ts';
import { inExtent } from '../support/extent.ts';
import { openAllBackends, type OpenBackends } from '../support/all-backends.ts';

const list: ListKey = { kind: 'record', parent: storedParent('/buckets/b/collections/long') };
const count = 1500;

/** Texts that do not fit into a key. Few begin differently, and each is the text of two objects. */
const longText = (n: number): string => `${'abc'[n % 3]!.repeat(1100)}${Math.floor(n / 2)}`;

/** Objects of status `a` match `hit` late in the order of `n`, and those of status `b` at once. */
function attributesOf(n: number): JsonObject {
  const status = n < 700 ? 'a' : n < 1400 ? 'b' : 'c';
  const hit = status === 'b' || n > 550;
  const t: JsonValue = n % 2 === 0 ? longText(n % 1400) : n % 50;
  // Too long for a page in one row.
  const long = n === 1450 ? { text: 'x'.repeat(9000) } : {};
  return { status, hit, n: (n * 7) % 13 === 0 ? -1 : n, m: n, t, word: `w${n % 40}`, ...long };
}

const indexes = parseIndexes([
  { fields: ['status', 'n'] },
  { fields: ['n'] },
  { fields: ['-m'] },
  { fields: ['t'] },
  { fields: ['-t', 'n'] },
  { fields: ['word'] },
])!;

let backends: OpenBackends;
const objects: StoredEntry[][] = [];
beforeAll(async () => {
  backends = await openAllBackends('long-indexed');
  for (const stores of backends.opened) {
    await inUnitOf(stores, async ({ storage: writer }) => {
      // Spread over the list, so that no order is that of the ids.
      const created = Array.from({ length: count }, (_, n) => (n * 641) % count).map((n) => {
        const attributes = attributesOf(n);
        return { id: `id${n}`, text: formatAttributes(attributes), keys: keysOf(indexes, attributes) };
      });
      await writer.createAll(list, created);
    });
    const { entries } = await stores.storage.reader.listAll(list, { filters: [], sort: newestFirst, limit: count });
    objects.push([...entries]);
  }
}, 300_000);
afterAll(() => backends.close());

function sortBy(text: string): readonly SortKey[] {
  return text.split(' ').map((name) => ({
    field: parseField(name.replace('-', '')),
    direction: name.startsWith('-') ? 'descending' : 'ascending',
  }));
}

function filtersOf(selector: JsonObject): readonly Filter[] {
  const filters = parseSelector(JSON.stringify(selector), { limits: defaultSelectorLimits });
  if ('location' in filters) throw new Error(filters.description);
  return filters;
}

interface Case {
  readonly selector: JsonObject;
  readonly sort?: string;
  readonly limit?: number;
  /** Maximum number of keys that are read for the first page, if an index is used. */
  readonly keys?: number;
  /** Text in the plan of the first page. */
  readonly plan?: string;
}

const numbers = (from: number, length: number): readonly number[] => Array.from({ length }, (_, n) => from + 2 * n);

/** Ranges with and without their ends, in both directions of the index and, in the complete run, of the page. */
const ranges: readonly Case[] = ['n', 'm'].flatMap((field) =>
  [{ $lte: 30 }, { $lt: 30 }, { $gte: 1480 }, { $gt: 1480 }, { $gte: 700, $lte: 730 }, { $gt: 700, $lt: 730 }].flatMap(
    (bounds) => [
      { selector: { [field]: bounds }, limit: 40, plan: `index=${field === 'n' ? 'n' : '-m'}` },
      ...inExtent([], [field, `-${field}`]).map((order) => ({
        selector: { [field]: bounds },
        sort: `${order} -last_modified`,
        limit: 20,
      })),
    ],
  ),
);

const cases: readonly Case[] = [
  ...ranges,
  // Objects with equal keys, many of them, in both orders, and over several pages.
  ...['n', '-n', 'm', '-m'].flatMap((order) =>
    ['last_modified', '-last_modified'].map((ties) => ({
      selector: {},
      sort: `${order} ${ties}`,
      limit: 30,
      keys: 62,
    })),
  ),
  { selector: { status: 'b' }, sort: '-n -last_modified', keys: 102, plan: 'order=index' },
  { selector: { status: 'b', n: { $lt: 900 } }, sort: 'n last_modified', limit: 25, plan: 'order=index' },
  { selector: { n: -1 }, sort: '-last_modified', limit: 30, keys: 31 },
  { selector: { n: -1 }, sort: 'last_modified', limit: 30, keys: 31 },
  { selector: { word: 'w3' }, limit: 2000 },
  // The first objects of status `b` match, but more of status `a` come before them.
  { selector: { status: { $in: ['a', 'b'] }, hit: true }, sort: 'n -last_modified', limit: 20 },
  { selector: { status: { $in: ['a', 'b'] }, hit: true }, sort: '-n last_modified', limit: 20 },
  { selector: { status: { $in: ['a', 'b', 'c'] }, hit: true }, sort: 'status n -last_modified', limit: 300 },
  {
    selector: { $or: [{ status: 'a' }, { status: 'b' }, { status: 'c', n: { $lt: 1450 } }], hit: true },
    sort: 'n -last_modified',
  },
  { selector: { n: -1, hit: true }, sort: '-last_modified', limit: 5 },
  { selector: { n: { $gte: -1 }, hit: true }, sort: 'n last_modified', limit: 40 },
  { selector: { status: { $in: ['a', 'c'] } }, sort: 'n -last_modified', keys: 102, plan: 'order=index' },
  // Many values.
  { selector: { n: { $in: numbers(0, 300) } }, keys: 300, plan: 'index=n' },
  { selector: { n: { $in: numbers(1, 300) } }, sort: 'n -last_modified', keys: 300, plan: 'index=n' },
  { selector: { n: { $in: numbers(0, 700) } }, plan: 'scan' },
  { selector: { status: { $in: ['a', 'b'] }, n: { $in: numbers(500, 150) } }, keys: 300, plan: 'index=status' },
  { selector: { n: { $in: [] } } },
  // Alternatives inside alternatives.
  {
    selector: { $or: [{ word: 'w1' }, { $or: [{ word: 'w2' }, { $and: [{ $or: [{ n: 7 }, { word: 'w3' }] }] }] }] },
    keys: 200,
    plan: 'index=word',
  },
  { selector: { $or: [{ word: 'w1' }, { $or: [{ word: 'w2' }, { hit: true }] }] }, plan: 'scan' },
  // More than a twentieth of the list: the reading of keys ends early.
  { selector: { status: 'a' }, sort: 't -last_modified', keys: 501, plan: 'scan' },
  // Texts that were cut off.
  { selector: { t: longText(600) }, keys: 4, plan: 'index=t' },
  { selector: { t: `${longText(600)}x` }, keys: 0, plan: 'index=t' },
  { selector: { t: { $in: [longText(3), longText(600), 7] } }, keys: 50, plan: 'index=t' },
  { selector: { t: longText(600), n: { $gt: 100 } }, keys: 8 },
  { selector: { t: { $gt: longText(600) } }, sort: 't -last_modified', limit: 40 },
  { selector: { t: { $lte: 'abc' } }, sort: 't -last_modified', limit: 300 },
  { selector: { t: { $lt: 'abc', $gt: 'aa' } }, plan: 'index=' },
  { selector: {}, sort: 't last_modified', limit: 200 },
  { selector: {}, sort: '-t -last_modified', limit: 200 },
  { selector: {}, sort: '-t n -last_modified', limit: 90 },
  { selector: {}, sort: 't -n last_modified', limit: 90 },
  { selector: { t: { $type: 'string' } }, sort: 't -n -last_modified', limit: 90 },
  // Fields of an index in directions that it does not have together.
  { selector: {}, sort: '-t -n -last_modified', limit: 90 },
  { selector: {}, sort: 'status -n -last_modified', limit: 90 },
];

type ReaderOf = TransactionContext['storage']['reader'];
const pages = inExtent(2, 20);

async function compareAnswers(reader: ReaderOf, all: readonly StoredEntry[], each: Case): Promise<void> {
  const { selector, sort: order = '-last_modified', limit = 50, keys, plan } = each;
  const filters = filtersOf(selector);
  const sort = sortBy(order);
  const expected = all
    .filter((entry) => matches(entry, filters))
    .toSorted((a, b) => comparePositions(positionOf(a, sort), positionOf(b, sort), sort));
  const name =
    JSON.stringify(selector)
      .replaceAll(/(\w)\1{20,}/g, '$1…')
      .slice(0, 200) + order;
  const total = await reader.countAll(list, { filters, indexes });
  expect([name, total]).toEqual([name, expected.length]);
  for (let start = 0; start < limit * pages && start <= expected.length; start += limit) {
    const last = expected[start - 1];
    const after = last && positionOf(last, sort);
    const report = new QueryPlanReport();
    const query = { filters, sort, limit, indexes, after };
    const page = expected.slice(start, start + limit).map(({ id }) => id);
    const wanted = [name, start, start + limit < expected.length, page];
    // A backend may read pages in another way without a report of the plan.
    for (const asked of [{ ...query, report }, query]) {
      const { entries, more } = await reader.listAll(list, asked);
      expect([name, start, more, entries.map(({ id }) => id)]).toEqual(wanted);
    }
    const shown = await reader.listText(list, query);
    const ids = (JSON.parse(`[${shown.text}]`) as { readonly id: string }[]).map(({ id }) => id);
    expect([name, start, shown.more, ids]).toEqual(wanted);
    expect(shown.last).toEqual(all.find(({ id }) => id === page.at(-1)));
    if (start > 0) continue;
    const text = report.format();
    if (plan !== undefined) expect([name, text]).toEqual([name, expect.stringContaining(plan)]);
    if (keys !== undefined) {
      const read = Number(/keys=(\d+)/.exec(text)?.[1]);
      expect([name, text, read <= keys]).toEqual([name, text, true]);
    }
  }
}

describe('declared indexes of long lists', () => {
  it('give the pages and counts of the evaluator, and read few keys', { timeout: 300_000 }, async () => {
    for (const each of cases) {
      for (const [number, { storage }] of backends.opened.entries()) {
        await compareAnswers(storage.reader, objects[number]!, each);
      }
    }
  });

  it('continue after positions that no object has', { timeout: 120_000 }, async () => {
    const times = [-1e300, -1, 0.5, 1e15 + 0.5, Number.MAX_SAFE_INTEGER, 2 ** 63, 1e300];
    for (const [order, value] of [
      ['n -last_modified', -1],
      ['-n -last_modified', 20.5],
      ['n last_modified', 1e300],
      ['-m last_modified', 'text'],
      ['t -last_modified', longText(600)],
    ] as const) {
      for (const time of times) {
        const query = { filters: [], sort: sortBy(order), limit: 7, after: [value, time] };
        for (const { storage } of backends.opened) {
          const { entries } = await storage.reader.listAll(list, query);
          const byIndex = await storage.reader.listAll(list, { ...query, indexes });
          const ids = byIndex.entries.map(({ id }) => id);
          expect([order, value, time, ids]).toEqual([order, value, time, entries.map(({ id }) => id)]);
        }
      }
    }
  });

  it('continue after positions outside of the bounds, as with the token of another query', async () => {
    for (const bounds of [{ $lt: 30 }, { $gt: 1480 }, { $gte: 700, $lt: 730 }]) {
      for (const [order, value, time] of ['n', '-n'].flatMap((field) =>
        [30, 700, 730, 1480, 40, 1470].flatMap((each) => [
          [`${field} -last_modified`, each, 2 ** 63] as const,
          [`${field} last_modified`, each, -1] as const,
        ]),
      )) {
        const query = { filters: filtersOf({ n: bounds }), sort: sortBy(order), limit: 40, after: [value, time] };
        for (const { storage } of backends.opened) {
          const { entries } = await storage.reader.listAll(list, query);
          const byIndex = await storage.reader.listAll(list, { ...query, indexes });
          const ids = byIndex.entries.map(({ id }) => id);
          expect([bounds, order, value, ids]).toEqual([bounds, order, value, entries.map(({ id }) => id)]);
        }
      }
    }
  });

  it('find the object with a long value in a few keys', async () => {
    const index: ListIndex = indexes.find(({ fields }) => fields[0]!.field.name === 't')!;
    for (const { storage } of backends.opened) {
      const report = new QueryPlanReport();
      const filters = filtersOf({ t: longText(600) });
      const query = { filters, sort: newestFirst, limit: 2, indexes: [index], report };
      expect((await storage.reader.listAll(list, query)).entries.map(({ id }) => id).toSorted()).toEqual(['id600']);
      expect(report.format()).toContain('keys=1');
    }
  });
});
