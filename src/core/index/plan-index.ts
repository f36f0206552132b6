// Decides which declared indexes find the entries of a query, and which ranges of their keys hold these entries.
import type { JsonValue } from '../../base/json.ts';
import {
  isCombination,
  type Condition,
  type Filter,
  type Selection,
  type SortKey,
  type ListIndex,
} from '../query/ast.ts';
import { isTimestampField } from '../query/fields.ts';
import { encodeFields, keyParts } from './definition.ts';

/** Keys from `low` on and below `high`. */
export interface KeySpan {
  readonly low: Buffer;
  readonly high: Buffer;
}

/** The keys that have certain values in the first fields, and match the bounds on the next one. */
export interface FixedSpan extends KeySpan {
  /** First bytes of all these keys. */
  readonly start: Buffer;
  /** The values of the first fields. */
  readonly values: readonly (JsonValue | undefined)[];
}

/** The part of an index that holds all entries of a selection, except those whose keys were cut off. */
export interface IndexPlan {
  readonly index: ListIndex;
  /** Disjoint. All entries in them match the filters that are not in `residual`. */
  readonly spans: readonly FixedSpan[];
  /** Number of first fields that have one value in each span. */
  readonly fixed: number;
  /** Filters that entries in the spans may not match. */
  readonly residual: readonly Filter[];
}

/** Maximum number of spans of a plan: lists of values for several fields multiply. */
const maxSpans = 100;

/** Above all bytes that follow the encoding of a value. */
const above = Buffer.of(0xff);

/** Encodings of a missing value. */
const missing = { ascending: Buffer.of(0x70), descending: Buffer.of(0x8f) } as const;

/**
 * Returns plans that together find all entries of the selection: one plan, or one for each alternative. Returns `undefined`
 * when no index helps.
 */
export function planIndexes(selection: Selection, sort: readonly SortKey[]): readonly IndexPlan[] | undefined {
  const { filters, ids, includeDeleted = false } = selection;
  const indexes = selection.indexes?.filter(({ isText }) => !isText) ?? [];
  // Tombstones have no keys, and named objects are found by their ids.
  if (indexes.length === 0 || ids !== undefined || includeDeleted) return undefined;
  const best = choosePlan(indexes, filters, sort);
  if (best !== undefined && isNarrow(best, filters)) return [best];
  for (const filter of filters) {
    if (filter.operator !== 'or') continue;
    const others = filters.filter((other) => other !== filter);
    const plans = filter.branches.flatMap((branch) => {
      const all = [...branch, ...others];
      const plan = choosePlan(indexes, all, sort);
      return plan !== undefined && isNarrow(plan, all) ? [plan] : [];
    });
    if (plans.length > 0 && plans.length === filter.branches.length) return plans;
  }
  return best && [best];
}

/** Whether the spans leave out entries that do not match. */
function isNarrow({ residual }: IndexPlan, filters: readonly Filter[]): boolean {
  return residual.length < filters.length;
}

/** Returns the plan that suits best: equal values first, then the order of the page, then bounds. */
function choosePlan(
  indexes: readonly ListIndex[],
  filters: readonly Filter[],
  sort: readonly SortKey[],
): IndexPlan | undefined {
  let best: IndexPlan | undefined;
  let bestScore = 0;
  for (const index of indexes) {
    const plan = planOne(index, filters);
    const order = orderOf(plan, sort) === undefined ? 0 : 3;
    const score = 4 * plan.fixed + order + (isNarrow(plan, filters) ? 2 : 0);
    if (score > bestScore) [best, bestScore] = [plan, score];
  }
  return best;
}

function planOne(index: ListIndex, filters: readonly Filter[]): IndexPlan {
  const covered = new Set<Filter>();
  let tuples: readonly (readonly (JsonValue | undefined)[])[] = [[]];
  let fixed = 0;
  for (const key of index.fields) {
    const equality = conditionsOn(filters, key).find((filter) => onlyValues(filter) !== undefined);
    const values = equality && onlyValues(equality);
    if (equality === undefined || values === undefined || tuples.length * values.length > maxSpans) break;
    tuples = tuples.flatMap((tuple) => values.map((value) => [...tuple, value]));
    covered.add(equality);
    fixed++;
  }
  const next = index.fields[fixed];
  const bounds = next === undefined ? [] : conditionsOn(filters, next).filter(isBound);
  for (const bound of bounds) covered.add(bound);
  const spans = new Map<string, FixedSpan>();
  for (const tuple of tuples) {
    const span = spanOf(index, tuple, bounds);
    if (span !== undefined) spans.set(span.start.toString('latin1'), span);
  }
  return { index, spans: [...spans.values()], fixed, residual: filters.filter((filter) => !covered.has(filter)) };
}

function conditionsOn(filters: readonly Filter[], { field: { path } }: SortKey): readonly Condition[] {
  return filters.filter(
    (filter): filter is Condition =>
      !isCombination(filter) &&
      filter.field.path.length === path.length &&
      filter.field.path.every((key, position) => key === path[position]),
  );
}

/** Returns the only values of a field that match the filter; `undefined` when there may be others. */
function onlyValues(filter: Condition): readonly (JsonValue | undefined)[] | undefined {
  if (filter.operator === 'eq') return [filter.value];
  if (filter.operator === 'in') return filter.values;
  return filter.operator === 'has' && !filter.present ? [undefined] : undefined;
}

function isBound(filter: Condition): boolean {
  const { operator } = filter;
  return ['lt', 'max', 'gt', 'min'].includes(operator) || (operator === 'has' && filter.present);
}

/** Returns the first bytes of all keys of the index that were not cut off. */
function wholeKeys({ prefix }: ListIndex): Buffer {
  return Buffer.concat([prefix, Buffer.of(keyParts.whole)]);
}

/** Returns the span of the keys that were cut off. */
export function cutSpan(index: ListIndex): KeySpan {
  return { low: Buffer.concat([index.prefix, Buffer.of(keyParts.cut)]), high: wholeKeys(index) };
}

/** Returns the span of the first values and of bounds on the next field; `undefined` when no key is in it. */
function spanOf(
  index: ListIndex,
  tuple: readonly (JsonValue | undefined)[],
  bounds: readonly Condition[],
): FixedSpan | undefined {
  const { bytes, isCut } = encodeFields(index, tuple);
  if (isCut) return undefined;
  const start = Buffer.concat([wholeKeys(index), bytes]);
  let low: Buffer = start;
  let high: Buffer = Buffer.concat([start, above]);
  for (const bound of bounds) {
    const range = rangeOf(index, start, tuple.length, bound);
    if (range.low !== undefined && Buffer.compare(range.low, low) > 0) low = range.low;
    if (range.high !== undefined && Buffer.compare(range.high, high) < 0) high = range.high;
  }
  return Buffer.compare(low, high) < 0 ? { start, values: tuple, low, high } : undefined;
}

/** Returns the keys that match a bound on a field. No whole key begins with a value that was cut off. */
function rangeOf(index: ListIndex, start: Buffer, number: number, bound: Condition): Partial<KeySpan> {
  const { direction } = index.fields[number]!;
  const isAscending = direction === 'ascending';
  if (!('value' in bound)) {
    const at = Buffer.concat([start, missing[direction]]);
    return isAscending ? { high: at } : { low: Buffer.concat([at, above]) };
  }
  const at = Buffer.concat([start, encodeFields(index, [bound.value], number).bytes]);
  const after = Buffer.concat([at, above]);
  switch (bound.operator) {
    case 'min':
      return isAscending ? { low: at } : { high: after };
    case 'gt':
      return isAscending ? { low: after } : { high: at };
    case 'lt':
      return isAscending ? { high: at } : { low: after };
    case 'max':
      return isAscending ? { high: after } : { low: at };
    default:
      return {};
  }
}

/** How each span of a plan is read in the order of a sort. */
export interface IndexOrder {
  /** Whether the keys are read from the last to the first. */
  readonly isReverse: boolean;
  /** Whether objects with equal keys are wanted from the newest to the oldest. Keys are read so unless they are reversed. */
  readonly isNewestFirst: boolean;
}

/** Returns how the spans are read in the order of a sort; `undefined` when they are not in that order. */
export function orderOf({ index, fixed }: IndexPlan, sort: readonly SortKey[]): IndexOrder | undefined {
  const names = new Set(index.fields.slice(0, fixed).map(({ field }) => field.name));
  const rest = index.fields.slice(fixed);
  const keys = sort.filter(({ field }) => !names.has(field.name));
  const last = keys.at(-1);
  if (last === undefined || !isTimestampField(last.field) || keys.length !== rest.length + 1) return undefined;
  const isNewestFirst = last.direction === 'descending';
  const [first] = rest;
  if (first === undefined) return { isReverse: !isNewestFirst, isNewestFirst };
  const isReverse = first.direction !== keys[0]!.direction;
  const isInOrder = rest.every(({ field, direction }, position) => {
    const key = keys[position]!;
    return key.field.name === field.name && (key.direction !== direction) === isReverse;
  });
  return isInOrder ? { isReverse, isNewestFirst } : undefined;
}
