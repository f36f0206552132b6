// Finds the page of a list that a query asks for. Ordered by timestamp, only the entries of the page are visited; by
// id, only the ids named; anything else looks at every entry in question and keeps the best.
import type { StoredEntry, StoredObject } from '../../core/objects/stored.ts';
import type { Filter, PageQuery, Selection } from '../../core/query/ast.ts';
import { matches } from '../../core/query/evaluate.ts';
import { namedIds } from '../../core/query/named-ids.ts';
import { lastModifiedField } from '../../core/query/fields.ts';
import { compareEntries, isAfter } from '../../core/query/sort.ts';
import type { ListContents } from './list-table.ts';
import type { OrderedMap } from './ordered-map.ts';
import {
  continueRange,
  isTimestampField,
  splitTimestampRange,
  type TimestampRange,
} from '../../core/query/timestamp-range.ts';

export interface Selected<T extends StoredEntry> {
  readonly entries: readonly T[];
  readonly more: boolean;
}

/** One page of a list, tombstones included when the query wants them. */
export function selectPage(contents: ListContents, query: PageQuery): Selected<StoredEntry> {
  const found = query.includeDeleted ? collect(bothSources(contents), query) : collect(liveSource(contents), query);
  return cut(found, query.limit);
}

/** One page of the live objects of a list, whatever the query says of tombstones. */
export function selectLivePage(contents: ListContents, query: PageQuery): Selected<StoredObject> {
  return cut(collect(liveSource(contents), query), query.limit);
}

/** The live objects selected, newest first. */
export function selectNewest(contents: ListContents, { filters, ids }: Selection): readonly StoredObject[] {
  const sort = [{ field: lastModifiedField, direction: 'descending' }] as const;
  return collect(liveSource(contents), { filters, ids, sort, limit: Infinity });
}

/** How many entries are selected. */
export function countSelected(contents: ListContents, selection: Selection): number {
  return selection.includeDeleted ? count(bothSources(contents), selection) : count(liveSource(contents), selection);
}

/** Where entries come from: a map by id and an index by timestamp, or two of them. */
interface Source<T> {
  readonly size: number;
  byId(id: string): T | undefined;
  walk(range: TimestampRange, descending: boolean): Iterable<T>;
  countRange(range: TimestampRange): number;
}

function liveSource({ live, liveByTime }: ListContents): Source<StoredObject> {
  return {
    size: live.size,
    byId: (id) => live.get(id),
    walk: (range, descending) => walk(liveByTime, range, descending),
    countRange: (range) => countRange(liveByTime, range),
  };
}

function bothSources({ live, liveByTime, dead, deadByTime }: ListContents): Source<StoredEntry> {
  return {
    size: live.size + dead.size,
    byId: (id) => live.get(id) ?? dead.get(id),
    walk: (range, descending) =>
      merge(
        walk<StoredEntry>(liveByTime, range, descending),
        walk<StoredEntry>(deadByTime, range, descending),
        descending,
      ),
    countRange: (range) => countRange(liveByTime, range) + countRange(deadByTime, range),
  };
}

/** The selected entries in order, one more than the limit when there are more. */
function collect<T extends StoredEntry>(source: Source<T>, query: PageQuery): readonly T[] {
  const wanted = query.limit + 1;
  const { range, rest } = splitTimestampRange(query.filters);
  const ids = query.ids ?? namedIds(rest);
  const [first] = query.sort;
  if (ids === undefined && first !== undefined && isTimestampField(first.field)) {
    const ahead = query.after === undefined ? range : continueRange(range, first.direction, query.after);
    if (ahead !== undefined) {
      const found: T[] = [];
      for (const entry of source.walk(ahead, first.direction === 'descending')) {
        if (!matches(entry, rest)) continue;
        found.push(entry);
        if (found.length >= wanted) break;
      }
      return found;
    }
  }
  const { after, sort } = query;
  const candidates = select(source, range, rest, ids);
  const ahead = after === undefined ? candidates : filter(candidates, (entry) => isAfter(entry, sort, after));
  return smallest(ahead, wanted, compareEntries(sort));
}

function count<T extends StoredEntry>(source: Source<T>, selection: Selection): number {
  if (selection.filters.length === 0 && selection.ids === undefined) return source.size;
  const { range, rest } = splitTimestampRange(selection.filters);
  const ids = selection.ids ?? namedIds(rest);
  if (rest.length === 0 && ids === undefined) return source.countRange(range);
  let total = 0;
  for (const _ of select(source, range, rest, ids)) total++;
  return total;
}

function* select<T extends StoredEntry>(
  source: Source<T>,
  range: TimestampRange,
  filters: readonly Filter[],
  ids: readonly string[] | undefined,
): Iterable<T> {
  if (ids === undefined) {
    yield* filter(source.walk(range, true), (entry) => matches(entry, filters));
    return;
  }
  for (const id of new Set(ids)) {
    const entry = source.byId(id);
    if (entry === undefined || entry.lastModified < range.low || entry.lastModified > range.high) continue;
    if (matches(entry, filters)) yield entry;
  }
}

function* walk<T>(index: OrderedMap<number, T>, { low, high }: TimestampRange, descending: boolean): Iterable<T> {
  if (low > high || index.isEmpty) return;
  const pairs = descending ? index.entriesReversed(high) : index.entries(low);
  for (const [timestamp, entry] of pairs) {
    if (descending ? timestamp < low : timestamp > high) return;
    yield entry;
  }
}

function* merge<T extends StoredEntry>(a: Iterable<T>, b: Iterable<T>, descending: boolean): Iterable<T> {
  const [left, right] = [a[Symbol.iterator](), b[Symbol.iterator]()];
  let [one, other] = [left.next(), right.next()];
  while (!one.done && !other.done) {
    if (one.value.lastModified > other.value.lastModified === descending) {
      yield one.value;
      one = left.next();
    } else {
      yield other.value;
      other = right.next();
    }
  }
  for (; !one.done; one = left.next()) yield one.value;
  for (; !other.done; other = right.next()) yield other.value;
}

function countRange<T>(index: OrderedMap<number, T>, { low, high }: TimestampRange): number {
  return low > high ? 0 : index.forRange(low, high, true);
}

function* filter<T>(items: Iterable<T>, test: (item: T) => boolean): Iterable<T> {
  for (const item of items) if (test(item)) yield item;
}

/** The first `wanted` items in order, holding never more than twice as many. */
function smallest<T>(items: Iterable<T>, wanted: number, compare: (a: T, b: T) => number): readonly T[] {
  const kept: T[] = [];
  let worst: T | undefined;
  for (const item of items) {
    if (worst !== undefined && compare(item, worst) >= 0) continue;
    kept.push(item);
    if (kept.length < 2 * wanted) continue;
    kept.sort(compare);
    kept.length = wanted;
    worst = kept[wanted - 1];
  }
  return kept.toSorted(compare).slice(0, wanted);
}

function cut<T extends StoredEntry>(found: readonly T[], limit: number): Selected<T> {
  return { entries: found.slice(0, limit), more: found.length > limit };
}
