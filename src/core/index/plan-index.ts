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
import { encodeFields, keptBytes, keyOf, keyParts } from './definition.ts';

/** Keys from `low` on and below `high`. */
export interface KeySpan {
  readonly low: Buffer;
  readonly high: Buffer;
}

/** The keys that have certain values in the first fields, and match the bounds on the next one; or those that may, of keys that
 * were cut off. */
export interface FixedSpan extends KeySpan {
  /** `whole`: no key was cut off. `equal`: all were, and have the same values. `cut`: all were, and have the same beginning. */
  readonly part: 'whole' | 'equal' | 'cut';
  /** First bytes of all these keys. */
  readonly start: Buffer;
  /** The values of the first fields. */
  readonly values: readonly (JsonValue | undefined)[];
}

/** The part of an index that holds all entries of a selection. */
export interface IndexPlan {
  readonly index: ListIndex;
  /** Disjoint. All entries in those with whole keys match the filters that are not in `residual`. */
  readonly spans: readonly FixedSpan[];
  /** Number of first fields that have one value in each span. */
  readonly fixed: number;
  /** Filters that entries in the spans may not match. */
  readonly residual: readonly Filter[];
}

/** Maximum number of combinations of values of a plan: lists of values for several fields multiply. */
const maxTuples = 1000;

/** Above all bytes that follow the encoding of a value. */
const above = Buffer.of(0xff);

/** Returns the end of the keys that begin with these bytes, of a whole value or of a value that was cut off. */
export function endOf(start: Buffer): Buffer {
  return Buffer.concat([start, above]);
}

/** Encodings of a missing value. */
const missing = { ascending: Buffer.of(0x70), descending: Buffer.of(0x8f) } as const;

interface Planned {
  readonly indexes: readonly ListIndex[];
  readonly sort: readonly SortKey[];
  readonly plans: readonly IndexPlan[] | undefined;
}

/** The last plans by the filters of their query: the engine plans a query to choose indexes, and the backend to read them. */
const planned = new WeakMap<readonly Filter[], Planned>();

/**
 * Returns plans that together find all entries of the selection: one plan, or one for each alternative. Returns `undefined`
 * when no index helps.
 */
export function planIndexes(selection: Selection, sort: readonly SortKey[]): readonly IndexPlan[] | undefined {
  const { filters, ids, includeDeleted = false, indexes = [] } = selection;
  // Tombstones have no keys, and named objects are found by their ids.
  if (indexes.length === 0 || ids !== undefined || includeDeleted) return undefined;
  const known = planned.get(filters);
  if (known?.indexes === indexes && known.sort === sort) return known.plans;
  const ofValues = indexes.filter(({ isText }) => !isText);
  const best = choosePlan(ofValues, filters, sort);
  const plans = planAll(ofValues, filters, [], sort) ?? (best && [best]);
  planned.set(filters, { indexes, sort, plans });
  return plans;
}

/**
 * Returns plans that leave out entries that do not match: one, or one for each alternative.
 *
 * @param others further filters, whose alternatives are not tried
 */
function planAll(
  indexes: readonly ListIndex[],
  filters: readonly Filter[],
  others: readonly Filter[],
  sort: readonly SortKey[],
): readonly IndexPlan[] | undefined {
  const all = [...filters, ...others];
  const best = choosePlan(indexes, all, sort);
  if (best !== undefined && isNarrow(best, all)) return [best];
  for (const filter of filters) {
    if (filter.operator !== 'or') continue;
    const rest = all.filter((other) => other !== filter);
    const plans = filter.branches.map((branch) => planAll(indexes, branch, rest, sort));
    const found = plans.flatMap((each) => each ?? []);
    if (found.length > 0 && !plans.includes(undefined)) return found;
  }
  return undefined;
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
    if (equality === undefined || values === undefined || tuples.length * values.length > maxTuples) break;
    tuples = tuples.flatMap((tuple) => values.map((value) => [...tuple, value]));
    covered.add(equality);
    fixed++;
  }
  const next = index.fields[fixed];
  const bounds = next === undefined ? [] : conditionsOn(filters, next).filter(isBound);
  for (const bound of bounds) covered.add(bound);
  const spans = new Map<string, FixedSpan>();
  for (const tuple of tuples) {
    for (const span of spansOf(index, tuple, bounds)) spans.set(span.start.toString('latin1'), span);
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

/** Returns the spans of the first values and of bounds on the next field that have keys. */
function spansOf(
  index: ListIndex,
  tuple: readonly (JsonValue | undefined)[],
  bounds: readonly Condition[],
): readonly FixedSpan[] {
  const { bytes, isCut } = encodeFields(index, tuple);
  const spans = isCut ? [] : [spanOf(index, 'whole', { tuple, bytes, bounds })];
  if (tuple.length < index.fields.length) {
    // Bounds of other fields than the last one that was kept say nothing.
    spans.push(spanOf(index, 'cut', { tuple, bytes, bounds: isCut ? [] : bounds }));
  } else if (isCut) {
    const key = keyOf(index, tuple);
    spans.push({ part: 'equal', start: key, values: tuple, low: key, high: endOf(key) });
  }
  return spans.filter(({ low, high }) => Buffer.compare(low, high) < 0);
}

interface Beginning {
  readonly tuple: readonly (JsonValue | undefined)[];
  /** Encoding of the tuple. */
  readonly bytes: Buffer;
  readonly bounds: readonly Condition[];
}

function spanOf(index: ListIndex, part: 'whole' | 'cut', { tuple, bytes, bounds }: Beginning): FixedSpan {
  const start = startOf(index, part, bytes);
  let low: Buffer = start;
  let high: Buffer = endOf(start);
  for (const bound of bounds) {
    const range = rangeOf(index, part, { tuple, bytes }, bound);
    if (range.low !== undefined && Buffer.compare(range.low, low) > 0) low = range.low;
    if (range.high !== undefined && Buffer.compare(range.high, high) < 0) high = range.high;
  }
  return { part, start, values: tuple, low, high };
}

/** Returns the first bytes of the keys whose values are encoded as these bytes, and others after them. */
export function startOf({ prefix }: ListIndex, part: 'whole' | 'cut', bytes: Buffer): Buffer {
  return part === 'whole'
    ? Buffer.concat([prefix, Buffer.of(keyParts.whole), bytes])
    : Buffer.concat([prefix, Buffer.of(keyParts.cut), bytes.subarray(0, keptBytes)]);
}

/**
 * Returns the keys that match a bound on a field, and those of which too little was kept to know. No whole key begins with a
 * value that was cut off.
 */
function rangeOf(
  index: ListIndex,
  part: 'whole' | 'cut',
  { tuple, bytes }: Omit<Beginning, 'bounds'>,
  bound: Condition,
): Partial<KeySpan> {
  const number = tuple.length;
  const { direction } = index.fields[number]!;
  const isAscending = direction === 'ascending';
  const value = 'value' in bound ? encodeFields(index, [bound.value], number).bytes : missing[direction];
  const all = Buffer.concat([bytes, value]);
  const at = startOf(index, part, all);
  const after = endOf(at);
  const isUncertain = part === 'cut' && all.length >= keptBytes;
  const from = (start: Buffer): Partial<KeySpan> => ({ low: isUncertain ? at : start });
  const upTo = (end: Buffer): Partial<KeySpan> => ({ high: isUncertain ? after : end });
  switch (bound.operator) {
    case 'min':
      return isAscending ? from(at) : upTo(after);
    case 'gt':
      return isAscending ? from(after) : upTo(at);
    case 'lt':
      return isAscending ? upTo(at) : from(after);
    case 'max':
      return isAscending ? upTo(after) : from(at);
    case 'has':
      return isAscending ? upTo(at) : from(after);
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
