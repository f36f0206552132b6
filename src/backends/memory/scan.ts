// Reads the entries of a list in the order of an index, in steps. Others may write between two steps: after its first
// pause a scan reads copies of the indexes, which cost nothing to make and share all unchanged parts.
import type { Steps } from '../../base/steps.ts';
import { charsOf, type StoredEntry, type StoredObject } from '../../core/objects/stored.ts';
import type { Direction } from '../../core/query/ast.ts';
import { conditionsOfParsing, workOfEntry, type QueryBudget } from '../../core/query/budget.ts';
import { matches, matchesFilter } from '../../core/query/evaluate.ts';
import { longestAtOnce, matchesInSteps, weightOf } from '../../core/query/evaluate-steps.ts';
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

/** Work of one step, about a millisecond: a constant for each entry, and its characters where they are parsed. */
const stepWork = 100_000;
const entryWork = 25;

/** Work of testing entries. */
class EntryWork {
  readonly #factor: number;
  readonly #longest: number;
  readonly #weight: number;
  readonly #budget: QueryBudget | undefined;
  /** Characters that were tested since the last step. */
  #chars = 0;

  /** @param looksInside whether attributes are read */
  constructor({ residual, budget }: IndexRange | SelectionPlan, looksInside: boolean) {
    this.#weight = weightOf(residual);
    this.#factor = looksInside ? Math.max(1, this.#weight / conditionsOfParsing) : 0;
    this.#longest = longestAtOnce(residual);
    this.#budget = looksInside ? budget : undefined;
  }

  /** Notes the test of an entry; returns its work. */
  on(entry: StoredEntry): number {
    const chars = charsOf(entry);
    this.#chars += workOfEntry + chars;
    return entryWork + chars * this.#factor;
  }

  /** Notes the tests of a step for the query. */
  endStep(): void {
    this.#budget?.spendOn(this.#chars, this.#weight);
    this.#chars = 0;
  }

  /** Whether the test of an entry should be done in steps. */
  isLong(entry: StoredEntry): boolean {
    return charsOf(entry) > this.#longest;
  }
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
  const work = new EntryWork(indexRange, looksInside);
  for (;;) {
    const last: T | undefined = scanStep(source, rest, work, visit);
    work.endStep();
    if (last === undefined) return;
    if (source === indexes) source = indexes.copy();
    yield;
    if (work.isLong(last)) {
      work.on(last);
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
  const work = new EntryWork(plan, looksInside);
  for (let part = 0; part < source.partCount; part++) {
    let low = range.low;
    for (;;) {
      let done = 0;
      let rest: Steps<void> | undefined;
      const last: T | undefined = source.findInPart(part, { low, high: range.high }, (entry) => {
        if (work.isLong(entry)) return true;
        if (matches(entry, residual)) rest = visit(entry);
        done += work.on(entry);
        return rest !== undefined || done >= stepWork;
      });
      work.endStep();
      if (last === undefined) break;
      low = last.lastModified + 1;
      if (source === indexes) source = indexes.copy();
      yield;
      if (work.isLong(last)) {
        work.on(last);
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
  work: EntryWork,
  visit: (entry: T) => boolean,
): T | undefined {
  let done = 0;
  for (const entry of indexes.walk(indexRange)) {
    if (work.isLong(entry)) return entry;
    if (isWanted(entry, indexRange) && visit(entry)) return undefined;
    done += work.on(entry);
    if (done >= stepWork) return entry;
  }
  return undefined;
}

/** Visits the wanted entries among those that have one of the ids. */
export function* lookUp<T extends StoredEntry>(
  indexes: Indexes<T>,
  plan: Lookup,
  looksInside: boolean,
  visit: Visit<T>,
): Steps<void> {
  let source = indexes;
  const work = new EntryWork(plan, looksInside);
  let done = 0;
  for (const id of plan.ids) {
    const entry = source.find(id);
    let rest: Steps<void> | undefined;
    const isLong = entry !== undefined && work.isLong(entry);
    if (entry !== undefined) {
      if (!isLong && isWanted(entry, plan)) rest = visit(entry);
      done += work.on(entry);
    }
    done += entryWork;
    if (done < stepWork && !isLong && rest === undefined) continue;
    work.endStep();
    if (source === indexes) source = indexes.copy();
    done = 0;
    yield;
    if (isLong && (yield* wantedInSteps(entry, plan))) rest = visit(entry);
    if (rest !== undefined) yield* rest;
  }
  work.endStep();
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
