// The work of searches for words in memory: an object is tested once, however many of its words have the prefix.
import { expect, it } from 'vitest';
import { createMemoryDatabase } from '../../../src/backends/memory/database.ts';
import { createMemoryStorage } from '../../../src/backends/memory/storage.ts';
import { wordSlot } from '../../../src/core/index/definition.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { QueryBudget } from '../../../src/core/query/budget.ts';
import { wordsOf } from '../../../src/core/text/words.ts';
import { createTestClock } from '../../../src/testing/index.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';

const list = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
const words = Array.from({ length: 15_000 }, (_, n) => `word${n}`);

it('Searches for prefixes test an object with very many words once.', async () => {
  const database = createMemoryDatabase({ clock: createTestClock() });
  const storage = createMemoryStorage(database);
  const keys: (Buffer | undefined)[] = [];
  keys[wordSlot] = Buffer.from(words.join(' '));
  await inUnit(database, (unit) => storage.writer(unit).create(list, 'r', '{}', undefined, { keys }));
  // A test for each of the words would take 15,000 times the characters of all words.
  const search = { words: [], prefixes: wordsOf('wor word1 none'), budget: new QueryBudget(20) };
  expect(await storage.reader.findWords(list, search, 10)).toMatchObject({ ids: [], more: false });
  const found = { ...search, prefixes: wordsOf('wor word1'), budget: new QueryBudget(20) };
  expect(await storage.reader.findWords(list, found, 10)).toMatchObject({ ids: ['r'], more: false });
});
