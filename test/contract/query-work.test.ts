// The limit of the work of one query: beyond it reads and deletions fail, and never return or delete less. Requests have it
// from the setting max_query_work.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keysOf, parseIndexes } from '../../src/core/index/definition.ts';
import { formatAttributes } from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import type { Filter, PageQuery } from '../../src/core/query/ast.ts';
import { QueryBudget } from '../../src/core/query/budget.ts';
import { parseField } from '../../src/core/query/fields.ts';
import { newestFirst } from '../../src/core/query/sort.ts';
import { parseTextQuery, type TextQuery } from '../../src/core/text/text-query.ts';
import { countMatches, searchPage, type BoundSearch } from '../../src/engine/text-search.ts';
import { ascending, compare, like } from '../../src/testing/contract/storage/storage-probe.ts';
import { inUnitOf } from '../../src/testing/contract/unit-of-work.ts';
import { openAllBackends, type OpenBackends } from '../support/all-backends.ts';

/** More than the lists have that are read from a cache. */
const objects = 3000;
/** Length of an object, about. */
const chars = 100;
const list = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
const [index] = parseIndexes([{ text: ['title'] }])!;

let backends: OpenBackends;
beforeAll(async () => {
  backends = await openAllBackends('worked');
  for (const backend of backends.opened) {
    await inUnitOf(backend, async ({ storage }) => {
      for (let n = 0; n < objects; n++) {
        const attributes = { n, title: `the milk of the tea ${'x'.repeat(chars - 50)}` };
        const keys = keysOf([index!], attributes);
        await storage.create(list, `r${n}`, formatAttributes(attributes), undefined, { keys });
      }
    });
  }
}, 120_000);
afterAll(() => backends.close());

const limit = 10;
const heavy: readonly Filter[] = [
  { operator: 'nor', branches: Array.from({ length: 50 }, (_, n) => [compare('n', 'lt', -n)]) },
];
const light: readonly Filter[] = [like('title', 'nothing')];
const error = expect.objectContaining({
  key: 'invalidParameters',
  message: expect.stringMatching(/too much work: more than .* million characters .*max_query_work.*declare an index/),
});

/** Millions that a list takes at most with so many conditions, and a part that is too little. */
const enough = (conditions: number): number => Math.ceil((objects * 3 * chars * (conditions + 10)) / 1e6);
const tooLittle = 0.05;

const queries: Readonly<Record<string, Partial<PageQuery> & Pick<PageQuery, 'filters'>>> = {
  'many conditions': { filters: [...heavy, ...light] },
  'one condition': { filters: light },
  'conditions on named objects': {
    filters: [...heavy, ...light],
    ids: Array.from({ length: objects }, (_, n) => `r${n}`),
  },
  'an order by an attribute': { filters: [], sort: [ascending('title'), ...newestFirst] },
};

/** Backends that count the work. PostgreSQL has a time limit. */
const counting = () => backends.opened.filter(({ database }) => database.name !== 'postgresql');

describe('the work of a query', () => {
  it.each(Object.entries(queries))('is limited: %s', async (_, query) => {
    const page = { sort: newestFirst, limit, ...query };
    for (const { storage, database } of counting()) {
      const { reader } = storage;
      const small = (): PageQuery => ({ ...page, budget: new QueryBudget(tooLittle) });
      const large = (): PageQuery => ({ ...page, budget: new QueryBudget(enough(50)) });
      await expect(reader.listAll(list, small()), database.name).rejects.toEqual(error);
      expect(await reader.listAll(list, large())).toEqual(await reader.listAll(list, page));
      if (query.filters.length === 0) continue;
      await expect(reader.countAll(list, small()), database.name).rejects.toEqual(error);
      expect(await reader.countAll(list, large())).toBe(await reader.countAll(list, page));
    }
  });

  it('changes nothing when a deletion exceeds it', async () => {
    for (const backend of counting()) {
      const { reader } = backend.storage;
      const before = await reader.resourceTimestamp(list);
      const query = { filters: heavy, sort: newestFirst, limit: 2 * objects, budget: new QueryBudget(enough(50) / 10) };
      const deletion = inUnitOf(backend, ({ storage }) => storage.deleteAll(list, query));
      await expect(deletion, backend.database.name).rejects.toEqual(error);
      expect(await reader.countAll(list, { filters: [] })).toBe(objects);
      expect(await reader.resourceTimestamp(list)).toBe(before);
    }
  });

  it('is that of all pages of a text search together', async () => {
    const search = { ...(parseTextQuery('"tea the" -milk') as TextQuery), fields: [parseField('title')] };
    const bound: BoundSearch = { search, index: index!, isComplete: true, requireRoom: undefined };
    for (const { storage, database } of backends.opened) {
      if (!database.abilities.textSearch) continue;
      const query = { filters: [], sort: newestFirst, limit };
      const small = (): PageQuery => ({ ...query, budget: new QueryBudget(enough(50) / 10) });
      await expect(searchPage(storage.reader, list, small(), bound), database.name).rejects.toEqual(error);
      await expect(countMatches(storage.reader, list, small(), bound), database.name).rejects.toEqual(error);
      const budget = new QueryBudget(100 * enough(50));
      expect((await searchPage(storage.reader, list, { ...query, budget }, bound)).entries).toEqual([]);
    }
  });
});
