import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { newestFirst } from '../../../src/core/query/sort.ts';
import { openTestDatabase, records } from './temporary.ts';

it('reads one long page in a turn of the event loop, so that its memory is counted before the next one is read', async () => {
  const test = await openTestDatabase();
  const { reader } = test.storage;
  await test.unit(async (storage) => {
    await storage.create(records, 'long', `{"text":"${'x'.repeat(2_000_000)}"}`);
  });
  await nextTurn();
  let read = 0;
  const pages = Array.from({ length: 5 }, async () => {
    await reader.listText(records, { filters: [], sort: newestFirst, limit: 10 });
    read++;
  });
  for (let n = 0; n < 20; n++) await Promise.resolve();
  expect(read).toBe(1);
  await Promise.all(pages);
  expect(read).toBe(5);
});
