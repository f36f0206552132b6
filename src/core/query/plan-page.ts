// Plans how a page or a count of a list is read: the index, the range of the index, and the filters to test on each entry.
// Backends translate the plan into their own reads, so that the decision is made in one place.
import type { JsonValue } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import type { StoredEntry } from '../objects/stored.ts';
import type { Direction, Filter, PageQuery, Selection, SortKey } from './ast.ts';
import type { QueryBudget } from './budget.ts';
import { matches } from './evaluate.ts';
import { matchesInSteps } from './evaluate-steps.ts';
import { idField, isIdField, isTimestampField, isUniqueField } from './fields.ts';
import { isIdBound, narrowIds, type IdRange } from './id-range.ts';
import {
  everyTimestamp,
  intersectRanges,
  isEveryTimestamp,
  rangeAfter,
  timestampRangeOf,
  type TimestampRange,
} from './timestamp-range.ts';

/** Conditions of every plan, whichever index it uses. */
interface Conditions {
  /** Timestamps of all wanted entries, as far as filters and the start of the page bound them. */
  readonly range: TimestampRange;
  /** Filters that the rest of the plan does not cover: each entry that is read has to match them. */
  readonly residual: readonly Filter[];
  /** Whether tombstones are read as well as live objects. */
  readonly includeDeleted: boolean;
  readonly budget?: QueryBudget | undefined;
}

/** Finds the entries by their ids, each of which is given once. */
export interface Lookup extends Conditions {
  readonly by: 'lookup';
  readonly ids: readonly string[];
}

/** Reads all entries of the range, in the order that suits the backend. */
export interface Scan extends Conditions {
  readonly by: 'scan';
}

/** Reads an index in the order of the page: all entries of the range by timestamp, or those of `ids` by id. */
export type IndexRange =
  | (Conditions & { readonly by: 'time'; readonly direction: Direction })
  | (Conditions & { readonly by: 'id'; readonly direction: Direction; readonly ids: IdRange });

/** A plan to find the entries of a selection in any order. */
export type SelectionPlan = Lookup | Scan;

/**
 * A plan to find a page. `time` and `id` deliver its entries in order and end with it. `lookup` and `scan` deliver
 * candidates: the page has those that come first in the order of `sort`, after the position `after`.
 */
export type PagePlan = (SelectionPlan | IndexRange) &
  Pick<PageQuery, 'limit' | 'maxBytes' | 'after'> & {
    /** Ends with the first key that is unique in the list, because later keys have no effect. */
    readonly sort: readonly SortKey[];
  };

/** Whether a backend reads pages in the order of ids: always, only when no filter is left to test, or never. */
export type IdOrder = 'always' | 'unfiltered' | 'never';

const uniqueLists = new WeakSet<readonly string[]>();

/** Notes that each id of a long list is given once, so that plans need not compare all of them. Returns the list. */
export function withoutRepetition(ids: readonly string[]): readonly string[] {
  uniqueLists.add(ids);
  return ids;
}

/** Plans a read of all selected entries, such as a count. */
export function planSelection({ filters, ids, includeDeleted = false, budget }: Selection): SelectionPlan {
  let range = everyTimestamp;
  let wanted = ids;
  const residual: Filter[] = [];
  for (const filter of filters) {
    const timestamps = timestampRangeOf(filter);
    const named = namedIds(filter);
    if (timestamps !== undefined) range = intersectRanges(range, timestamps);
    else if (named === undefined) residual.push(filter);
    else wanted = wanted === undefined ? [...named] : wanted.filter((id) => named.has(id));
  }
  if (wanted === undefined) return { by: 'scan', range, residual, includeDeleted, budget };
  const unique = uniqueLists.has(wanted) ? wanted : [...new Set(wanted)];
  return { by: 'lookup', ids: unique, range, residual, includeDeleted, budget };
}

/** Plans a read of one page. */
export function planPage(query: PageQuery, idOrder: IdOrder = 'always'): PagePlan {
  const { limit, maxBytes, after } = query;
  const selection = planSelection(query);
  const unique = query.sort.findIndex(({ field }) => isUniqueField(field));
  const sort = unique === -1 ? query.sort : query.sort.slice(0, unique + 1);
  const ordered = unique === 0 && selection.by === 'scan' ? planIndex(selection, sort[0]!, idOrder) : undefined;
  const start = ordered === undefined || after === undefined ? ordered : continueIndex(ordered, after[0]);
  // Each plan is a new object. Copies with spread properties would take most of the time of a short query.
  return Object.assign(start ?? selection, { limit, maxBytes, sort, after: start === undefined ? after : undefined });
}

function planIndex(scan: Scan, { field, direction }: SortKey, idOrder: IdOrder): IndexRange | undefined {
  const { range, residual, includeDeleted, budget } = scan;
  if (isTimestampField(field)) return { by: 'time', direction, range, residual, includeDeleted, budget };
  // A bounded range is expected to hold few entries, which are found by their timestamps and sorted.
  if (idOrder === 'never' || !isEveryTimestamp(range)) return undefined;
  let ids: IdRange = {};
  const rest: Filter[] = [];
  for (const filter of residual) {
    if (isIdBound(filter)) ids = narrowIds(ids, filter);
    else rest.push(filter);
  }
  if (idOrder === 'unfiltered' && rest.length > 0) return undefined;
  return { by: 'id', direction, ids, range, residual: rest, includeDeleted, budget };
}

/**
 * Returns the part of an index range that follows an entry.
 *
 * @param last timestamp or id of the entry; after a value of another type no range begins
 */
export function continueIndex(part: IndexRange, last: JsonValue | undefined): IndexRange | undefined {
  const { direction } = part;
  if (part.by === 'time') {
    return typeof last === 'number' ? { ...part, range: rangeAfter(part.range, direction, last) } : undefined;
  }
  if (typeof last !== 'string' || !last.isWellFormed()) return undefined;
  const operator = direction === 'ascending' ? 'gt' : 'lt';
  return { ...part, ids: narrowIds(part.ids, { field: idField, operator, value: last }) };
}

/** The only ids that can match the filter; `undefined` when it does not name any. */
function namedIds(filter: Filter): ReadonlySet<string> | undefined {
  if (!isIdField(filter.field)) return undefined;
  const values = filter.operator === 'eq' ? [filter.value] : filter.operator === 'in' ? filter.values : undefined;
  return values && new Set(values.filter((value) => typeof value === 'string'));
}

/** Whether an entry that was read is wanted: the test of a candidate for the page, or of an entry to be counted. */
export function isWanted(entry: StoredEntry, { range, residual }: Conditions): boolean {
  const { lastModified } = entry;
  return lastModified >= range.low && lastModified <= range.high && matches(entry, residual);
}

/** Returns the result of `isWanted`, in steps when that may take long. */
export function* wantedInSteps(entry: StoredEntry, { range, residual }: Conditions): Steps<boolean> {
  const { lastModified } = entry;
  return lastModified >= range.low && lastModified <= range.high && (yield* matchesInSteps(entry, residual));
}

/** Whether an index delivers the page in its order, and nothing but the page. */
export function isExact({ by, residual }: PagePlan | SelectionPlan): boolean {
  return (by === 'time' || by === 'id') && residual.length === 0;
}

/** Returns the budget that the work on the entries of a plan is noted in; `undefined` when their attributes are not read. */
export function budgetOf(plan: PagePlan | SelectionPlan): QueryBudget | undefined {
  return isExact(plan) ? undefined : plan.budget;
}

/** Whether the plan reads the whole list, whose size backends keep. */
export function isWholeList({ by, range, residual }: SelectionPlan): boolean {
  return by === 'scan' && residual.length === 0 && isEveryTimestamp(range);
}

/**
 * Returns a cache key for pages: the same for queries that read the same range of a list by time, whose pages many clients
 * request. Returns `undefined` for other queries.
 */
export function timeRangeKey(plan: PagePlan): string | undefined {
  if (plan.by !== 'time' || !isExact(plan)) return undefined;
  const { direction, range, limit, maxBytes, includeDeleted } = plan;
  return `${direction} ${range.low} ${range.high} ${limit} ${maxBytes} ${includeDeleted}`;
}
