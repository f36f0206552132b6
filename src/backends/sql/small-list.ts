// Small lists that are filtered or sorted by attributes. Their parsed objects are cached, because a database would parse the
// text of each object for each query.
import type { Steps } from '../../base/steps.ts';
import { findCandidates, findCount, isWholePage, type KeyRow, type Search } from '../../core/index/find-entries.ts';
import type { KeyRange } from '../../core/index/page-ranges.ts';
import { keyOf, valuesOf } from '../../core/index/definition.ts';
import type { EntryPage } from '../../core/objects/page-text.ts';
import type { StoredObject } from '../../core/objects/stored.ts';
import type { ListIndex, PageQuery, Selection } from '../../core/query/ast.ts';
import { planPage, planSelection, type PagePlan, type SelectionPlan } from '../../core/query/plan-page.ts';
import { filterWanted, selectAmong } from '../../core/query/select-among.ts';

/** A list is small with at most so many objects, and bytes of their texts. */
export const maxSmallObjects = 1000;
export const maxSmallBytes = 262_144;

/** Bytes of an object besides its attributes, and of parsed attributes for each character of their text; both approximate. */
const bytesOfObject = 400;
const bytesOfParsedChar = 3;
/** Bytes of a place besides its key, approximate. */
const bytesOfPlace = 60;

/** Part of a cache (1/4) that one list may take, so that the default sizes have room for the largest list and some keys. */
export const maxListPart = 4;

/** Number of queries after which keys are made: to make them takes about as long as that many scans. */
const queriesBeforeKeys = 10;

/** A search that finds more than one of so many objects takes longer than a scan. */
const minObjectsPerCandidate = 8;

/** Whether a plan looks at the attributes of the live objects of a list. */
export function readsAttributes({ by, includeDeleted, residual }: SelectionPlan | PagePlan): boolean {
  return !includeDeleted && (by === 'scan' || (by === 'time' && residual.length > 0));
}

/** The live objects of a small list and, when they are queried often, their keys in declared indexes. */
export class SmallList {
  readonly #objects: readonly StoredObject[];
  #queries = 0;
  #bytes: number;
  readonly #maxBytes: number;
  /** By prefix, in the order of the keys, and the newest first where keys are equal. Absent: there is no room for them. */
  readonly #places = new Map<string, readonly Place[] | undefined>();

  /** @param maxBytes size beyond which no keys are made */
  constructor(objects: readonly StoredObject[], maxBytes: number) {
    this.#objects = objects;
    this.#maxBytes = maxBytes;
    this.#bytes = objects.reduce((size, { text }) => size + text.length * bytesOfParsedChar + bytesOfObject, 0);
  }

  /** Approximate size, which grows when keys are made. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the page of a query. */
  *selectPage(query: PageQuery): Steps<EntryPage<StoredObject>> {
    const plan = planPage(query, 'unfiltered');
    const candidates = this.#search(findCandidates(query), query);
    if (candidates?.objects !== undefined) {
      const page = yield* selectAmong(candidates.objects, plan);
      if (isWholePage(query, page, candidates)) return page;
    }
    return yield* selectAmong(this.#objects, plan);
  }

  /** Returns the number of selected objects. */
  *count(selection: Selection): Steps<number> {
    const plan = planSelection(selection);
    const found = this.#search(findCount(selection), selection);
    if (found === undefined || 'ids' in found) {
      return (yield* filterWanted(found?.objects ?? this.#objects, plan)).length;
    }
    const parts = found.ranges.map((range) => this.#read(range, selection.indexes));
    if (parts.includes(undefined)) return (yield* filterWanted(this.#objects, plan)).length;
    return parts.reduce((sum, part) => sum + (part?.length ?? 0), 0);
  }

  /** Answers a search from the keys; `undefined` when a scan is faster. */
  #search<T>(search: Search<T>, { indexes = [] }: Selection): T | undefined {
    if (indexes.length === 0 || ++this.#queries <= queriesBeforeKeys) return undefined;
    let next = search.next();
    while (next.done !== true) {
      const rows: (readonly Place[])[] = [];
      let count = 0;
      for (const range of next.value) {
        const places = this.#read(range, indexes);
        count += places?.length ?? Infinity;
        if (places === undefined || count * minObjectsPerCandidate > this.#objects.length) return undefined;
        rows.push(places);
      }
      next = search.next({ rows, live: this.#objects.length });
    }
    return next.value;
  }

  /** Returns the places in a range; `undefined` when the index has no keys here. */
  #read(
    { slot, low, high, timestamps, isReverse, limit }: KeyRange,
    indexes: readonly ListIndex[] = [],
  ): readonly Place[] | undefined {
    const index = indexes.find((each) => each.slot === slot);
    const places = index && this.#placesOf(index);
    if (places === undefined) return undefined;
    let [from, to] = [firstAt(places, low), firstAt(places, high)];
    if (timestamps !== undefined) {
      // Such a range is within one key, whose newest objects come first.
      while (from < to && places[from]!.object.lastModified > timestamps.high) from++;
      while (from < to && places[to - 1]!.object.lastModified < timestamps.low) to--;
    }
    if (!isReverse) return places.slice(from, Math.min(to, from + limit));
    return places.slice(Math.max(from, to - limit), to).toReversed();
  }

  #placesOf(index: ListIndex): readonly Place[] | undefined {
    const name = index.prefix.toString('latin1');
    if (!this.#places.has(name)) this.#places.set(name, this.#makePlaces(index));
    return this.#places.get(name);
  }

  #makePlaces(index: ListIndex): readonly Place[] | undefined {
    const places: Place[] = [];
    let bytes = this.#bytes;
    for (const object of this.#objects) {
      const place = new Place(object, keyOf(index, valuesOf(index, object.attributes)));
      bytes += place.text.length + bytesOfPlace;
      if (bytes > this.#maxBytes) return undefined;
      places.push(place);
    }
    places.sort(comparePlaces);
    this.#bytes = bytes;
    return places;
  }
}

/** The place of an object in an index. */
class Place implements KeyRow {
  readonly id: string;
  readonly object: StoredObject;
  /** A character for each byte of the key: texts in the order of the bytes, which take less memory than buffers. */
  readonly text: string;

  constructor(object: StoredObject, key: Buffer) {
    this.id = object.id;
    this.object = object;
    this.text = key.toString('latin1');
  }

  get key(): Buffer {
    return Buffer.from(this.text, 'latin1');
  }
}

/** Orders by key, and from the newest to the oldest where keys are equal. */
function comparePlaces(a: Place, b: Place): number {
  if (a.text !== b.text) return a.text < b.text ? -1 : 1;
  return b.object.lastModified - a.object.lastModified;
}

/** Returns the number of the first place with this key or a later one. */
function firstAt(places: readonly Place[], key: Buffer): number {
  const text = key.toString('latin1');
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (places[middle]!.text < text) low = middle + 1;
    else high = middle;
  }
  return low;
}
