// Lists of many objects with few different values: pages and counts, with declared indexes and without, are those of the
// evaluator.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/base/json.ts';
import { keysOf, parseIndexes } from '../../src/core/index/definition.ts';
import { formatAttributes, isTombstone, type ListKey, type StoredEntry } from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import type { Filter, ListIndex, PageQuery, SortKey } from '../../src/core/query/ast.ts';
import { matches } from '../../src/core/query/evaluate.ts';
import { parseField } from '../../src/core/query/fields.ts';
import { comparePositions, newestFirst, positionOf } from '../../src/core/query/sort.ts';
import type { TransactionContext } from '../../src/testing/index.ts';
import { inUnitOf } from '../../src/testing/contract/unit-of-work.ts';
import { sized } from '../support/extent.ts';
import { openAllBackends, type OpenBackends } from '../support/all-backends.ts';
import { Comparisons } from '../support/comparisons.ts';

const lists = sized('COFFER_INDEXED_LISTS', 3, 60);
const queriesPerList = 20;
let backends: OpenBackends;
beforeAll(async () => {
  backends = await openAllBackends('indexed');
}, 120_000);
afterAll(() => backends.close());

const long = 'x'.repeat(1100);
/** Few values; the long ones do not fit into a key. */
const values: readonly JsonValue[] = [0, 1, 2, 'a', 'b', null, true, [1], { k: 1 }];
const anyValue = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(...values) },
  { weight: 1, arbitrary: fc.constantFrom(`${long}a`, `${long}b`) },
);
const names = ['s', 'n', 't'];
const anyAttributes = fc.record({ s: anyValue, n: anyValue, t: anyValue }, { requiredKeys: [] });
const direction = fc.constantFrom<SortKey['direction'][]>('ascending', 'descending');

const anyDeclaration = fc
  .uniqueArray(
    fc
      .uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 })
      .chain((fields) => fc.tuple(...fields.map((name) => fc.constantFrom(name, `-${name}`)))),
    { minLength: 1, maxLength: 4, selector: (fields) => fields.join() },
  )
  .map((all) => parseIndexes(all.map((fields) => ({ fields })))!);

const anyCondition: fc.Arbitrary<Filter> = fc.oneof(
  fc.record({
    field: fc.constantFrom(...names).map(parseField),
    operator: fc.constantFrom('eq', 'eq', 'lt', 'max', 'gt', 'min', 'not'),
    value: anyValue,
  }),
  fc.record({
    field: fc.constantFrom(...names).map(parseField),
    operator: fc.constant('in'),
    values: fc.array(anyValue, { maxLength: 3 }),
  }),
  fc.record({ field: fc.constantFrom(...names).map(parseField), operator: fc.constant('has'), present: fc.boolean() }),
);

const anyIdCondition: fc.Arbitrary<Filter> = fc.record({
  field: fc.constant(parseField('id')),
  operator: fc.constantFrom('in', 'exclude'),
  values: fc.array(
    fc.nat(120).map((n) => `id${n}`),
    { maxLength: 60 },
  ),
});

const anyFilter: fc.Arbitrary<Filter> = fc.oneof(
  { weight: 6, arbitrary: anyCondition },
  { weight: 1, arbitrary: anyIdCondition },
  {
    weight: 1,
    arbitrary: fc.record({
      operator: fc.constantFrom('or', 'or', 'nor'),
      branches: fc.array(fc.array(anyCondition, { maxLength: 2 }), { minLength: 1, maxLength: 3 }),
    }),
  },
);

const anyQuery: fc.Arbitrary<PageQuery> = fc
  .record({
    filters: fc.array(anyFilter, { maxLength: 3 }),
    fields: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 3 }),
    directions: fc.tuple(direction, direction, direction),
    last: fc.oneof(
      { weight: 5, arbitrary: fc.constant<SortKey>({ field: parseField('last_modified'), direction: 'descending' }) },
      { weight: 2, arbitrary: fc.constant<SortKey>({ field: parseField('last_modified'), direction: 'ascending' }) },
      { weight: 1, arbitrary: fc.constant<SortKey>({ field: parseField('id'), direction: 'ascending' }) },
    ),
    limit: fc.integer({ min: 1, max: 12 }),
  })
  .map(({ filters, fields, directions, last, limit }) => {
    const keys = fields.map((name, index): SortKey => ({ field: parseField(name), direction: directions[index]! }));
    return { filters, sort: [...keys, last], limit };
  });

/** Pages of a query that are read. */
const pagesPerQuery = 3;
const comparisons = new Comparisons();

describe('declared indexes', () => {
  it('give the pages and counts of the evaluator', { timeout: Math.max(300, 3 * lists) * 1000 }, async () => {
    let number = 0;
    await fc.assert(
      fc.asyncProperty(
        anyDeclaration,
        fc.array(anyAttributes, { minLength: 1, maxLength: 120, size: 'max' }),
        fc.array(anyQuery, { minLength: queriesPerList, maxLength: queriesPerList }),
        async (indexes, all, queries) => {
          const list: ListKey = { kind: 'record', parent: storedParent(`/buckets/b/collections/c${number++}`) };
          for (const stores of backends.opened) {
            await inUnitOf(stores, ({ storage: writer }) => fill(writer, list, indexes, all));
            const { reader } = stores.storage;
            const { entries } = await reader.listAll(list, { filters: [], sort: newestFirst, limit: 1000 });
            for (const query of queries) await compareAnswers(reader, list, { ...query, indexes }, entries);
          }
        },
      ),
      { numRuns: lists },
    );
    comparisons.print('Declared indexes');
  });
});

type WriterOf = Parameters<Parameters<typeof inUnitOf>[1]>[0]['storage'];
type ReaderOf = TransactionContext['storage']['reader'];

async function fill(
  writer: WriterOf,
  list: ListKey,
  indexes: readonly ListIndex[],
  objects: readonly JsonObject[],
): Promise<void> {
  for (const [index, attributes] of objects.entries()) {
    const keys = keysOf(indexes, attributes);
    await writer.create(list, `id${index}`, formatAttributes(attributes), undefined, { keys });
  }
  // Some objects change, and some go.
  for (const [index, attributes] of objects.entries()) {
    const other = objects[(index * 7) % objects.length] ?? attributes;
    if (index % 5 === 0)
      await writer.update(list, `id${index}`, formatAttributes(other), undefined, keysOf(indexes, other));
    if (index % 11 === 3) await writer.delete(list, `id${index}`);
  }
}

/** Compares a count and the first pages with those of the evaluator. */
async function compareAnswers(
  reader: ReaderOf,
  list: ListKey,
  query: PageQuery,
  objects: readonly StoredEntry[],
): Promise<void> {
  const { filters, sort, limit, indexes } = query;
  const expected = objects
    .filter((entry) => !isTombstone(entry) && matches(entry, filters))
    .toSorted((a, b) => comparePositions(positionOf(a, sort), positionOf(b, sort), sort));
  for (const used of [indexes, undefined]) {
    comparisons.same(await reader.countAll(list, { filters, indexes: used }), expected.length);
    for (let start = 0; start < limit * pagesPerQuery && start <= expected.length; start += limit) {
      const last = expected[start - 1];
      const after = last && positionOf(last, sort);
      const { entries, more } = await reader.listAll(list, { ...query, after, indexes: used });
      const page = expected.slice(start, start + limit);
      comparisons.same([more, ...entries.map(summaryOf)], [start + limit < expected.length, ...page.map(summaryOf)]);
    }
  }
}

function summaryOf(entry: StoredEntry): string {
  return `${entry.id} ${isTombstone(entry) ? 'deleted' : entry.text.slice(0, 50)}`;
}
