import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createMemoryDatabase } from '../../../src/backends/memory/database.ts';
import { createMemoryStorage } from '../../../src/backends/memory/storage.ts';
import { StoredObject, type StoredEntry } from '../../../src/core/objects/stored.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import type { Filter, PageQuery } from '../../../src/core/query/ast.ts';
import { matches } from '../../../src/core/query/evaluate.ts';
import { parseField } from '../../../src/core/query/fields.ts';
import { compareEntries, comparePositions, positionOf } from '../../../src/core/query/sort.ts';
import { createTestClock } from '../../../src/testing/index.ts';
import { anyFilter, anyQuery, changeOf, keysOfText, type Change } from '../../contract/queries.ts';

const list = { kind: 'record', parent: storedParent('/buckets/a/collections/b') };

/** Returns the expected result: evaluates and sorts all entries, and cuts the page. */
function selectSimply(entries: readonly StoredEntry[], query: PageQuery): { ids: readonly string[]; more: boolean } {
  const { ids, filters, sort, after, limit } = query;
  const found = entries
    .filter((entry) => (ids === undefined || ids.includes(entry.id)) && matches(entry, filters))
    .filter((entry) => after === undefined || comparePositions(positionOf(entry, sort), after, sort) > 0)
    .toSorted(compareEntries(sort));
  return { ids: found.slice(0, limit).map(({ id }) => id), more: found.length > limit };
}

async function fill(changes: readonly Change[]): Promise<{
  storage: ReturnType<typeof createMemoryStorage>;
  live: readonly StoredEntry[];
  all: readonly StoredEntry[];
}> {
  const database = createMemoryDatabase({ clock: createTestClock(1000) });
  const storage = createMemoryStorage(database);
  const unit = await database.begin();
  const writer = storage.writer(unit);
  const ids = new Set<string>();
  for (const { id, text, lastModified } of changes) {
    ids.add(id);
    if (text === undefined) await writer.delete(list, id, { lastModified }).catch(() => undefined);
    else await writer.update(list, id, text, lastModified, keysOfText(text)).catch(() => undefined);
  }
  const live: StoredEntry[] = [];
  const all: StoredEntry[] = [];
  for (const id of ids) {
    const { object, tombstone } = await writer.lock(list, id);
    if (object !== undefined) live.push(object);
    const entry = object ?? tombstone;
    if (entry !== undefined) all.push(entry);
  }
  await unit.commit();
  return { storage, live, all };
}

describe('memory lists', () => {
  it('answer every query as the query evaluator does', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(changeOf(1000), { maxLength: 25, size: 'max' }),
        fc.array(anyQuery(1000), { minLength: 3, maxLength: 6 }),
        async (changes, queries) => {
          const { storage, live, all } = await fill(changes);
          for (const query of queries) {
            const { entries, more } = await storage.reader.listAll(list, query);
            const expected = selectSimply(query.includeDeleted ? all : live, query);
            expect({ ids: entries.map(({ id }) => id), more }).toEqual(expected);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it('parse a large object a few times for a page in any order, however many are compared', async () => {
    const texts = Array.from({ length: 60 }, (_, n) => `{"n":${(n * 37) % 60},"text":"${'x'.repeat(70_000)}"}`);
    const { storage, live } = await fill(texts.map((text, n) => ({ id: `id${n}`, text, lastModified: 2000 + n })));
    const sort = ['n', 'id'].map((name) => ({ field: parseField(name), direction: 'ascending' }) as const);
    const query: PageQuery = { filters: [], sort, limit: 60 };
    const expected = selectSimply(live, query);
    const looks = vi.spyOn(StoredObject.prototype, 'attributes', 'get');
    onTestFinished(() => {
      looks.mockRestore();
    });
    const { entries } = await storage.reader.listAll(list, query);
    expect(looks.mock.calls.length).toBeLessThanOrEqual(2 * texts.length);
    expect(entries.map(({ id }) => id)).toEqual(expected.ids);
  });

  it('count as the query evaluator does', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(changeOf(1000), { maxLength: 25, size: 'max' }),
        fc.array(anyFilter(1000), { maxLength: 3 }) as fc.Arbitrary<readonly Filter[]>,
        fc.boolean(),
        async (changes, filters, includeDeleted) => {
          const { storage, live, all } = await fill(changes);
          const expected = (includeDeleted ? all : live).filter((entry) => matches(entry, filters)).length;
          expect(await storage.reader.countAll(list, { filters, includeDeleted })).toBe(expected);
        },
      ),
      { numRuns: 200 },
    );
  });
});
