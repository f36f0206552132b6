// What a read sees of a list. Others may write between two steps of a read: before its first pause, it takes copies of the
// ordered maps, which cost nothing to make and share all unchanged parts.
import type { Steps } from '../../base/steps.ts';
import type { StoredEntry, StoredObject } from '../../core/objects/stored.ts';
import type { Direction } from '../../core/query/ast.ts';
import { matchesFilter } from '../../core/query/evaluate.ts';
import { idField, lastModifiedField } from '../../core/query/fields.ts';
import type { IdRange } from '../../core/query/id-range.ts';
import type { IndexRange } from '../../core/query/plan-page.ts';
import { compareEntries } from '../../core/query/sort.ts';
import { isEveryTimestamp, type TimestampRange } from '../../core/query/timestamp-range.ts';
import { KeyMaps } from './key-maps.ts';
import type { ListContents } from './list-table.ts';
import type { OrderedMap } from './ordered-map.ts';

interface Part<T> {
  readonly byTime: OrderedMap<number, T>;
  readonly byId: OrderedMap<string, T>;
  /** The entries by id in a map without order, which is several times faster but cannot be copied; absent in copies. */
  readonly all?: ReadonlyMap<string, T>;
}

/** Entries by timestamp, by id and by key: live objects, or live objects and tombstones. */
export class ListView<T extends StoredEntry> {
  #parts: readonly Part<T>[];
  #keys: KeyMaps;
  #isCopy = false;

  constructor(parts: readonly Part<T>[], keys: KeyMaps) {
    this.#parts = parts;
    this.#keys = keys;
  }

  /** Lets others write, which does not change the view. */
  *pause(): Steps<void> {
    if (!this.#isCopy) {
      this.#parts = this.#parts.map(({ byTime, byId }) => ({ byTime: byTime.clone(), byId: byId.clone() }));
      this.#keys = new KeyMaps(this.#keys);
      this.#isCopy = true;
    }
    yield;
  }

  /** Runs steps, and lets others write between them. */
  *run<R>(steps: Steps<R>): Steps<R> {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      yield* this.pause();
    }
  }

  /** Live objects by their keys in declared indexes. */
  get keys(): KeyMaps {
    return this.#keys;
  }

  /** Number of live objects. */
  get live(): number {
    return this.#parts[0]?.byId.size ?? 0;
  }

  find(id: string): T | undefined {
    for (const { byId, all = byId } of this.#parts) {
      const entry = all.get(id);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /** Returns the number of entries in a range; of all entries without counting them. */
  countRange(range: TimestampRange): number {
    const { low, high } = range;
    if (low > high) return 0;
    const isAll = isEveryTimestamp(range);
    return this.#parts.reduce((sum, { byTime }) => sum + (isAll ? byTime.size : byTime.forRange(low, high, true)), 0);
  }

  /** Number of parts. */
  get partCount(): number {
    return this.#parts.length;
  }

  /** Returns the first entry of a part, in a range of timestamps, for which the test is true. */
  findInPart(part: number, { low, high }: TimestampRange, test: (entry: T) => boolean): T | undefined {
    if (low > high) return undefined;
    let found: T | undefined;
    // Without an iterator, which would create two objects for each entry.
    this.#parts[part]!.byTime.forRange(low, high, true, (_, entry) => {
      if (!test(entry)) return undefined;
      found = entry;
      return { break: true };
    });
    return found;
  }

  walk(indexRange: IndexRange): Iterable<T> {
    const [first, second] = this.#parts;
    if (first === undefined) return [];
    if (second === undefined) return walk(first, indexRange);
    const { by, direction } = indexRange;
    const compare = compareEntries([{ field: by === 'time' ? lastModifiedField : idField, direction }]);
    return merge(walk(first, indexRange), walk(second, indexRange), compare);
  }
}

export function liveView({ live, liveByTime, liveById, byKey }: ListContents): ListView<StoredObject> {
  return new ListView([{ byTime: liveByTime, byId: liveById, all: live }], byKey);
}

export function wholeView({
  live,
  liveByTime,
  liveById,
  deadByTime,
  dead,
  byKey,
}: ListContents): ListView<StoredEntry> {
  const parts = [
    { byTime: liveByTime, byId: liveById, all: live },
    { byTime: deadByTime, byId: dead },
  ];
  return new ListView<StoredEntry>(parts, byKey);
}

function walk<T>({ byTime, byId }: Part<T>, indexRange: IndexRange): Iterable<T> {
  const { direction } = indexRange;
  return indexRange.by === 'time'
    ? walkByTime(byTime, indexRange.range, direction)
    : walkById(byId, indexRange.ids, direction);
}

function* walkByTime<T>(
  index: OrderedMap<number, T>,
  { low, high }: TimestampRange,
  direction: Direction,
): Iterable<T> {
  if (low > high || index.isEmpty) return;
  const pairs = direction === 'descending' ? index.entriesReversed(high) : index.entries(low);
  for (const [timestamp, entry] of pairs) {
    if (timestamp < low || timestamp > high) return;
    yield entry;
  }
}

function* walkById<T>(index: OrderedMap<string, T>, { low, high }: IdRange, direction: Direction): Iterable<T> {
  if (index.isEmpty) return;
  const [from, to] = direction === 'descending' ? [high, low] : [low, high];
  const pairs = direction === 'descending' ? index.entriesReversed(from?.value) : index.entries(from?.value);
  for (const [id, entry] of pairs) {
    if (to !== undefined && !matchesFilter(id, to)) return;
    if (from === undefined || matchesFilter(id, from)) yield entry;
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
