// The first items of a sequence are those that sorting all of them gives.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runAtOnce, type Steps } from '../../src/base/steps.ts';
import { TopN } from '../../src/base/top-n.ts';

const compare = (a: number, b: number): number => a - b;

function add(first: TopN<number>, item: number): void {
  const rest: Steps<void> | undefined = first.add(item);
  if (rest !== undefined) runAtOnce(rest);
}

it('keeps the first items in order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer(), { maxLength: 500, size: 'max' }),
      fc.integer({ min: 1, max: 20 }),
      (all, wanted) => {
        const first = new TopN<number>(wanted, compare);
        for (const item of all) add(first, item);
        expect(runAtOnce(first.finish())).toEqual(all.toSorted(compare).slice(0, wanted));
      },
    ),
  );
});

it('keeps the first items up to the one that exceeds the weight, and at least two', () => {
  const item = fc.integer({ min: 0, max: 50 });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 200 }), item, fc.integer({ min: 1, max: 20 }), (all, max, wanted) => {
      const first = new TopN<number>(wanted, compare, { weigh: (weight) => weight, max });
      for (const weight of all) add(first, weight);
      const sorted = all.toSorted(compare);
      let total = 0;
      const end = sorted.findIndex((weight, index) => (total += weight) > max && index > 0);
      expect(runAtOnce(first.finish())).toEqual(sorted.slice(0, Math.min(wanted, end === -1 ? all.length : end + 1)));
    }),
  );
});
