// What is remembered about complete indexes is used for a moment, and only for the same declaration.
import { expect, it } from 'vitest';
import { CompleteLists, type Declared } from '../../src/engine/complete-lists.ts';
import type { ListKey } from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';

const list: ListKey = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
const other: ListKey = { ...list, parent: storedParent('/buckets/b/collections/d') };

const declared: Declared = { declaredAt: 5, indexes: [] };

it('Complete indexes are known for a second, with the timestamp of their declaration.', () => {
  const lists = new CompleteLists();
  lists.add(list, declared, 10_000);
  expect([10_000, 10_999].map((now) => lists.find(list, now))).toMatchObject([declared, declared]);
  expect([11_000, 9999].map((now) => lists.find(list, now))).toEqual([undefined, undefined]);
  expect(lists.find(other, 10_000)).toBeUndefined();
});

it('A list that is looked after is no longer known to be complete.', () => {
  const lists = new CompleteLists();
  lists.add(list, declared, 10_000);
  lists.forget(list);
  expect(lists.find(list, 10_000)).toBeUndefined();
});
