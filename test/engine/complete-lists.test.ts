// What is remembered about complete indexes is used for a moment, and only for the same declaration.
import { expect, it } from 'vitest';
import { CompleteLists } from '../../src/engine/complete-lists.ts';
import type { ListKey } from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';

const list: ListKey = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
const other: ListKey = { ...list, parent: storedParent('/buckets/b/collections/d') };

it('Complete indexes are known for a second, as long as their declaration is not written.', () => {
  const lists = new CompleteLists();
  lists.add(list, 5, 10_000);
  expect([10_000, 10_999, 11_000, 9999].map((now) => lists.has(list, 5, now))).toEqual([true, true, false, false]);
  expect(lists.has(list, 6, 10_000)).toBe(false);
  expect(lists.has(other, 5, 10_000)).toBe(false);
});

it('A list that is looked after is no longer known to be complete.', () => {
  const lists = new CompleteLists();
  lists.add(list, 5, 10_000);
  lists.forget(list);
  expect(lists.has(list, 5, 10_000)).toBe(false);
});
