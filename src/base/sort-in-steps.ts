// Sorting in steps: runs that the JavaScript engine sorts at once, which are then merged.
import type { Steps } from './steps.ts';

/** Items that are sorted at once, and items that are merged in one step: less than a millisecond when they compare fast. */
const itemsPerStep = 2000;

/**
 * Returns the items in order, those that compare equal in their given order.
 *
 * @param sort sorts a few items at once, as `Array.prototype.toSorted` does
 */
export function* sortInSteps<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  sort: (few: readonly T[]) => readonly T[] = (few) => few.toSorted(compare),
): Steps<readonly T[]> {
  if (items.length <= itemsPerStep) return sort(items);
  let runs: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += itemsPerStep) {
    if (start > 0) yield;
    runs.push(sort(items.slice(start, start + itemsPerStep)));
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* merge(runs[at]!, runs[at + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0]!;
}

function* merge<T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number): Steps<readonly T[]> {
  const merged: T[] = [];
  let [left, right] = [0, 0];
  while (left < a.length && right < b.length) {
    merged.push(compare(a[left]!, b[right]!) <= 0 ? a[left++]! : b[right++]!);
    if (merged.length % itemsPerStep === 0) yield;
  }
  return [...merged, ...a.slice(left), ...b.slice(right)];
}
