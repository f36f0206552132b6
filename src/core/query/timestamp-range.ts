// Takes the bounds on `last_modified` out of a query, so that they become the bounds of an index search. What cannot be
// said as a range of integers stays with the other filters.
import type { Filter, PagePosition, SortKey } from './ast.ts';
import { isTimestampField } from './fields.ts';

/** Both ends inclusive; empty when `low` is above `high`. */
export interface TimestampRange {
  readonly low: number;
  readonly high: number;
}

/** All timestamps there can be. */
export const everyTimestamp: TimestampRange = { low: 0, high: Number.MAX_SAFE_INTEGER };

/** The range that the filters allow, and the filters which it does not stand for. */
export function splitTimestampRange(filters: readonly Filter[]): {
  readonly range: TimestampRange;
  readonly rest: readonly Filter[];
} {
  let range = everyTimestamp;
  const rest: Filter[] = [];
  for (const filter of filters) {
    const bounds = isTimestampField(filter.field) ? boundsOf(filter) : undefined;
    if (bounds === undefined) rest.push(filter);
    else range = intersectRanges(range, bounds);
  }
  return { range, rest };
}

/**
 * Up to which moment whoever asks says to know the list: `T` of `_since=T`, one less than that of `min_last_modified`.
 * `undefined` when nothing is said, or that nothing is known.
 */
export function knownUntil(filters: readonly Filter[]): number | undefined {
  let known = 0;
  for (const filter of filters) {
    if (!isTimestampField(filter.field) || (filter.operator !== 'gt' && filter.operator !== 'min')) continue;
    known = Math.max(known, (boundsOf(filter)?.low ?? 0) - 1);
  }
  return known > 0 ? known : undefined;
}

function boundsOf(filter: Filter): TimestampRange | undefined {
  if (!('value' in filter) || typeof filter.value !== 'number') return undefined;
  const { operator, value } = filter;
  const { low, high } = everyTimestamp;
  switch (operator) {
    case 'eq':
      return { low: Math.ceil(value), high: Math.floor(value) };
    case 'gt':
      return { low: Math.floor(value) + 1, high };
    case 'min':
      return { low: Math.ceil(value), high };
    case 'lt':
      return { low, high: Math.ceil(value) - 1 };
    case 'max':
      return { low, high: Math.floor(value) };
    case 'not':
      return undefined;
  }
}

/** The part of the range strictly after the timestamp in the direction. */
export function rangeAfter(range: TimestampRange, direction: SortKey['direction'], last: number): TimestampRange {
  return direction === 'ascending'
    ? intersectRanges(range, { low: Math.floor(last) + 1, high: range.high })
    : intersectRanges(range, { low: range.low, high: Math.ceil(last) - 1 });
}

/** The same after a position in a list sorted by timestamp; `undefined` when that does not begin with a number. */
export function continueRange(
  range: TimestampRange,
  direction: SortKey['direction'],
  [last]: PagePosition,
): TimestampRange | undefined {
  return typeof last === 'number' ? rangeAfter(range, direction, last) : undefined;
}

function intersectRanges(a: TimestampRange, b: TimestampRange): TimestampRange {
  return { low: Math.max(a.low, b.low), high: Math.min(a.high, b.high) };
}
