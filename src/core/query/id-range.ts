// Ranges of ids: comparisons of the id with a text become the ends of a read in the order of ids.
import type { Condition, Filter } from './ast.ts';
import { compareText } from './compare.ts';
import { isIdField } from './fields.ts';

/** A filter that compares the id with a text. */
export type IdBound = Condition & { readonly operator: 'gt' | 'min' | 'lt' | 'max'; readonly value: string };

/** An end that is absent is open. */
export interface IdRange {
  readonly low?: IdBound;
  readonly high?: IdBound;
}

/** Whether the filter bounds the id. Half of a surrogate pair is no bound: no id has one, and some databases refuse it. */
export function isIdBound(filter: Filter): filter is IdBound {
  return (
    isIdField(filter.field) &&
    ['gt', 'min', 'lt', 'max'].includes(filter.operator) &&
    'value' in filter &&
    typeof filter.value === 'string' &&
    filter.value.isWellFormed()
  );
}

/** Returns the part of the range within the bound. */
export function narrowIds(range: IdRange, bound: IdBound): IdRange {
  const end = bound.operator === 'gt' || bound.operator === 'min' ? 'low' : 'high';
  const known = range[end];
  const difference = known === undefined ? 1 : compareText(bound.value, known.value) * (end === 'low' ? 1 : -1);
  const excludesValue = bound.operator === 'gt' || bound.operator === 'lt';
  return difference > 0 || (difference === 0 && excludesValue) ? { ...range, [end]: bound } : range;
}
