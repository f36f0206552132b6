// When work is run again after a conflict, and which lists it locks first.
import { expect, test } from 'vitest';
import { BackendUnavailable, TransactionConflict } from '../../src/contracts/errors.ts';
import { storedUri } from '../../src/core/objects/uris.ts';
import { Retry } from '../../src/engine/retry.ts';

const lists = ['a', 'b', 'c'].map((uri) => ({ kind: 'record', parent: storedUri(uri) }));

test('does not count attempts that found a further contended list, and allows eight others', () => {
  const retry = new Retry();
  expect(retry.allows(new TransactionConflict('lost', { lists: lists.slice(0, 2) }))).toBe(true);
  expect(retry.allows(new TransactionConflict('lost', { lists: lists.slice(1) }))).toBe(true);
  expect([retry.attempt, retry.contended]).toEqual([1, lists]);
  const again = Array.from({ length: 8 }, () => retry.allows(new TransactionConflict('lost', { lists })));
  expect(again).toEqual([true, true, true, true, true, true, true, false]);
  expect([retry.attempt, retry.contended]).toEqual([8, lists]);
});

test('allows another attempt after a conflict only', () => {
  const retry = new Retry();
  for (const error of [new BackendUnavailable('storage', 'gone'), new Error('a mistake')]) {
    expect(retry.allows(error)).toBe(false);
  }
});
