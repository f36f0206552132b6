// Searches for common words read the objects that the index finds, and not the whole list.
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { createMemoryDatabase } from '../../src/backends/memory/database.ts';
import { createMemoryStorage } from '../../src/backends/memory/storage.ts';
import { StoredObject, formatAttributes } from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import { runAtOnce } from '../../src/base/steps.ts';
import { keysOf, parseIndexes } from '../../src/core/index/definition.ts';
import { parseField, scoreField } from '../../src/core/query/fields.ts';
import { newestFirst } from '../../src/core/query/sort.ts';
import { parseTextQuery, scoreInSteps, SearchBudget, type TextSearch } from '../../src/core/text/text-query.ts';
import { countMatches, searchPage, type BoundSearch } from '../../src/engine/text-search.ts';
import type { PageQuery } from '../../src/core/query/ast.ts';
import type { StorageReader } from '../../src/contracts/storage.ts';
import { createTestClock } from '../../src/testing/index.ts';
import { inUnit } from '../../src/testing/contract/unit-of-work.ts';

const list = { kind: 'record', parent: storedParent('/buckets/a/collections/b') };
const count = 30_000;
const [index] = parseIndexes([{ text: ['title'] }])!;
const database = createMemoryDatabase({ clock: createTestClock(10 * count) });
const storage = createMemoryStorage(database);

/** A tenth of the objects has both words, and one of them has them next to each other. */
function titleOf(n: number): string {
  if (n === 10) return 'green tea';
  return n % 10 === 0 ? `tea with green ${n % 7}` : `coffee ${n % 7}`;
}

beforeAll(() =>
  inUnit(database, async (transaction) => {
    const objects = Array.from({ length: count }, (_, n) => {
      const attributes = { title: titleOf(n), n };
      return { id: `id${n}`, text: formatAttributes(attributes), keys: keysOf([index!], attributes) };
    });
    await storage.writer(transaction).createAll(list, objects);
  }),
);

function boundTo(text: string): BoundSearch {
  const query = parseTextQuery(text);
  if (typeof query === 'string') throw new Error(query);
  const search = { ...query, fields: [parseField('title')] };
  return { search, index: index!, isComplete: true, requireRoom: undefined };
}

/** Counts the objects that are read. */
function countReads(): { readonly reader: StorageReader; read: number } {
  const counted = { reader: Object.create(storage.reader) as StorageReader, read: 0 };
  counted.reader.listAll = async (...args): ReturnType<StorageReader['listAll']> => {
    const page = await storage.reader.listAll(...args);
    counted.read += page.entries.length;
    return page;
  };
  return counted;
}

const query: PageQuery = { filters: [], sort: newestFirst, limit: 20 };

describe('a search for common words', () => {
  it.each([
    ['a phrase that is nowhere', '"tea green"', 0],
    ['a rare phrase', '"green tea"', 1],
    ['a word without a common one', 'tea -with', 1],
  ])('of %s reads what the index finds', async (_name, text, found) => {
    for (const sort of [
      newestFirst,
      [{ field: scoreField, direction: 'descending' } as const, ...newestFirst],
      [{ field: parseField('n'), direction: 'ascending' } as const, ...newestFirst],
    ]) {
      const counted = countReads();
      const { entries, more } = await searchPage(counted.reader, list, { ...query, sort }, boundTo(text));
      expect([entries.length, more]).toEqual([found, false]);
      expect(counted.read).toBeLessThan(count / 2);
    }
    const counted = countReads();
    expect(await countMatches(counted.reader, list, query, boundTo(text))).toBe(found);
    expect(counted.read).toBeLessThanOrEqual(count / 10);
  });

  it('that fills a page reads the newest objects', async () => {
    const counted = countReads();
    const { entries, more } = await searchPage(counted.reader, list, query, boundTo('"with green"'));
    expect([entries.length, more]).toEqual([20, true]);
    expect(counted.read).toBe(500);
  });

  it('that needs more reads twice as many objects next, not the whole list', async () => {
    const counted = countReads();
    const page = await searchPage(counted.reader, list, { ...query, limit: 60 }, boundTo('tea'));
    expect(page.entries).toHaveLength(60);
    expect(counted.read).toBe(1500);
  });

  it('that needs still more reads the first ones that the index finds, not all of them', async () => {
    const counted = countReads();
    const page = await searchPage(counted.reader, list, { ...query, limit: 300 }, boundTo('tea green'));
    expect(page.entries.map(({ id }) => id)).toEqual(
      Array.from({ length: 300 }, (_, n) => `id${count - 10 * (n + 1)}`),
    );
    expect([page.more, counted.read]).toEqual([true, 2000]);
  });

  it('gives the pages of all matches, in order', async () => {
    const ids: string[] = [];
    let after: PageQuery['after'];
    for (;;) {
      const page = await searchPage(storage.reader, list, { ...query, after, limit: 700 }, boundTo('tea -"green 3"'));
      ids.push(...page.entries.map(({ id }) => id));
      after = page.position;
      if (!page.more) break;
    }
    const expected = Array.from({ length: count / 10 }, (_, n) => 10 * n).filter((n) => n === 10 || n % 7 !== 3);
    expect(ids).toEqual(expected.toReversed().map((n) => `id${n}`));
  });

  it('is done in steps for many phrases in a long text', () => {
    const object = new StoredObject('a', 1, formatAttributes({ title: 'a '.repeat(50_000) }));
    const phrases = Array.from({ length: 50 }, () => `-"${'a '.repeat(100)}b"`).join(' ');
    const steps = scoreInSteps(object, boundTo(`a ${phrases}`).search, new SearchBudget());
    let taken = 0;
    while (steps.next().done !== true) taken++;
    expect(taken).toBeGreaterThan(10);
  });

  it('counts the places of a phrase, which may overlap', () => {
    const word = fc.constantFrom('a', 'b', 'ab');
    const text = fc.array(word, { minLength: 1, maxLength: 30, size: 'max' });
    const phrase = fc.array(word, { minLength: 1, maxLength: 6, size: 'max' });
    fc.assert(
      fc.property(text, phrase, fc.boolean(), (words, wanted, isPrefix) => {
        const found = words.filter((_, start) =>
          wanted.every((each, at) => {
            const other = words[start + at] ?? '';
            return isPrefix && at === wanted.length - 1 ? other.startsWith(each) : other === each;
          }),
        ).length;
        const object = new StoredObject('a', 1, formatAttributes({ title: words.join(' ') }));
        const search = { fields: [parseField('title')], wanted: [{ words: wanted, isPrefix }], excluded: [] };
        const score = found === 0 ? undefined : Math.round((found / (found + 1 + words.length / 50)) * 1e6) / 1e6;
        const scoring = scoreInSteps(object, search as unknown as TextSearch, new SearchBudget());
        expect(runAtOnce(scoring)).toBe(score);
      }),
    );
  });
});
