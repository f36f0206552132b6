// When work that lost a race is run again, and what it takes first.
import { expect, test } from 'vitest';
import { BackendUnavailable, TransactionConflict } from '../../src/contracts/errors.ts';
import { Retry } from '../../src/engine/retry.ts';

const lists = ['a', 'b', 'c'].map((parent) => ({ kind: 'record', parent }));

test('An attempt that learned of another list is not counted; of the others there are eight.', () => {
  const races = new Retry();
  expect(races.isLost(new TransactionConflict('lost', { lists: lists.slice(0, 2) }))).toBe(true);
  expect(races.isLost(new TransactionConflict('lost', { lists: lists.slice(1) }))).toBe(true);
  expect([races.attempt, races.contended]).toEqual([1, lists]);
  const again = Array.from({ length: 8 }, () => races.isLost(new TransactionConflict('lost', { lists })));
  expect(again).toEqual([true, true, true, true, true, true, true, false]);
  expect([races.attempt, races.contended]).toEqual([8, lists]);
});

test('Only lost races are a reason to try again.', () => {
  const races = new Retry();
  for (const error of [new BackendUnavailable('storage', 'gone'), new Error('a mistake')]) {
    expect(races.isLost(error)).toBe(false);
  }
});
