// Reads the entries of a list in the order of an index, in steps. Others may write between two steps: after its first
// pause a scan reads copies of the indexes, which cost nothing to make and share all unchanged parts.
import type { Steps } from '../../base/steps.ts';
import type { StoredEntry, StoredObject } from '../../core/objects/stored.ts';
import type { Direction } from '../../core/query/ast.ts';
import { matches, matchesFilter } from '../../core/query/evaluate.ts';
import { matchesInSteps, WorkMeter } from '../../core/query/evaluate-steps.ts';
import { idField, lastModifiedField } from '../../core/query/fields.ts';
import type { IdRange } from '../../core/query/id-range.ts';
import {
  continueIndex,
  isWanted,
  wantedInSteps,
  type IndexRange,
  type Lookup,
  type Scan,
  type SelectionPlan,
} from '../../core/query/plan-page.ts';
import { compareEntries } from '../../core/query/sort.ts';
import { isEveryTimestamp, type TimestampRange } from '../../core/query/timestamp-range.ts';
import type { ListContents } from './list-table.ts';
import type { OrderedMap } from './ordered-map.ts';

/** Entries by timestamp and by id: live objects, or live objects and tombstones. */
export class Indexes<T extends StoredEntry> {
  readonly #parts: readonly Part<T>[];

  constructor(parts: readonly Part<T>[]) {
    this.#parts = parts;
  }

  find(id: string): T | undefined {
    for (const { byId } of this.#parts) {
      const entry = byId.get(id);
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

  /** Returns indexes that keep their present contents. */
  copy(): Indexes<T> {
    return new Indexes(this.#parts.map(({ byTime, byId }) => ({ byTime: byTime.clone(), byId: byId.clone() })));
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

/** Measures the work on the entries of a plan; the query is charged only when attributes are read. */
function meterOf({ residual, budget }: IndexRange | SelectionPlan, looksInside: boolean): WorkMeter {
  return new WorkMeter(residual, looksInside ? budget : undefined);
}

/**
 * Visits the wanted entries of a part of an index in its order.
 *
 * @param looksInside whether attributes are read, which takes longer
 * @param visit returns whether the scan ends here
 */
export function* scan<T extends StoredEntry>(
  indexes: Indexes<T>,
  indexRange: IndexRange,
  looksInside: boolean,
  visit: (entry: T) => boolean,
): Steps<void> {
  let source = indexes;
  let rest: IndexRange | undefined = indexRange;
  const meter = meterOf(indexRange, looksInside);
  for (;;) {
    const last: T | undefined = scanStep(source, rest, meter, visit);
    meter.finish();
    if (last === undefined) return;
    if (source === indexes) source = indexes.copy();
    yield;
    if (meter.isLong(last)) {
      meter.add(last);
      if ((yield* wantedInSteps(last, rest)) && visit(last)) return;
    }
    rest = continueIndex(rest, rest.by === 'time' ? last.lastModified : last.id);
    if (rest === undefined) return;
  }
}

/** Is called with each wanted entry; returns the rest of its work when there is some. */
type Visit<T> = (entry: T) => Steps<void> | undefined;

/**
 * Visits the wanted entries of a range of timestamps, in any order. Takes half the time of a scan in order.
 *
 * @param looksInside whether attributes are read, which takes longer
 */
export function* visitWanted<T extends StoredEntry>(
  indexes: Indexes<T>,
  plan: Scan,
  looksInside: boolean,
  visit: Visit<T>,
): Steps<void> {
  const { range, residual } = plan;
  let source = indexes;
  const meter = meterOf(plan, looksInside);
  for (let part = 0; part < source.partCount; part++) {
    let low = range.low;
    for (;;) {
      let rest: Steps<void> | undefined;
      const last: T | undefined = source.findInPart(part, { low, high: range.high }, (entry) => {
        if (meter.isLong(entry)) return true;
        if (matches(entry, residual)) rest = visit(entry);
        return meter.add(entry) || rest !== undefined;
      });
      meter.finish();
      if (last === undefined) break;
      low = last.lastModified + 1;
      if (source === indexes) source = indexes.copy();
      yield;
      if (meter.isLong(last)) {
        meter.add(last);
        if (yield* matchesInSteps(last, residual)) rest = visit(last);
      }
      if (rest !== undefined) yield* rest;
    }
  }
}

/** Returns the entry after which the scan continues, which is not tested when it is long; `undefined` at the end. */
function scanStep<T extends StoredEntry>(
  indexes: Indexes<T>,
  indexRange: IndexRange,
  meter: WorkMeter,
  visit: (entry: T) => boolean,
): T | undefined {
  for (const entry of indexes.walk(indexRange)) {
    if (meter.isLong(entry)) return entry;
    if (isWanted(entry, indexRange) && visit(entry)) return undefined;
    if (meter.add(entry)) return entry;
  }
  return undefined;
}

/** Ids that are looked up in one step, about a millisecond. */
const lookupsPerStep = 4000;

/** Visits the wanted entries among those that have one of the ids. */
export function* lookUp<T extends StoredEntry>(
  indexes: Indexes<T>,
  plan: Lookup,
  looksInside: boolean,
  visit: Visit<T>,
): Steps<void> {
  let source = indexes;
  const meter = meterOf(plan, looksInside);
  let isDue = false;
  let looked = 0;
  for (const id of plan.ids) {
    const entry = source.find(id);
    let rest: Steps<void> | undefined;
    const isLong = entry !== undefined && meter.isLong(entry);
    if (entry !== undefined) {
      if (!isLong && isWanted(entry, plan)) rest = visit(entry);
      isDue = meter.add(entry);
    }
    if (++looked < lookupsPerStep && !isDue && !isLong && rest === undefined) continue;
    meter.finish();
    if (source === indexes) source = indexes.copy();
    [isDue, looked] = [false, 0];
    yield;
    if (isLong && (yield* wantedInSteps(entry, plan))) rest = visit(entry);
    if (rest !== undefined) yield* rest;
  }
  meter.finish();
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
