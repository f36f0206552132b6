// Walks over the entries of a list in the order of an index, in steps. Between two of them others may write: from the
// first pause on a walk goes over a copy of the indexes, which costs nothing to make and shares all that stays the same.
import type { Steps } from '../../base/steps.ts';
import { isTombstone, type StoredEntry, type StoredObject } from '../../core/objects/stored.ts';
import { compareText } from '../../core/query/compare.ts';
import type { IdRange } from '../../core/query/id-bounds.ts';
import { rangeAfter, type TimestampRange } from '../../core/query/timestamp-range.ts';
import type { ListContents } from './list-table.ts';
import type { OrderedMap } from './ordered-map.ts';

/** A part of a list in the order of one of its indexes; by id it begins after an id, or at the end of the range. */
export type IndexRange =
  | { readonly by: 'time'; readonly range: TimestampRange; readonly descending: boolean }
  | { readonly by: 'id'; readonly range: IdRange; readonly after: string | undefined; readonly descending: boolean };

/** Entries by timestamp and by id: of live objects, or of those and tombstones. */
export class Indexes<T extends StoredEntry> {
  readonly #parts: readonly Part<T>[];

  constructor(parts: readonly Part<T>[]) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#parts.reduce((sum, { byTime }) => sum + byTime.size, 0);
  }

  find(id: string): T | undefined {
    for (const { byId } of this.#parts) {
      const entry = byId.get(id);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  countRange({ low, high }: TimestampRange): number {
    if (low > high) return 0;
    return this.#parts.reduce((sum, { byTime }) => sum + byTime.forRange(low, high, true), 0);
  }

  /** What is in the indexes now, whatever becomes of them. */
  copy(): Indexes<T> {
    return new Indexes(this.#parts.map(({ byTime, byId }) => ({ byTime: byTime.clone(), byId: byId.clone() })));
  }

  walk(indexRange: IndexRange): Iterable<T> {
    const [first, second] = this.#parts;
    if (first === undefined) return [];
    if (second === undefined) return walk(first, indexRange);
    const sign = indexRange.descending ? -1 : 1;
    const compare =
      indexRange.by === 'time'
        ? (a: T, b: T) => sign * (a.lastModified - b.lastModified)
        : (a: T, b: T) => sign * compareText(a.id, b.id);
    return merge(walk(first, indexRange), walk(second, indexRange), compare);
  }
}

interface Part<T> {
  readonly byTime: OrderedMap<number, T>;
  readonly byId: OrderedMap<string, T>;
}

export function liveIndexes({ liveByTime, liveById }: ListContents): Indexes<StoredObject> {
  return new Indexes([{ byTime: liveByTime, byId: liveById }]);
}

export function bothIndexes({ liveByTime, liveById, deadByTime, dead }: ListContents): Indexes<StoredEntry> {
  return new Indexes<StoredEntry>([
    { byTime: liveByTime, byId: liveById },
    { byTime: deadByTime, byId: dead },
  ]);
}

/** A step ends after so much work: characters to be parsed, and something for each entry. About a millisecond. */
const stepWork = 100_000;
const entryWork = 25;

function workOn(entry: StoredEntry, looksInside: boolean): number {
  return looksInside && !isTombstone(entry) ? entryWork + entry.text.length : entryWork;
}

/**
 * Visits the entries of a stretch in order.
 *
 * @param looksInside whether attributes are looked at, which costs more
 * @param visit returns whether that is enough
 */
export function* scan<T extends StoredEntry>(
  indexes: Indexes<T>,
  indexRange: IndexRange,
  looksInside: boolean,
  visit: (entry: T) => boolean,
): Steps<void> {
  let source = indexes;
  let ahead = indexRange;
  for (;;) {
    const last = scanStep(source, ahead, looksInside, visit);
    if (last === undefined) return;
    if (source === indexes) source = indexes.copy();
    ahead = indexRangeAfter(ahead, last);
    yield;
  }
}

/** Returns the entry after which it goes on, if it does. */
function scanStep<T extends StoredEntry>(
  indexes: Indexes<T>,
  indexRange: IndexRange,
  looksInside: boolean,
  visit: (entry: T) => boolean,
): T | undefined {
  let work = 0;
  for (const entry of indexes.walk(indexRange)) {
    if (visit(entry)) return undefined;
    work += workOn(entry, looksInside);
    if (work >= stepWork) return entry;
  }
  return undefined;
}

/** Visits the entries that have one of the ids. */
export function* lookUp<T extends StoredEntry>(
  indexes: Indexes<T>,
  ids: ReadonlySet<string>,
  looksInside: boolean,
  visit: (entry: T) => void,
): Steps<void> {
  let source = indexes;
  let work = 0;
  for (const id of ids) {
    const entry = source.find(id);
    if (entry !== undefined) {
      visit(entry);
      work += workOn(entry, looksInside);
    }
    work += entryWork;
    if (work < stepWork) continue;
    if (source === indexes) source = indexes.copy();
    work = 0;
    yield;
  }
}

function indexRangeAfter(indexRange: IndexRange, last: StoredEntry): IndexRange {
  if (indexRange.by === 'id') return { ...indexRange, after: last.id };
  const direction = indexRange.descending ? 'descending' : 'ascending';
  return { ...indexRange, range: rangeAfter(indexRange.range, direction, last.lastModified) };
}

function walk<T>({ byTime, byId }: Part<T>, indexRange: IndexRange): Iterable<T> {
  return indexRange.by === 'time'
    ? walkByTime(byTime, indexRange.range, indexRange.descending)
    : walkById(byId, indexRange);
}

function* walkByTime<T>(index: OrderedMap<number, T>, { low, high }: TimestampRange, descending: boolean): Iterable<T> {
  if (low > high || index.isEmpty) return;
  const pairs = descending ? index.entriesReversed(high) : index.entries(low);
  for (const [timestamp, entry] of pairs) {
    if (descending ? timestamp < low : timestamp > high) return;
    yield entry;
  }
}

function* walkById<T>(
  index: OrderedMap<string, T>,
  { range: { low, high }, after, descending }: IndexRange & { readonly by: 'id' },
): Iterable<T> {
  if (index.isEmpty) return;
  const pairs = descending ? index.entriesReversed(after ?? high) : index.entries(after ?? low);
  for (const [id, entry] of pairs) {
    if (descending ? low !== undefined && compareText(id, low) < 0 : high !== undefined && compareText(id, high) > 0)
      return;
    if (id !== after) yield entry;
  }
}

function* merge<T>(a: Iterable<T>, b: Iterable<T>, compare: (a: T, b: T) => number): Iterable<T> {
  const [left, right] = [a[Symbol.iterator](), b[Symbol.iterator]()];
  let [one, other] = [left.next(), right.next()];
  while (!one.done && !other.done) {
    if (compare(one.value, other.value) < 0) {
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
