// Finds the page of a list that a query asks for. Ordered by timestamp or by id, the index delivers the entries of the
// page; anything else looks at every entry in question and keeps the best. What looks at many goes in steps.
import { TopN } from '../../base/top-n.ts';
import type { Steps } from '../../base/steps.ts';
import { fitPage } from '../../core/objects/page-text.ts';
import { isTombstone, type StoredEntry, type StoredObject } from '../../core/objects/stored.ts';
import type { Filter, PagePosition, PageQuery, Selection } from '../../core/query/ast.ts';
import { matches } from '../../core/query/evaluate.ts';
import { idRangeOf } from '../../core/query/id-bounds.ts';
import { namedIds } from '../../core/query/named-ids.ts';
import { lastModifiedField } from '../../core/query/fields.ts';
import { compareEntries, comparePositions, isAfter, positionOf } from '../../core/query/sort.ts';
import {
  continueRange,
  everyTimestamp,
  isIdField,
  isTimestampField,
  splitTimestampRange,
  type TimestampRange,
} from '../../core/query/timestamp-range.ts';
import type { ListContents } from './list-table.ts';
import { bothIndexes, liveIndexes, lookUp, scan, type Indexes, type IndexRange } from './scan.ts';

export interface Selected<T extends StoredEntry> {
  readonly entries: readonly T[];
  readonly more: boolean;
}

/** One page of a list, tombstones included when the query wants them. */
export function* selectPage(contents: ListContents, query: PageQuery): Steps<Selected<StoredEntry>> {
  const found = query.includeDeleted
    ? yield* collect(bothIndexes(contents), query)
    : yield* collect(liveIndexes(contents), query);
  return cut(found, query);
}

/** One page of the live objects of a list, whatever the query says of tombstones. */
export function* selectLivePage(contents: ListContents, query: PageQuery): Steps<Selected<StoredObject>> {
  return cut(yield* collect(liveIndexes(contents), query), query);
}

/** The live objects selected, newest first. */
export function selectNewest(contents: ListContents, { filters, ids }: Selection): Steps<readonly StoredObject[]> {
  const sort = [{ field: lastModifiedField, direction: 'descending' }] as const;
  return collect(liveIndexes(contents), { filters, ids, sort, limit: Infinity });
}

/** How many entries are selected. */
export function countSelected(contents: ListContents, selection: Selection): Steps<number> {
  return selection.includeDeleted ? count(bothIndexes(contents), selection) : count(liveIndexes(contents), selection);
}

/** The selected entries in order, one more than the limit when there are more. */
function* collect<T extends StoredEntry>(indexes: Indexes<T>, query: PageQuery): Steps<readonly T[]> {
  const wanted = query.limit + 1;
  const { range, rest } = splitTimestampRange(query.filters);
  const ids = query.ids ?? namedIds(rest);
  const indexRange = ids === undefined ? indexRangeOf(query, range) : undefined;
  if (indexRange !== undefined) {
    const found: T[] = [];
    yield* scan(indexes, indexRange, rest.length > 0, (entry) => {
      if (matches(entry, rest)) found.push(entry);
      return found.length >= wanted;
    });
    return found;
  }
  const { after, sort } = query;
  // What a large object says is not kept with it: parsing it for each comparison would take very long.
  const positions = new Map<StoredEntry, PagePosition>();
  const compareOthers = compareEntries(sort);
  const placeOf = (entry: T): PagePosition => positions.get(entry) ?? positionOf(entry, sort);
  const compare = (a: T, b: T): number =>
    positions.size === 0 ? compareOthers(a, b) : comparePositions(placeOf(a), placeOf(b), sort);
  const best = new TopN<T>(wanted, compare);
  yield* visitSelected(indexes, { range, rest, ids }, true, (entry) => {
    if (after !== undefined && !isAfter(entry, sort, after)) return;
    if (!isTombstone(entry) && entry.isLarge) positions.set(entry, positionOf(entry, sort));
    best.add(entry);
  });
  return best.finish();
}

/** The stretch of an index that has the entries in the order of the query; `undefined` when there is no such index. */
function indexRangeOf({ filters, sort, after }: PageQuery, range: TimestampRange): IndexRange | undefined {
  const [first] = sort;
  if (first === undefined) return undefined;
  const descending = first.direction === 'descending';
  if (isTimestampField(first.field)) {
    const ahead = after === undefined ? range : continueRange(range, first.direction, after);
    return ahead === undefined ? undefined : { by: 'time', range: ahead, descending };
  }
  // The few entries of a range are found by their timestamps, and then sorted.
  const isBounded = range.low > everyTimestamp.low || range.high < everyTimestamp.high;
  if (isBounded || !isIdField(first.field)) return undefined;
  const ids = idRangeOf(filters);
  if (after === undefined) return { by: 'id', range: ids, after: undefined, descending };
  const [last] = after;
  return typeof last === 'string' ? { by: 'id', range: ids, after: last, descending } : undefined;
}

function* count<T extends StoredEntry>(indexes: Indexes<T>, selection: Selection): Steps<number> {
  if (selection.filters.length === 0 && selection.ids === undefined) return indexes.size;
  const { range, rest } = splitTimestampRange(selection.filters);
  const ids = selection.ids ?? namedIds(rest);
  if (rest.length === 0 && ids === undefined) return indexes.countRange(range);
  let total = 0;
  yield* visitSelected(indexes, { range, rest, ids }, rest.length > 0, () => {
    total++;
  });
  return total;
}

interface Selecting {
  readonly range: TimestampRange;
  readonly rest: readonly Filter[];
  readonly ids: readonly string[] | undefined;
}

/** Visits everything selected, in no order to rely on. */
function* visitSelected<T extends StoredEntry>(
  indexes: Indexes<T>,
  { range, rest, ids }: Selecting,
  looksInside: boolean,
  visit: (entry: T) => void,
): Steps<void> {
  if (ids === undefined) {
    yield* scan(indexes, { by: 'time', range, descending: true }, looksInside, (entry) => {
      if (matches(entry, rest)) visit(entry);
      return false;
    });
  } else {
    yield* lookUp(indexes, new Set(ids), looksInside, (entry) => {
      if (entry.lastModified >= range.low && entry.lastModified <= range.high && matches(entry, rest)) visit(entry);
    });
  }
}

function cut<T extends StoredEntry>(found: readonly T[], { limit, maxBytes }: PageQuery): Selected<T> {
  return fitPage({ entries: found.slice(0, limit), more: found.length > limit }, maxBytes);
}
