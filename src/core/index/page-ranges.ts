// The ranges of a declared index that hold the entries of a page.
import type { PageQuery } from '../query/ast.ts';
import { comparePositions } from '../query/sort.ts';
import { everyTimestamp, rangeAfter, type TimestampRange } from '../query/timestamp-range.ts';
import { encodeFields } from './definition.ts';
import {
  endOf,
  orderOf,
  planIndexes,
  startOf,
  type FixedSpan,
  type IndexOrder,
  type IndexPlan,
  type KeySpan,
} from './plan-index.ts';

/** Objects of one list to read from an index, ordered by key, and the newest first among those with equal keys. */
export interface KeyRange extends KeySpan {
  readonly slot: number;
  /** Whether the last ones are read first, and the oldest first among those with equal keys. */
  readonly isReverse: boolean;
  /** Only objects with such timestamps; absent: all. */
  readonly timestamps?: TimestampRange;
  readonly limit: number;
}

/** The ranges that hold the entries of a page and of those after it, and nothing else. */
export interface OrderedRanges extends IndexOrder {
  readonly slot: number;
  /** At least one; one after the other in the order of the page. */
  readonly ranges: readonly KeyRange[];
  /** Keys that were cut off: when there are any, the page may have other entries in between. */
  readonly uncertain: KeySpan | undefined;
}

/** Returns the ranges of a page that an index delivers in its order without a test; `undefined` when there are none. */
export function planOrderedRanges(query: PageQuery): OrderedRanges | undefined {
  const [plan, ...alternatives] = planIndexes(query, query.sort) ?? [];
  if (plan === undefined || alternatives.length > 0 || plan.residual.length > 0) return undefined;
  const order = orderOf(plan, query.sort);
  const [span, ...others] = plan.spans.filter(({ part }) => part === 'whole');
  if (order === undefined || span === undefined || others.length > 0) return undefined;
  const ranges = partOf(plan, span, order, { query, limit: query.limit + 1 });
  const [uncertain, ...more] = plan.spans.filter(({ part }) => part !== 'whole');
  if (ranges === undefined || ranges.length === 0 || more.length > 0) return undefined;
  return { slot: plan.index.slot, ...order, ranges, uncertain };
}

/** Returns the ranges of a span for a page; `undefined` when the position of the page is not in the index. */
export function partOf(
  plan: IndexPlan,
  span: FixedSpan,
  { isReverse, isNewestFirst }: IndexOrder,
  { query, limit }: { readonly query: PageQuery; readonly limit: number },
): readonly KeyRange[] | undefined {
  const { slot } = plan.index;
  const whole = { low: span.low, high: span.high, slot, isReverse, limit };
  if (query.after === undefined) return [whole];
  const comparison = compareToPosition(plan, span, query);
  if (comparison === undefined) return undefined;
  if (comparison < 0) return [];
  if (comparison > 0) return [whole];
  const last = positionIn(plan, span, query);
  if (span.part === 'cut') {
    const rest = isReverse
      ? { ...whole, high: lower(span.high, endOf(last)) }
      : { ...whole, low: higher(span.low, last) };
    return [rest].filter(isPossible);
  }
  const time = query.after.at(-1);
  if (typeof time !== 'number') return undefined;
  const next = keyAfter(last);
  const timestamps = rangeAfter(everyTimestamp, isNewestFirst ? 'descending' : 'ascending', time);
  // The position may come from another query, whose bounds were others.
  const tied = { low: higher(span.low, last), high: lower(span.high, next) };
  const ties = { ...tied, slot, isReverse: !isNewestFirst, timestamps, limit };
  const rest = isReverse ? { ...whole, high: lower(span.high, last) } : { ...whole, low: higher(span.low, next) };
  return [...(timestamps.low > timestamps.high ? [] : [ties]), rest].filter(isPossible);
}

/**
 * Orders the values that a span has fixed and those at the position of the page. Returns `undefined` unless the sort begins
 * with the fields that it has in common with these values.
 */
function compareToPosition(
  { index, fixed }: IndexPlan,
  span: FixedSpan,
  { sort, after = [] }: PageQuery,
): number | undefined {
  const names = index.fields.slice(0, fixed).map(({ field }) => field.name);
  const isFixed = sort.map(({ field }) => names.includes(field.name));
  const leading = isFixed.includes(false) ? isFixed.indexOf(false) : sort.length;
  if (isFixed.lastIndexOf(true) >= leading) return undefined;
  const keys = sort.slice(0, leading);
  const values = keys.map(({ field }) => span.values[names.indexOf(field.name)]);
  return comparePositions(values, after.slice(0, leading), keys);
}

/** Returns the key at the position of the page in a span; of keys that were cut off, its beginning. */
function positionIn({ index, fixed }: IndexPlan, span: FixedSpan, { sort, after = [] }: PageQuery): Buffer {
  const values = index.fields.slice(fixed).map(({ field }) => {
    const number = sort.findIndex((key) => key.field.name === field.name);
    return after[number];
  });
  const { bytes } = encodeFields(index, values, fixed);
  if (span.part !== 'cut') return Buffer.concat([span.start, bytes]);
  const { bytes: first } = encodeFields(index, span.values);
  return startOf(index, 'cut', Buffer.concat([first, bytes]));
}

/** Returns the lowest bytes above a key. */
export function keyAfter(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.of(0)]);
}

function lower(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) < 0 ? a : b;
}

function higher(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) > 0 ? a : b;
}

function isPossible({ low, high }: KeySpan): boolean {
  return Buffer.compare(low, high) < 0;
}
