// Text search on every backend: pages and counts are those of testing each object of the list.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { runAtOnce } from '../../src/base/steps.ts';
import { keysOf, parseIndexes } from '../../src/core/index/definition.ts';
import { formatAttributes, StoredObject, type ListKey, type StoredEntry } from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import type { Filter, PagePosition, PageQuery, SortKey } from '../../src/core/query/ast.ts';
import { matches } from '../../src/core/query/evaluate.ts';
import {
  isScoreField,
  lastModifiedField,
  parseField,
  readEntryField,
  scoreField,
} from '../../src/core/query/fields.ts';
import { comparePositions, newestFirst } from '../../src/core/query/sort.ts';
import {
  parseTextQuery,
  scoreInSteps,
  SearchBudget,
  type TextQuery,
  type TextSearch,
} from '../../src/core/text/text-query.ts';
import { countMatches, searchPage, type BoundSearch } from '../../src/engine/text-search.ts';
import type { StorageWriter } from '../../src/testing/contract/plain-contracts.ts';
import { inUnitOf } from '../../src/testing/contract/unit-of-work.ts';
import { openAllBackends, type OpenBackends } from '../support/all-backends.ts';
import { Comparisons } from '../support/comparisons.ts';
import { sized } from '../support/extent.ts';

const lists = sized('COFFER_SEARCHED_LISTS', 6, 200);
const queriesPerList = 20;
const comparisons = new Comparisons();

let backends: OpenBackends;
beforeAll(async () => {
  backends = await openAllBackends('searched');
}, 120_000);
afterAll(() => backends.close());

const [index] = parseIndexes([{ text: ['title', 'body'] }])!;
const fields = [parseField('title'), parseField('body')];

/** Few words, so that queries find some: prefixes of each other, accents, other scripts, long ones, and what looks like syntax. */
const words = [
  'tea',
  'teapot',
  'te',
  'tée',
  'TEA',
  'milk',
  'AND',
  'x1',
  '1x',
  '日',
  '日本',
  'ß',
  'ss',
  'Σ',
  'ς',
  'й',
  'и',
];
const word = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(...words) },
  { weight: 1, arbitrary: fc.constantFrom('y'.repeat(64), 'y'.repeat(70), "it's", 'a-b', '👍', '%x', "'", '\\', '"') },
  {
    weight: 1,
    arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }).filter((text) => !text.includes('\0')),
  },
);
const text = fc.array(word, { maxLength: 8 }).map((all) => all.join(' '));
const anyAttributes: fc.Arbitrary<JsonObject> = fc.record(
  {
    title: fc.oneof(text, fc.constantFrom(null, 7)),
    body: fc.oneof(text, fc.array(text, { maxLength: 2 })),
    n: fc.nat(3),
  },
  { requiredKeys: ['n'] },
);
const term = fc
  .record({
    sign: fc.constantFrom('', '', '', '-'),
    all: fc.array(word, { minLength: 1, maxLength: 3 }),
    star: fc.constantFrom('', '', '*'),
  })
  .map(({ sign, all, star }) => (all.length === 1 ? `${sign}${all[0]!}${star}` : `${sign}"${all.join(' ')}"${star}`));
const anySearch: fc.Arbitrary<TextQuery> = fc
  .array(term, { minLength: 1, maxLength: 3 })
  .map((terms) => parseTextQuery(terms.join(' ')))
  .filter((parsed) => typeof parsed !== 'string');
const anySort = fc.constantFrom<readonly SortKey[]>(
  [{ field: scoreField, direction: 'descending' }, ...newestFirst],
  [
    { field: scoreField, direction: 'ascending' },
    { field: lastModifiedField, direction: 'ascending' },
  ],
  newestFirst,
  [{ field: parseField('n'), direction: 'ascending' }, { field: scoreField, direction: 'descending' }, ...newestFirst],
);
const anyQuery: fc.Arbitrary<readonly [PageQuery, TextQuery]> = fc.tuple(
  fc.record({
    filters: fc.constantFrom<readonly Filter[]>([], [], [{ field: parseField('n'), operator: 'gt', value: 1 }]),
    sort: anySort,
    limit: fc.integer({ min: 1, max: 7 }),
    ids: fc.option(
      fc.uniqueArray(
        fc.nat(60).map((n) => `id${n}`),
        { maxLength: 20 },
      ),
      { nil: undefined, freq: 4 },
    ),
  }),
  anySearch,
);

describe('text search', () => {
  it('gives the pages and counts of a test of each object', { timeout: Math.max(300, 3 * lists) * 1000 }, async () => {
    let number = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyAttributes, { minLength: 1, maxLength: 60, size: 'max' }),
        fc.array(anyQuery, { minLength: queriesPerList, maxLength: queriesPerList }),
        async (all, queries) => {
          const list: ListKey = { kind: 'record', parent: storedParent(`/buckets/b/collections/c${number++}`) };
          for (const stores of backends.opened.filter(({ database }) => database.abilities.textSearch)) {
            const { reader } = stores.storage;
            await inUnitOf(stores, ({ storage: writer }) => fill(writer, list, all));
            const { entries } = await reader.listAll(list, { filters: [], sort: newestFirst, limit: 1000 });
            for (const [query, parsed] of queries) {
              const search: TextSearch = { ...parsed, fields };
              const expected = select(entries, query, search);
              for (const isComplete of [true, false]) {
                const bound: BoundSearch = { search, index: index!, isComplete, requireRoom: undefined };
                comparisons.same(await countMatches(reader, list, query, bound), expected.length);
                comparisons.same(await readAllPages(stores, list, query, bound), expected);
              }
            }
          }
        },
      ),
      { numRuns: lists },
    );
    comparisons.print('Text search');
  });
});

async function fill(writer: StorageWriter, list: ListKey, objects: readonly JsonObject[]): Promise<void> {
  for (const [n, attributes] of objects.entries()) {
    await writer.create(list, `id${n}`, formatAttributes(attributes), undefined, {
      keys: keysOf([index!], attributes),
    });
  }
  for (const [n, attributes] of objects.entries()) {
    const other = objects[(n * 7) % objects.length] ?? attributes;
    if (n % 5 === 0) await writer.update(list, `id${n}`, formatAttributes(other), undefined, keysOf([index!], other));
    if (n % 11 === 3) await writer.delete(list, `id${n}`);
  }
}

function select(
  entries: readonly StoredEntry[],
  { filters, ids, sort }: PageQuery,
  search: TextSearch,
): readonly string[] {
  const scoreOf = (entry: StoredEntry): number | undefined =>
    runAtOnce(scoreInSteps(entry, search, new SearchBudget()));
  const position = (entry: StoredEntry): PagePosition =>
    sort.map(({ field }) => (isScoreField(field) ? scoreOf(entry) : readEntryField(entry, field)));
  return entries
    .filter((entry) => entry instanceof StoredObject && matches(entry, filters) && ids?.includes(entry.id) !== false)
    .filter((entry) => scoreOf(entry) !== undefined)
    .toSorted((a, b) => comparePositions(position(a), position(b), sort))
    .map(({ id }) => id);
}

async function readAllPages(
  { storage: { reader } }: OpenBackends['opened'][number],
  list: ListKey,
  query: PageQuery,
  bound: BoundSearch,
): Promise<readonly string[]> {
  const found: string[] = [];
  let after: PagePosition | undefined;
  for (;;) {
    const page = await searchPage(reader, list, { ...query, after }, bound);
    found.push(...page.entries.map(({ id }) => id));
    if (!page.more) return found;
    after = page.position;
  }
}
