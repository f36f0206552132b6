// Lists of many objects with few different values: pages and counts of selectors, with declared indexes and without, and
// while the declaration changes, are those of the evaluator.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { keysOf, parseIndexes } from '../../src/core/index/definition.ts';
import {
  formatAttributes,
  isTombstone,
  StoredObject,
  type ListKey,
  type StoredEntry,
} from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import type { ListIndex, PageQuery, SortKey } from '../../src/core/query/ast.ts';
import { matches } from '../../src/core/query/evaluate.ts';
import { parseField } from '../../src/core/query/fields.ts';
import { defaultSelectorLimits, parseSelector } from '../../src/core/query/selector.ts';
import { comparePositions, newestFirst, positionOf } from '../../src/core/query/sort.ts';
import type { TransactionContext } from '../../src/testing/index.ts';
import { inUnitOf } from '../../src/testing/contract/unit-of-work.ts';
import { inExtent, sized } from '../support/extent.ts';
import { openAllBackends, type OpenBackends } from '../support/all-backends.ts';
import { Comparisons } from '../support/comparisons.ts';
import { anyObjects, anySelector, fieldNames, filtersOf } from './selectors.ts';

const lists = sized('COFFER_INDEXED_LISTS', 3, 60);
const seconds = Math.max(90, 6 * lists);
const queriesPerList = 20;
const maxObjects = 2000;
let backends: OpenBackends;
beforeAll(async () => {
  backends = await openAllBackends('indexed');
}, 120_000);
afterAll(() => backends.close());

const direction = fc.constantFrom<SortKey['direction'][]>('ascending', 'descending');

const anyIndex = fc
  .uniqueArray(fc.constantFrom(...fieldNames), { minLength: 1, maxLength: 3 })
  .chain((fields) => fc.tuple(...fields.map((name) => fc.constantFrom(name, `-${name}`))));
const anyDeclaration = fc
  .uniqueArray(anyIndex, { minLength: 1, maxLength: 4, selector: (fields) => fields.join() })
  .map((all) => parseIndexes(all.map((fields) => ({ fields })))!);

const anyQuery: fc.Arbitrary<PageQuery> = fc
  .record({
    filters: fc.array(anySelector, { maxLength: 2 }).map((all) => all.flatMap(filtersOf)),
    fields: fc.uniqueArray(fc.constantFrom(...fieldNames), { maxLength: 3 }),
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

/** Lists of different lengths. In the complete run, some are longer than what is looked up by an index, and than small lists. */
const anyList = fc
  .tuple(anyObjects(120), fc.constantFrom(...inExtent([1], [1, 1, 1, 1, 6, 10])))
  .map(([objects, times]) => Array.from({ length: times }, () => objects).flat());

/** Pages of a query that are read. */
const pagesPerQuery = 3;
const comparisons = new Comparisons();

describe('declared indexes', () => {
  it('give the pages and counts of the evaluator', { timeout: (seconds + 30) * 1000 }, async () => {
    let number = 0;
    await fc.assert(
      fc.asyncProperty(
        anyDeclaration,
        anyDeclaration,
        anyList,
        fc.array(anyQuery, { minLength: queriesPerList, maxLength: queriesPerList }),
        async (first, second, all, queries) => {
          const list: ListKey = { kind: 'record', parent: storedParent(`/buckets/b/collections/c${number++}`) };
          for (const stores of backends.opened) {
            await inUnitOf(stores, ({ storage }) => fill(storage, list, first, all));
            await compareAnswers(stores, list, queries, [first, undefined]);
            // The first index of the declaration before stays, others are added and removed.
            const next = parseIndexes([...declarationsOf(first.slice(0, 1)), ...declarationsOf(second)]) ?? second;
            await inUnitOf(stores, ({ storage }) => build(storage, list, next, 0));
            await inUnitOf(stores, ({ storage }) => change(storage, list, next, all));
            await compareAnswers(stores, list, queries.slice(0, 4), [next.filter((index) => isAmong(index, first))]);
            await inUnitOf(stores, ({ storage }) => build(storage, list, next, 1));
            await compareAnswers(stores, list, queries.slice(4), [next]);
          }
        },
      ),
      // A difference is shown as short as it has become, before the test times out.
      {
        numRuns: lists,
        endOnFailure: process.env['COFFER_PROVE_SHRINK'] === 'no',
        plugins: [fc.interruptAfterTimeLimit(seconds * 1000, { failOnInterrupt: true })],
      },
    );
    comparisons.print('Declared indexes');
  });
});

it.each(['{"s":"\\u0000"}', '{"s":{"$in":["\\ud800"]}}', '{"s\\u0000":1}', '{"s":{"$startsWith":"\\udc00a"}}'])(
  'The selector %s, with a text that no backend can store, is refused.',
  (text) => {
    expect(parseSelector(text, { limits: defaultSelectorLimits })).toMatchObject({ location: 'querystring' });
  },
);

type Stores = OpenBackends['opened'][number];
type WriterOf = Parameters<Parameters<typeof inUnitOf>[1]>[0]['storage'];
type ReaderOf = TransactionContext['storage']['reader'];

/** Returns indexes as they were declared. */
function declarationsOf(indexes: readonly ListIndex[]): readonly JsonObject[] {
  return indexes.map(({ fields }) => ({
    fields: fields.map((key) => (key.direction === 'descending' ? `-${key.field.name}` : key.field.name)),
  }));
}

function isAmong({ slot, prefix }: ListIndex, others: readonly ListIndex[]): boolean {
  return others.some((other) => other.slot === slot && other.prefix.equals(prefix));
}

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

/** Changes some objects while an index is built: some that have its keys already, and some that have not. */
async function change(
  writer: WriterOf,
  list: ListKey,
  indexes: readonly ListIndex[],
  objects: readonly JsonObject[],
): Promise<void> {
  for (const [index, attributes] of objects.entries()) {
    const other = objects[(index * 5 + 1) % objects.length] ?? attributes;
    if (index % 6 === 1)
      await writer.update(list, `id${index}`, formatAttributes(other), undefined, keysOf(indexes, other));
    if (index % 13 === 5) await writer.delete(list, `id${index}`);
  }
}

/** Gives one half of the objects keys, as a build does. */
async function build(writer: WriterOf, list: ListKey, indexes: readonly ListIndex[], half: 0 | 1): Promise<void> {
  const { entries } = await writer.listAll(list, { filters: [], sort: newestFirst, limit: maxObjects });
  const objects = entries.filter((entry) => entry instanceof StoredObject);
  await writer.setKeys(
    list,
    objects
      .filter(({ id }) => Number(id.slice('id'.length)) % 2 === half)
      .map(({ id, lastModified, attributes }) => ({ id, lastModified, keys: keysOf(indexes, attributes) })),
  );
}

/** Compares counts and the first pages with those of the evaluator, with each of the declarations. */
async function compareAnswers(
  { storage: { reader } }: Stores,
  list: ListKey,
  queries: readonly PageQuery[],
  declarations: readonly (readonly ListIndex[] | undefined)[],
): Promise<void> {
  const { entries } = await reader.listAll(list, { filters: [], sort: newestFirst, limit: maxObjects });
  for (const query of queries) {
    const { filters, sort } = query;
    const expected = entries
      .filter((entry) => !isTombstone(entry) && matches(entry, filters))
      .toSorted((a, b) => comparePositions(positionOf(a, sort), positionOf(b, sort), sort));
    // Tokens of another query may begin a page anywhere.
    const others = [query.limit, 7 * query.limit].flatMap((number) => entries[number % entries.length] ?? []);
    for (const indexes of declarations) {
      await comparePages(reader, list, { ...query, indexes }, expected);
      for (const other of others) {
        const after = positionOf(other, sort);
        const rest = expected.filter((entry) => comparePositions(positionOf(entry, sort), after, sort) > 0);
        await comparePage(reader, list, { ...query, indexes, after }, rest);
      }
    }
  }
}

async function comparePages(
  reader: ReaderOf,
  list: ListKey,
  query: PageQuery,
  expected: readonly StoredEntry[],
): Promise<void> {
  const { filters, sort, limit, indexes } = query;
  comparisons.same(await reader.countAll(list, { filters, indexes }), expected.length);
  for (let start = 0; start < limit * pagesPerQuery && start <= expected.length; start += limit) {
    const last = expected[start - 1];
    const after = last && positionOf(last, sort);
    await comparePage(reader, list, { ...query, after }, expected.slice(start));
  }
}

/** @param rest the expected entries of this page and of those after it */
async function comparePage(
  reader: ReaderOf,
  list: ListKey,
  query: PageQuery,
  rest: readonly StoredEntry[],
): Promise<void> {
  const { entries, more } = await reader.listAll(list, query);
  const page = rest.slice(0, query.limit);
  comparisons.same([more, ...entries.map(summaryOf)], [query.limit < rest.length, ...page.map(summaryOf)]);
}

function summaryOf(entry: StoredEntry): string {
  return `${entry.id} ${isTombstone(entry) ? 'deleted' : entry.text.slice(0, 50)}`;
}
