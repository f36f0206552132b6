// Finds the entries of a page among many, in any order, in steps. Comparing long values takes long, and entries are compared
// many times. So each of these values is encoded once, as bytes whose order is that of the values.
import { StepBudget } from '../../base/json-steps.ts';
import { ExactNumber, type JsonValue } from '../../base/json.ts';
import { runAtOnce, type Steps } from '../../base/steps.ts';
import { TopN } from '../../base/top-n.ts';
import { cutPage, type EntryPage } from '../objects/page-text.ts';
import { charsOf, isTombstone, type StoredEntry } from '../objects/stored.ts';
import type { PagePosition, SortKey } from './ast.ts';
import { encodeInSteps, KeyBytes } from './encode-value.ts';
import { WorkMeter } from './evaluate-steps.ts';
import { isUniqueField } from './fields.ts';
import type { PagePlan } from './plan-page.ts';
import {
  compareEntries,
  comparePositions,
  isAfter,
  positionInSteps,
  positionOf,
  readersOf,
  type KeyReader,
} from './sort.ts';

/** The place of an entry in a sort: the values of the sort keys, or, when they may be long, their encoding. */
export type Place = PagePosition | Buffer;

/** Orders places in one sort. */
export function comparePlaces(a: Place, b: Place, sort: readonly SortKey[]): number {
  if (isEncoded(a) || isEncoded(b)) return Buffer.compare(encodePlace(a, sort), encodePlace(b, sort));
  return comparePositions(a, b, sort);
}

/** Whether the place is an encoding. */
export function isEncoded(place: Place): place is Buffer {
  return place instanceof Buffer;
}

/** Returns the place at a position, in steps when the values are long. */
export function* placeInSteps(position: PagePosition, sort: readonly SortKey[]): Steps<Place> {
  return position.every(isShort) ? position : yield* encodePosition(position, sort);
}

function* encodePosition(position: PagePosition, sort: readonly SortKey[]): Steps<Buffer> {
  const bytes = new KeyBytes();
  const budget = new StepBudget();
  for (const [number, value] of position.entries()) {
    const start = bytes.length;
    yield* encodeInSteps(bytes, value, budget);
    if (sort[number]?.direction === 'descending') bytes.invertFrom(start);
  }
  return bytes.finish();
}

/** Returns the encoding of a place with short values. */
function encodePlace(place: Place, sort: readonly SortKey[]): Buffer {
  return isEncoded(place) ? place : runAtOnce(encodePosition(place, sort));
}

/** Length of texts and of numbers up to which they are compared as they are, in characters. */
const shortText = 1000;
const shortNumber = 100;

function isShort(value: JsonValue | undefined): boolean {
  if (typeof value === 'number') return true;
  if (typeof value === 'string') return value.length <= shortText;
  return (
    typeof value !== 'object' || value === null || (value instanceof ExactNumber && value.text.length <= shortNumber)
  );
}

/** Length of the text of objects all of whose values are short, in characters. */
const shortEntry = 100;

/** Collects the first entries of a page among those that are added. */
export class FirstEntries<T extends StoredEntry> {
  readonly #plan: PagePlan;
  /** Read the keys of the sort except ids and timestamps. */
  readonly #readers: readonly KeyReader[];
  readonly #first: TopN<T>;
  /** Encodings of the collected entries with long values. */
  readonly #encoded = new Map<StoredEntry, Buffer>();

  constructor(plan: PagePlan) {
    const { sort, limit, maxBytes } = plan;
    this.#plan = plan;
    const readers = readersOf(sort);
    this.#readers = readers.filter((_, number) => !isUniqueField(sort[number]!.field));
    const compareShort = compareEntries(sort, readers);
    const encoded = this.#encoded;
    const compare = (a: T, b: T): number => {
      if (encoded.size === 0) return compareShort(a, b);
      const [left, right] = [encoded.get(a), encoded.get(b)];
      if (left === undefined && right === undefined) return compareShort(a, b);
      return comparePlaces(left ?? positionOf(a, sort), right ?? positionOf(b, sort), sort);
    };
    this.#first = new TopN<T>(limit + 1, compare, {
      weigh: charsOf,
      max: maxBytes ?? Infinity,
      dropped: (entries) => {
        for (const entry of encoded.size === 0 ? [] : entries) encoded.delete(entry);
      },
    });
  }

  /** Adds an entry. Returns the rest of the work when there is some, which has to be done before the next entry. */
  add(entry: T): Steps<void> | undefined {
    if (this.#mayBeLong(entry)) return this.#addLong(entry);
    const { after, sort } = this.#plan;
    return after === undefined || isAfter(entry, sort, after) ? this.#first.add(entry) : undefined;
  }

  *addAll(entries: Iterable<T>): Steps<void> {
    const meter = new WorkMeter([]);
    for (const entry of entries) {
      yield* this.add(entry) ?? [];
      if (meter.add(entry)) yield;
    }
  }

  /** Returns the page. */
  *finish(): Steps<EntryPage<T>> {
    return cutPage(yield* this.#first.finish(), this.#plan);
  }

  /** Whether the values may be long. Those of large objects may be, because their parsed attributes are not kept. */
  #mayBeLong(entry: StoredEntry): boolean {
    if (charsOf(entry) <= shortEntry || this.#readers.length === 0) return false;
    if (!isTombstone(entry) && entry.isLarge) return true;
    for (const read of this.#readers) if (!isShort(read(entry))) return true;
    return false;
  }

  *#addLong(entry: T): Steps<void> {
    const { after, sort } = this.#plan;
    const place = yield* encodePosition(yield* positionInSteps(entry, sort), sort);
    if (after !== undefined && comparePlaces(place, after, sort) <= 0) return;
    this.#encoded.set(entry, place);
    if (this.#first.refuses(entry)) this.#encoded.delete(entry);
    else yield* this.#first.add(entry) ?? [];
  }
}
