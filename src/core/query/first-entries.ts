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
import { isUniqueField, readEntryField } from './fields.ts';
import type { PagePlan } from './plan-page.ts';
import { comparePositions, positionInSteps } from './sort.ts';

/** The place of an entry in a sort: the values of the sort keys, or, when they may be long, their encoding. */
export type Place = PagePosition | Buffer;

/** Orders places in one sort. */
export function comparePlaces(a: Place, b: Place, sort: readonly SortKey[]): number {
  if (isEncoded(a) || isEncoded(b)) return Buffer.compare(encodePlace(a, sort), encodePlace(b, sort));
  return comparePositions(a, b, sort);
}

/** Whether the place is an encoding. */
export function isEncoded(place: Place): place is Buffer {
  // `instanceof Buffer` takes several times as long: the global is read by a getter.
  return !Array.isArray(place);
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

/** An entry, and where it comes in the sort. */
interface Placed<T> {
  readonly entry: T;
  readonly place: Place;
}

/** Collects the first entries of a page among those that are added. */
export class FirstEntries<T extends StoredEntry> {
  readonly #plan: PagePlan;
  /** Whether attributes are compared, and not only ids and timestamps. */
  readonly #looksInside: boolean;
  readonly #first: TopN<Placed<T>>;

  constructor(plan: PagePlan) {
    const { sort, limit, maxBytes } = plan;
    this.#plan = plan;
    this.#looksInside = sort.some(({ field }) => !isUniqueField(field));
    this.#first = new TopN<Placed<T>>(limit + 1, (a, b) => comparePlaces(a.place, b.place, sort), {
      weigh: ({ entry }) => charsOf(entry),
      max: maxBytes ?? Infinity,
    });
  }

  /** Adds an entry. Returns the rest of the work when there is some, which has to be done before the next entry. */
  add(entry: T): Steps<void> | undefined {
    const { after, sort } = this.#plan;
    const place = this.#shortPlace(entry);
    if (place === undefined) return this.#addLong(entry);
    return after === undefined || comparePlaces(place, after, sort) > 0 ? this.#first.add({ entry, place }) : undefined;
  }

  /** Returns the place of an entry whose values are short; `undefined` for others, which may be long. */
  #shortPlace(entry: T): PagePosition | undefined {
    // The parsed attributes of large objects are not kept.
    if (this.#looksInside && !isTombstone(entry) && entry.isLarge) return undefined;
    const position: (JsonValue | undefined)[] = [];
    for (const { field } of this.#plan.sort) {
      const value = readEntryField(entry, field);
      if (!isShort(value)) return undefined;
      position.push(value);
    }
    return position;
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
    const placed = yield* this.#first.finish();
    return cutPage(
      placed.map(({ entry }) => entry),
      this.#plan,
    );
  }

  *#addLong(entry: T): Steps<void> {
    const { after, sort } = this.#plan;
    const place = yield* encodePosition(yield* positionInSteps(entry, sort), sort);
    if (after !== undefined && comparePlaces(place, after, sort) <= 0) return;
    yield* this.#first.add({ entry, place }) ?? [];
  }
}
