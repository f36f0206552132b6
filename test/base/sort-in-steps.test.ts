// Sorting in steps gives what sorting at once gives.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sortInSteps } from '../../src/base/sort-in-steps.ts';
import { runAtOnce } from '../../src/base/steps.ts';

it('keeps the order of equal items, whatever their number', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 9000 }), fc.integer({ min: 1, max: 1000 }), (count, different) => {
      const items = Array.from({ length: count }, (_, number) => ({ number, value: (number * 7919) % different }));
      const compare = (a: { value: number }, b: { value: number }): number => a.value - b.value;
      expect(runAtOnce(sortInSteps(items, compare))).toEqual(items.toSorted(compare));
    }),
  );
});

it('pauses between parts of many items', () => {
  const steps = sortInSteps(
    Array.from({ length: 20_000 }, (_, number) => -number),
    (a, b) => a - b,
  );
  let pauses = 0;
  while (steps.next().done !== true) pauses++;
  expect(pauses).toBeGreaterThan(20);
});
