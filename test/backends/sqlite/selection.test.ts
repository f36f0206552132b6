import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExactNumber, type JsonObject, type JsonValue } from '../../../src/base/json.ts';
import {
  formatAttributes,
  isTombstone,
  StoredObject,
  type ListKey,
  type StoredEntry,
} from '../../../src/core/objects/stored.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import type { Filter, PageQuery, SortKey } from '../../../src/core/query/ast.ts';
import { matches } from '../../../src/core/query/evaluate.ts';
import { parseField } from '../../../src/core/query/fields.ts';
import { compareEntries, comparePositions, positionOf } from '../../../src/core/query/sort.ts';
import { Connection, type SqlValue } from '../../../src/backends/sqlite/connection.ts';
import { findList } from '../../../src/backends/sqlite/lists.ts';
import { selectPage } from '../../../src/backends/sqlite/page.ts';
import type { Steps } from '../../../src/base/steps.ts';
import { objectOf } from '../../core/query/arbitraries.ts';
import { openConnection, openTestDatabase, records, type TestDatabase } from './temporary.ts';
import { inExtent } from '../../support/extent.ts';

/** Runs all steps without a pause. */
function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

const words = [
  '',
  'a',
  'A',
  'b',
  'ab',
  'é',
  'É',
  '\u212a',
  'İk',
  '\uffee',
  '\u{1f600}',
  'null',
  '1',
  '%',
  '"',
  '\\',
  "'",
  '$.n',
  'a\nb',
];
const keys = ['n', 's', 'x-y', '_', 'odd key', 'é', 'a"b', '$', '0', '[0]', '__proto__', 'constructor', 'deleted'];
const difficult = [
  0.1,
  0.1 + 0.2,
  1 / 3,
  1e21,
  1e-7,
  5e-324,
  2 ** 53,
  2 ** 60,
  12345678901234567000,
  -(2 ** 63),
  9007199254740991,
  999999999999999,
];
const exact = ['-0', '1.0', '1e0', '1.50', '0.10', '12345678901234567890', '12345678901234567889', '1e-400', '0.3000'];

const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, false),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom<JsonValue>(...difficult, ...exact.map((text) => new ExactNumber(text))),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  fc.constantFrom(...words),
);
const value: fc.Arbitrary<JsonValue> = fc.letrec<{ any: JsonValue }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    scalar,
    fc.array(tie('any'), { maxLength: 2 }),
    fc.array(fc.tuple(fc.constantFrom(...keys), tie('any')), { maxLength: 2 }).map(objectOf),
  ),
})).any;
const attributes: fc.Arbitrary<JsonObject> = fc
  .array(fc.tuple(fc.constantFrom(...keys), fc.oneof({ weight: 3, arbitrary: scalar }, value)), { maxLength: 4 })
  .map(objectOf);

const fieldName = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('n', 's', 'x-y') },
  fc.constantFrom(...keys, 'n.s', 's.n.n', 'n.odd key', 'id', 'id.n', 'last_modified', 'last_modified.n', 'missing'),
);
const field = fieldName.map(parseField);
const times = fc.integer({ min: 995, max: 1030 });
const filterValue = fc.oneof(scalar, value, times);
const filter: fc.Arbitrary<Filter> = fc.oneof(
  fc.record({ field, operator: fc.constantFrom('eq', 'not', 'lt', 'max', 'gt', 'min'), value: filterValue }),
  fc.record({
    field: fc.constantFrom('id', 'last_modified').map(parseField),
    operator: fc.constantFrom('eq', 'not', 'lt', 'max', 'gt', 'min'),
    value: fc.oneof(
      times,
      times.map((time) => time + 0.5),
      fc.constantFrom('id1', 'id3', 'é'),
      scalar,
    ),
  }),
  fc.record({
    field,
    operator: fc.constantFrom('in', 'exclude'),
    values: fc.array(fc.oneof(filterValue, fc.constantFrom('id1', 'id2')), { maxLength: 4 }),
  }),
  fc.record({ field, operator: fc.constant('has'), present: fc.boolean() }),
  fc.record({
    field,
    operator: fc.constant('like'),
    parts: fc.oneof(
      fc.array(fc.constantFrom('', 'a', 'é', 'id', '1', '"', '%'), { minLength: 2, maxLength: 3 }),
      fc.constantFrom('', 'a', 'k', 'é', '1', '"').map((part) => ['', part, '']),
    ),
  }),
  fc.record({
    field,
    operator: fc.constantFrom('contains', 'contains_any'),
    values: fc.array(value, { maxLength: 2 }),
  }),
);
const direction = fc.constantFrom('ascending', 'descending') satisfies fc.Arbitrary<SortKey['direction']>;
const sort: fc.Arbitrary<readonly SortKey[]> = fc
  .tuple(
    fc.array(fc.record({ field, direction }), { maxLength: 2 }),
    fc.record({ field: fc.constantFrom('id', 'last_modified').map(parseField), direction }),
  )
  .map(([own, last]) => [...own, last]);

interface Scenario {
  readonly entries: readonly { readonly own: JsonObject; readonly gone: boolean }[];
  readonly query: PageQuery;
  /** Index of the entry that the page follows, among all that are left; `undefined`: none. */
  readonly follow: number | undefined;
}

const scenario: fc.Arbitrary<Scenario> = fc.record({
  entries: fc.array(fc.record({ own: attributes, gone: fc.boolean() }), { maxLength: 10 }),
  query: fc.record(
    {
      sort,
      filters: fc.array(filter, { maxLength: 3 }),
      limit: fc.integer({ min: 1, max: 6 }),
      includeDeleted: fc.boolean(),
      ids: fc.array(fc.constantFrom('id0', 'id1', 'id2', 'id5', 'none', 'id1'), { maxLength: 5 }),
    },
    { requiredKeys: ['sort', 'filters', 'limit'] },
  ),
  follow: fc.option(fc.nat(9), { nil: undefined }),
});

const byTime: readonly SortKey[] = [{ field: parseField('last_modified'), direction: 'descending' }];
const byId: readonly SortKey[] = [{ field: parseField('id'), direction: 'ascending' }];
const byNumber: readonly SortKey[] = [{ field: parseField('n'), direction: 'ascending' }, ...byTime];

/** Returns what the query evaluator selects from a list. */
function selectByReference(entries: readonly StoredEntry[], query: PageQuery): readonly StoredEntry[] {
  const { ids, filters, after } = query;
  return entries
    .filter((entry) => query.includeDeleted === true || !isTombstone(entry))
    .filter((entry) => ids === undefined || ids.includes(entry.id))
    .filter((entry) => matches(entry, filters))
    .filter((entry) => after === undefined || comparePositions(positionOf(entry, query.sort), after, query.sort) > 0)
    .toSorted(compareEntries(query.sort));
}

function plain(entries: readonly StoredEntry[]): readonly unknown[] {
  return entries.map((entry) => (isTombstone(entry) ? { ...entry } : [entry.id, entry.lastModified, entry.text]));
}

async function expectAsReference(
  { storage }: TestDatabase,
  list: ListKey,
  entries: readonly StoredEntry[],
  query: PageQuery,
): Promise<void> {
  const expected = selectByReference(entries, query);
  const page = await storage.reader.listAll(list, query);
  expect(plain(page.entries)).toEqual(plain(expected.slice(0, query.limit)));
  expect(page.more).toBe(expected.length > query.limit);
  const all = selectByReference(entries, { ...query, after: undefined });
  expect(await storage.reader.countAll(list, query)).toBe(all.length);
}

/** Stores objects with ascending timestamps, and deletes every third of them when `gone` is set. */
async function fill(
  test: TestDatabase,
  list: ListKey,
  entries: readonly { readonly own: JsonObject; readonly gone: boolean }[],
): Promise<readonly StoredEntry[]> {
  return test.unit(async (writer) => {
    const stored: StoredEntry[] = [];
    for (const [index, { own, gone }] of entries.entries()) {
      const object = await writer.create(list, `id${index}`, formatAttributes(own), 1000 + 2 * index);
      stored.push(
        gone ? (await writer.delete(list, object.id, { lastModified: 1001 + 2 * index }))!.tombstone : object,
      );
    }
    return stored;
  });
}

describe('selection', () => {
  it('lists and counts what the query evaluator selects', async () => {
    const test = await openTestDatabase();
    let next = 0;
    await fc.assert(
      fc.asyncProperty(scenario, async ({ entries, query, follow }) => {
        const list = { kind: 'record', parent: storedParent(`/buckets/${next++}`) };
        const stored = await fill(test, list, entries);
        const ordered = selectByReference(stored, query);
        const last = follow === undefined ? undefined : ordered[follow % Math.max(1, ordered.length)];
        const after = last && positionOf(last, query.sort);
        await expectAsReference(test, list, stored, { ...query, after });
      }),
      { numRuns: inExtent(150, 600) },
    );
  }, 60_000);

  it('deletes and trims what the query evaluator selects', async () => {
    const test = await openTestDatabase();
    let next = 0;
    await fc.assert(
      fc.asyncProperty(scenario, fc.nat(4), async ({ entries, query }, maxObjects) => {
        const list = { kind: 'record', parent: storedParent(`/buckets/${next++}`) };
        const stored = await fill(test, list, entries);
        const selected = selectByReference(stored, { ...query, includeDeleted: false });
        const newest = selected.toSorted((a, b) => b.lastModified - a.lastModified);
        await test.unit(async (writer) => {
          expect(await writer.trimObjects(list, query, maxObjects)).toBe(Math.max(0, newest.length - maxObjects));
          const kept = selected.filter((entry) => newest.indexOf(entry) < maxObjects);
          const { deletions, more } = await writer.deleteAll(list, query);
          expect(plain(deletions.map(({ old }) => old))).toEqual(plain(kept.slice(0, query.limit)));
          expect(more).toBe(kept.length > query.limit);
        });
        const live = stored.filter((entry) => !isTombstone(entry)).length;
        const left =
          live - Math.max(selected.length - maxObjects, 0) - Math.min(selected.length, maxObjects, query.limit);
        expect(await test.storage.reader.countAll(list, { filters: [] })).toBe(left);
        const everything = { filters: [], includeDeleted: true };
        const { entries: all } = await test.storage.reader.listAll(list, { ...everything, sort: byTime, limit: 100 });
        expect(await test.storage.reader.countAll(list, everything)).toBe(all.length);
      }),
      { numRuns: inExtent(50, 150) },
    );
  }, 60_000);
});

describe('selections of large objects', () => {
  it('pause for other requests, even when they are few', async () => {
    const test = await openTestDatabase();
    const list = { kind: 'record', parent: storedParent('/buckets/large') };
    const text = 'x'.repeat(1000);
    const own = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`key${n}`, text]));
    const ids = Array.from({ length: 150 }, (_, n) => `id${n}`);
    await fill(
      test,
      list,
      ids.map((_, n) => ({ own: { ...own, n }, gone: false })),
    );
    const connection = openConnection(test.path);
    const filters: readonly Filter[] = [{ operator: 'gt', field: parseField('n'), value: 1000 }];
    for (const of of [{}, { ids }]) {
      const query = { filters, sort: byTime, limit: 100, ...of };
      const steps = selectPage(connection, findList(connection, list)!, query);
      let pauses = 0;
      let step = steps.next();
      for (; step.done !== true; step = steps.next()) pauses++;
      expect(step.value.entries).toEqual([]);
      expect(pauses).toBeGreaterThan(1);
    }
  }, 30_000);
});

describe('selections by many conditions', () => {
  it('pause inside each object with many elements', async () => {
    const test = await openTestDatabase();
    const own = { n: Array.from({ length: 5000 }, (_, n) => n) };
    await fill(
      test,
      records,
      Array.from({ length: 3 }, () => ({ own, gone: false })),
    );
    const connection = openConnection(test.path);
    const numbers = parseField('n');
    const branches = Array.from({ length: 100 }, (_, n): readonly Filter[] => [
      { field: numbers, operator: 'contains_any', values: [-n - 1] },
    ]);
    for (const [last, found] of [
      [-1, 0],
      [4999, 3],
    ] as const) {
      const filters: readonly Filter[] = [
        { operator: 'or', branches: [...branches, [{ field: numbers, operator: 'contains', values: [last] }]] },
      ];
      const steps = selectPage(connection, findList(connection, records)!, { filters, sort: byTime, limit: 100 });
      let pauses = 0;
      let step = steps.next();
      for (; step.done !== true; step = steps.next()) pauses++;
      expect(step.value.entries).toHaveLength(found);
      expect(pauses).toBeGreaterThan(100);
    }
  });
});

describe('selections of long objects among short ones', () => {
  const text = 'x'.repeat(300_000);
  const ids = Array.from({ length: 120 }, (_, n) => `id${n}`);
  const isLong = (n: number): boolean => n >= 100 && n < 106;
  const nothing: readonly Filter[] = [{ operator: 'gt', field: parseField('n'), value: 1000 }];
  const byNumberAndId: readonly SortKey[] = [{ field: parseField('n'), direction: 'ascending' }, ...byId];

  it.each<[string, PageQuery, number]>([
    ['of a filter', { filters: nothing, sort: byTime, limit: 100 }, 0],
    ['of a filter on some ids', { filters: nothing, sort: byTime, limit: 100, ids }, 0],
    ['of a filter on numbers that are not plain', { filters: nothing, sort: byId, limit: 100 }, 0],
    ['of an order', { filters: [], sort: byNumberAndId, limit: 3 }, 3],
  ])('pause after each of them for a page %s', async (_, query, found) => {
    const test = await openTestDatabase();
    const own = ids.map((__, n) => ({
      own: { n, exact: new ExactNumber('1.0'), text: isLong(n) ? text : '' },
      gone: false,
    }));
    await fill(test, records, own);
    const connection = openConnection(test.path);
    const steps = selectPage(connection, findList(connection, records)!, query);
    let pauses = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) pauses++;
    expect(step.value.entries).toHaveLength(found);
    expect(pauses).toBeGreaterThanOrEqual(6);
  });
});

/** Values of every type, including numbers that SQLite reads or rounds differently, and values close to them. */
const pool: readonly JsonValue[] = [
  [null, true, false, 0, 1, -1, 2, 10, 0.3, 0.5, 1.5, 100, 1e15],
  words,
  difficult,
  exact.map((text) => new ExactNumber(text)),
  ['0.30000000000000004441', '1152921504606846976', '9007199254740993', '1e21'].map((text) => new ExactNumber(text)),
  Array.from({ length: 30 }, (_, index) => Math.sin(index + 1) * 10 ** (index % 7)),
  [[], [1], [true], ['a'], [[]], [1, 2], [new ExactNumber('1.0')]],
  [{}, { n: 1 }, { n: 2 }, { m: 1 }, { n: 1, m: 1 }, { n: new ExactNumber('1e0') }],
].flat(1);

describe('selection by single values', () => {
  it('agrees with the query evaluator for every pair of values and every operator of order', async () => {
    const test = await openTestDatabase();
    const objects = [{}, ...pool.map((n) => ({ n }))].map((own) => ({ own, gone: false }));
    const stored = await fill(test, records, objects);
    for (const wanted of pool) {
      for (const operator of ['eq', 'not', 'lt', 'max', 'gt', 'min'] as const) {
        const filters = [{ field: parseField('n'), operator, value: wanted }];
        await expectAsReference(test, records, stored, { filters, sort: byTime, limit: 1000 });
      }
      for (const operator of ['in', 'exclude'] as const) {
        const filters = [{ field: parseField('n'), operator, values: [wanted, 'b', 2] }];
        await expectAsReference(test, records, stored, { filters, sort: byTime, limit: 1000 });
      }
    }
  }, 60_000);

  it.each(['ascending', 'descending'] as const)('sorts every pair of values %s as the evaluator', async (way) => {
    const test = await openTestDatabase();
    const objects = [{}, ...pool.map((n) => ({ n }))].map((own) => ({ own, gone: false }));
    const stored = await fill(test, records, objects);
    const sortKeys: readonly SortKey[] = [{ field: parseField('n'), direction: way }, ...byTime];
    await expectAsReference(test, records, stored, { filters: [], sort: sortKeys, limit: 1000 });
  });

  it.each([...keys, 'a\\b', 'new\nline', 'n"."s', "quo'te", '#-1', 'x[0]', 'ключ'])(
    'finds the key %j, and only as a key',
    async (key) => {
      const test = await openTestDatabase();
      const values: readonly JsonObject[] = [
        ...[1, 'a', null, [5], { [key]: 1 }].map((own) => objectOf([[key, own]])),
        objectOf([['n', objectOf([[key, 1]])]]),
        objectOf([['n', { s: 1 }]]),
        objectOf([['n', [1, 2]]]),
        objectOf([['x', [1, 2]]]),
        {},
      ];
      const objects = values.map((own) => ({ own, gone: false }));
      const stored = await fill(test, records, [...objects, { own: {}, gone: true }]);
      for (const path of [[key], ['n', key], [key, key]]) {
        const own = { name: key, path };
        const filters: readonly Filter[] = [
          { field: own, operator: 'eq', value: 1 },
          { field: own, operator: 'min', value: 'a' },
          { field: own, operator: 'has', present: false },
          { field: own, operator: 'exclude', values: [1] },
          { field: own, operator: 'like', parts: ['', 'a', ''] },
        ];
        for (const one of filters) {
          const query = { filters: [one], sort: byTime, limit: 100, includeDeleted: true };
          await expectAsReference(test, records, stored, query);
        }
        const keysOfSort: readonly SortKey[] = [{ field: own, direction: 'ascending' }, ...byTime];
        await expectAsReference(test, records, stored, { filters: [], sort: keysOfSort, limit: 100 });
      }
    },
  );
});

function longEntries(count: number): { readonly own: JsonObject; readonly gone: boolean }[] {
  return Array.from({ length: count }, (_, index) => ({
    own: { n: index % 7 === 0 ? new ExactNumber('1.0') : (index * 7919) % 100, s: `text ${index}` },
    gone: index % 3 === 0,
  }));
}

const longQueries: readonly (readonly [string, PageQuery])[] = [
  [
    'a rare value by time',
    { filters: [{ field: parseField('n'), operator: 'eq', value: 99 }], sort: byTime, limit: 50 },
  ],
  [
    'a rare value by time, tombstones included',
    {
      filters: [{ field: parseField('n'), operator: 'min', value: 98 }],
      sort: [{ ...byTime[0]!, direction: 'ascending' }],
      limit: 1500,
      includeDeleted: true,
    },
  ],
  [
    'a text search by id',
    { filters: [{ field: parseField('s'), operator: 'like', parts: ['', '77', ''] }], sort: byId, limit: 9 },
  ],
  ['everything by an attribute', { filters: [], sort: byNumber, limit: 300, includeDeleted: true }],
  ['everything by an attribute, from the middle', { filters: [], sort: byNumber, limit: 20, after: [50, 9000] }],
  [
    'many ids by an attribute',
    { filters: [], sort: byNumber, limit: 20, ids: Array.from({ length: 3000 }, (_, index) => `id${index * 2}`) },
  ],
];

describe('selection from a long list', () => {
  it.each(longQueries)('finds %s, and other requests run in between', async (_, query) => {
    const test = await openTestDatabase();
    const stored = await fill(test, records, longEntries(5000));
    let turns = 0;
    const countTurns = (): void => {
      turns++;
      immediate = setImmediate(countTurns);
    };
    let immediate = setImmediate(countTurns);
    await expectAsReference(test, records, stored, query);
    clearImmediate(immediate);
    expect(turns).toBeGreaterThan(2);
  });

  it('returns at once when the newest entries fill the page, and pauses otherwise', async () => {
    const test = await openTestDatabase();
    await fill(test, records, longEntries(5000));
    const connection = openConnection(test.path);
    const list = findList(connection, records)!;
    const firstStep = (only: Filter, limit: number): boolean =>
      selectPage(connection, list, { filters: [only], sort: byTime, limit }).next().done === true;
    const common: Filter = { field: parseField('n'), operator: 'lt', value: 10 };
    const rare: Filter = { field: parseField('n'), operator: 'eq', value: 1000 };
    expect(firstStep(common, 5)).toBe(true);
    expect(firstStep(rare, 5)).toBe(false);
    // All of them must be read.
    expect(firstStep(common, 100_000)).toBe(false);
  });

  it('keeps the first of values of every type, in any place of the list', async () => {
    const test = await openTestDatabase();
    const stored = await fill(
      test,
      records,
      Array.from({ length: 4000 }, (_, index) => {
        const other = pool[Math.floor(index / 7) % (pool.length + 1)];
        const n = index % 5 === 0 ? index : other;
        const title = `Title ${10_000 - index}`;
        return { own: n === undefined ? { title } : { n, title }, gone: index % 40 === 0 };
      }),
    );
    for (const way of ['ascending', 'descending'] as const) {
      for (const name of ['n', 'title', 'missing', 'id']) {
        const order: readonly SortKey[] = [{ field: parseField(name), direction: way }, ...byId];
        for (const includeDeleted of [false, true]) {
          const query: PageQuery = { filters: [], sort: order, limit: 40, includeDeleted };
          await expectAsReference(test, records, stored, query);
          const [after] = selectByReference(stored, { ...query, limit: 3000 }).slice(-1);
          await expectAsReference(test, records, stored, { ...query, after: positionOf(after!, order) });
        }
      }
    }
  });

  it('sees one snapshot, with any duration and any commits in between', async () => {
    const test = await openTestDatabase();
    const stored = await fill(test, records, longEntries(5000));
    const clock = await test.storage.reader.resourceTimestamp(records);
    const query: PageQuery = { filters: [], sort: byNumber, limit: 10_000, includeDeleted: true };
    const reading = test.storage.reader.listAll(records, query);
    const other = test.storage.reader.countAll(records, {
      filters: [{ field: parseField('n'), operator: 'max', value: 500 }],
    });
    await test.unit(async (writer) => {
      await writer.create(records, 'new', '{"n":3}');
      await writer.deleteChildren('/buckets');
    });
    const page = await reading;
    expect(plain(page.entries)).toEqual(plain(selectByReference(stored, query)));
    expect(page.timestamp).toBe(clock);
    expect(await other).toBe(stored.filter((entry) => !isTombstone(entry)).length);
    expect(await test.storage.reader.countAll(records, { filters: [] })).toBe(0);
  });

  it('continues inside a unit of work, which sees its own writes', async () => {
    const test = await openTestDatabase();
    await fill(test, records, longEntries(3000));
    await test.unit(async (writer) => {
      await writer.create(records, 'new', '{"n":-1}');
      const page = await writer.listAll(records, { filters: [], sort: byNumber, limit: 1 });
      expect(page.entries.map(({ id }) => id)).toEqual(['new']);
    });
  });

  it('lets many long reads and short ones run in parallel', async () => {
    const test = await openTestDatabase();
    const stored = await fill(test, records, longEntries(2500));
    const live = stored.filter((entry) => entry instanceof StoredObject).length;
    const filters: readonly Filter[] = [{ field: parseField('s'), operator: 'like', parts: ['', 'text', ''] }];
    const counts = Array.from({ length: 12 }, () => test.storage.reader.countAll(records, { filters }));
    expect((await test.storage.reader.get(records, 'id1'))?.id).toBe('id1');
    expect(await Promise.all(counts)).toEqual(Array.from({ length: 12 }, () => live));
  });
});

/** Records the plan of every statement that it runs. */
class ExplainingConnection extends Connection {
  readonly plans: string[] = [];

  override all<Row extends readonly SqlValue[]>(sql: string, ...parameters: readonly SqlValue[]): readonly Row[] {
    const plan = super.all<[number, number, number, string]>(`EXPLAIN QUERY PLAN ${sql}`, ...parameters);
    this.plans.push(...plan.map((row) => row[3]));
    return super.all<Row>(sql, ...parameters);
  }
}

describe('statements', () => {
  it('are few, with any filters of clients', async () => {
    const test = await openTestDatabase();
    await fill(test, records, longEntries(3));
    const sql = new Set<string>();
    class WatchedConnection extends Connection {
      override all<Row extends readonly SqlValue[]>(text: string, ...parameters: readonly SqlValue[]): readonly Row[] {
        sql.add(text);
        return super.all<Row>(text, ...parameters);
      }
    }
    const connection = new WatchedConnection({ path: test.path, synchronous: 'OFF' });
    const list = findList(connection, records)!;
    fc.assert(
      fc.property(fc.array(filter, { maxLength: 30 }), sort, (filters, keysOfSort) => {
        runAtOnce(selectPage(connection, list, { filters, sort: keysOfSort, limit: 10, includeDeleted: true }));
      }),
      { numRuns: inExtent(500, 2000) },
    );
    connection.close();

    expect(sql.size).toBeLessThan(500);
  });
});

describe('plans', () => {
  const since: readonly Filter[] = [{ field: parseField('last_modified'), operator: 'gt', value: 1500 }];
  const queries: readonly (readonly [string, PageQuery])[] = [
    ['the newest', { filters: [], sort: byTime, limit: 10 }],
    ['a page by time at any depth', { filters: [], sort: byTime, limit: 10, after: [1700] }],
    ['changes and deletions since a time', { filters: since, sort: byTime, limit: 10, includeDeleted: true }],
    [
      'a page of changes and deletions',
      { filters: since, sort: byTime, limit: 10, includeDeleted: true, after: [1700] },
    ],
    ['a page by id', { filters: [], sort: byId, limit: 10, after: ['id5'], includeDeleted: true }],
  ];

  it.each(queries)('find %s in an index, without sorting or scanning a table', async (_, query) => {
    const test = await openTestDatabase();
    await fill(test, records, longEntries(500));
    const connection = new ExplainingConnection({ path: test.path, synchronous: 'OFF' });
    const list = findList(connection, records)!;
    const page = runAtOnce(selectPage(connection, list, query));
    connection.close();
    expect(page.entries).toHaveLength(10);
    expect(connection.plans.length).toBeGreaterThan(0);
    for (const line of connection.plans) expect(line).toMatch(/^(MERGE|LEFT|RIGHT|SEARCH e USING .*(list=\?))/);
  });

  it('find the objects of some ids by their ids', async () => {
    const test = await openTestDatabase();
    await fill(test, records, longEntries(500));
    const connection = new ExplainingConnection({ path: test.path, synchronous: 'OFF' });
    const list = findList(connection, records)!;
    const query: PageQuery = { filters: since, ids: ['id1', 'id400'], sort: byTime, limit: 10, includeDeleted: true };
    runAtOnce(selectPage(connection, list, { ...query, includeDeleted: true }));
    connection.close();
    expect(connection.plans.filter((line) => line.startsWith('SEARCH e') && !line.includes('rowid'))).toEqual([
      'SEARCH e USING INDEX objects_by_id (list=? AND id=?)',
      'SEARCH e USING PRIMARY KEY (list=? AND id=?)',
    ]);
  });
});
