// Ranges of timestamps: filters on `last_modified` become the ends of a search in the index by timestamp. A filter that no
// range of integers expresses, such as `not`, remains a filter.
import type { Direction, Filter } from './ast.ts';
import { isTimestampField } from './fields.ts';

/** Both ends are included. Empty when `low` is above `high`. */
export interface TimestampRange {
  readonly low: number;
  readonly high: number;
}

/** All possible timestamps. */
export const everyTimestamp: TimestampRange = { low: 0, high: Number.MAX_SAFE_INTEGER };

/** Whether the range excludes no timestamp. */
export function isEveryTimestamp({ low, high }: TimestampRange): boolean {
  return low <= everyTimestamp.low && high >= everyTimestamp.high;
}

/**
 * Returns the timestamp up to which the client already knows the list: `T` for `_since=T`, `T - 1` for
 * `min_last_modified=T`. `undefined` when no filter states one, or it is 0.
 */
export function knownUntil(filters: readonly Filter[]): number | undefined {
  let known = 0;
  for (const filter of filters) {
    if (filter.operator === 'gt' || filter.operator === 'min') {
      known = Math.max(known, (timestampRangeOf(filter)?.low ?? 0) - 1);
    }
  }
  return known > 0 ? known : undefined;
}

/** Returns the timestamps that match the filter; `undefined` when they are no range, or it is on another field. */
export function timestampRangeOf(filter: Filter): TimestampRange | undefined {
  if (!isTimestampField(filter.field) || !('value' in filter) || typeof filter.value !== 'number') return undefined;
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

/** Returns the part of the range strictly after the timestamp in the direction. */
export function rangeAfter({ low, high }: TimestampRange, direction: Direction, last: number): TimestampRange {
  return direction === 'ascending'
    ? { low: Math.max(low, Math.floor(last) + 1), high }
    : { low, high: Math.min(high, Math.ceil(last) - 1) };
}

/** Returns the timestamps that are in both ranges. */
export function intersectRanges(a: TimestampRange, b: TimestampRange): TimestampRange {
  return { low: Math.max(a.low, b.low), high: Math.min(a.high, b.high) };
}
