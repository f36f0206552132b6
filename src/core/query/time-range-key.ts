// Names for parts of lists that many may ask for alike.
import type { PageQuery } from './ast.ts';
import { continueRange, isTimestampField, splitTimestampRange } from './timestamp-range.ts';

/**
 * A name for the stretch of a list in the order of time that a query asks for; another one for each other stretch.
 *
 * @returns `undefined`: the query asks for something else
 */
export function timeRangeKey({
  filters,
  ids,
  sort,
  after,
  limit,
  maxBytes,
  includeDeleted = false,
}: PageQuery): string | undefined {
  const [first] = sort;
  if (ids !== undefined || first === undefined || !isTimestampField(first.field)) return undefined;
  const { range, rest } = splitTimestampRange(filters);
  if (rest.length > 0) return undefined;
  const { direction } = first;
  const { low, high } = (after === undefined ? range : continueRange(range, direction, after)) ?? {};
  if (low === undefined) return undefined;
  return `${direction} ${low} ${high} ${limit} ${maxBytes} ${includeDeleted}`;
}
