// Takes the bounds on `last_modified` out of a query, so that the index by timestamp is walked only where something can
// match. Bounds that are no plain numbers stay with the other filters.
import type { Field, Filter, PagePosition, SortKey } from './ast.ts';

/** Both ends inclusive; empty when `low` is above `high`. */
export interface TimestampRange {
  readonly low: number;
  readonly high: number;
}

const everything: TimestampRange = { low: -Infinity, high: Infinity };

/** The range that the filters allow, and the filters which it does not stand for. */
export function splitTimestampRange(filters: readonly Filter[]): {
  readonly range: TimestampRange;
  readonly rest: readonly Filter[];
} {
  let range = everything;
  const rest: Filter[] = [];
  for (const filter of filters) {
    const bound = isTimestampField(filter.field) ? boundOf(filter) : undefined;
    if (bound === undefined) rest.push(filter);
    else range = intersect(range, bound);
  }
  return { range, rest };
}

/** The part of the range that comes after the position in a list sorted by timestamp; `undefined` if not a number. */
export function continueRange(
  range: TimestampRange,
  direction: SortKey['direction'],
  position: PagePosition,
): TimestampRange | undefined {
  const last = position[0];
  if (typeof last !== 'number') return undefined;
  const after =
    direction === 'ascending' ? { low: above(last), high: Infinity } : { low: -Infinity, high: below(last) };
  return intersect(range, after);
}

/** Whether the field is the timestamp of the entry itself. */
export function isTimestampField(field: Field): boolean {
  return field.path.length === 1 && field.path[0] === 'last_modified';
}

function boundOf(filter: Filter): TimestampRange | undefined {
  if (!('value' in filter) || typeof filter.value !== 'number') return undefined;
  const { operator, value } = filter;
  switch (operator) {
    case 'eq':
      return { low: Math.ceil(value), high: Math.floor(value) };
    case 'gt':
      return { low: above(value), high: Infinity };
    case 'min':
      return { low: Math.ceil(value), high: Infinity };
    case 'lt':
      // Missing values and other types do not occur, so only numbers need to be compared.
      return { low: -Infinity, high: below(value) };
    case 'max':
      return { low: -Infinity, high: Math.floor(value) };
    case 'not':
      return undefined;
    default:
      return operator satisfies never;
  }
}

function above(value: number): number {
  return Math.floor(value) + 1;
}

function below(value: number): number {
  return Math.ceil(value) - 1;
}

function intersect(a: TimestampRange, b: TimestampRange): TimestampRange {
  return { low: Math.max(a.low, b.low), high: Math.min(a.high, b.high) };
}
