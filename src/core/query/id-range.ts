// Takes the bounds on ids out of a query, so that they become the ends of a search in the order of ids.
import { isIdField } from './fields.ts';
import type { Filter } from './ast.ts';
import { compareText } from './compare.ts';

/** A comparison of the id with a text. */
export interface IdBound {
  readonly operator: 'gt' | 'min' | 'lt' | 'max';
  readonly id: string;
}

/** Both ends may or may not belong to it. */
export interface IdRange {
  readonly low: string | undefined;
  readonly high: string | undefined;
}

/** The bounds among the filters, and the filters which they do not stand for. */
export function splitIdBounds(filters: readonly Filter[]): {
  readonly bounds: readonly IdBound[];
  readonly rest: readonly Filter[];
} {
  const bounds: IdBound[] = [];
  const rest: Filter[] = [];
  for (const filter of filters) {
    const bound = isIdField(filter.field) ? boundOf(filter) : undefined;
    if (bound === undefined) rest.push(filter);
    else bounds.push(bound);
  }
  return { bounds, rest };
}

function boundOf(filter: Filter): IdBound | undefined {
  switch (filter.operator) {
    case 'gt':
    case 'min':
    case 'lt':
    case 'max':
      // No id has half of a surrogate pair, and not every database could be asked for one.
      return typeof filter.value === 'string' && filter.value.isWellFormed()
        ? { operator: filter.operator, id: filter.value }
        : undefined;
    default:
      return undefined;
  }
}

/** Where everything that the filters allow lies, and perhaps its neighbours. */
export function idRangeOf(filters: readonly Filter[]): IdRange {
  let low: string | undefined;
  let high: string | undefined;
  for (const { operator, id } of splitIdBounds(filters).bounds) {
    if (operator === 'gt' || operator === 'min') low = low === undefined || compareText(id, low) > 0 ? id : low;
    else high = high === undefined || compareText(id, high) < 0 ? id : high;
  }
  return { low, high };
}
