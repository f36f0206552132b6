// The declared indexes of a list: an ordered map for each slot, from key and timestamp to the object.
import {
  findCandidates,
  findCount,
  type Candidates,
  type KeyRow,
  type KeyRows,
} from '../../core/index/find-entries.ts';
import type { KeyRange } from '../../core/index/page-ranges.ts';
import type { StoredObject } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { Steps } from '../../base/steps.ts';
import { wordSlot } from '../../core/index/definition.ts';
import { createMap, type OrderedMap } from './ordered-map.ts';

/** Number of objects read or counted without a pause. */
const objectsPerStep = 5000;

/** The place of an object in an index. */
export interface Place {
  /** A character for each byte of the key: texts in the order of the bytes. Of an index of words: a word. */
  readonly key: string;
  readonly time: number;
}

/** Orders by key, and from the newest to the oldest where keys are equal. */
function comparePlaces(a: Place, b: Place): number {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  return b.time - a.time;
}

/** Returns the places of an object, with their slots: one for each key, and one for each word. */
function* placesOf({ keys, lastModified: time }: StoredObject): Iterable<readonly [slot: number, place: Place]> {
  for (const [slot, key] of keys?.entries() ?? []) {
    if (key === undefined) continue;
    if (slot !== wordSlot) yield [slot, { key: textOf(key), time }];
    else for (const word of key.toString().split(' ')) yield [slot, { key: word, time }];
  }
}

const textOf = (key: Buffer): string => key.toString('latin1');

/** Returns the place of the first object with this key or a later one. */
const startOf = (key: Buffer): Place => ({ key: textOf(key), time: Infinity });

/** Objects by word, the newest first. */
export type WordMap = OrderedMap<Place, StoredObject>;

export class KeyMaps {
  /** By slot; absent where no object has a key. */
  readonly #maps: (OrderedMap<Place, StoredObject> | undefined)[] = [];

  /** @param other maps to copy, which costs nothing */
  constructor(other?: KeyMaps) {
    if (other === undefined) return;
    for (const [slot, map] of other.#maps.entries()) if (map !== undefined) this.#maps[slot] = map.clone();
  }

  add(object: StoredObject): void {
    for (const [slot, place] of placesOf(object)) {
      const map = (this.#maps[slot] ??= createMap<Place, StoredObject>(comparePlaces));
      map.set(place, object);
    }
  }

  drop(object: StoredObject): void {
    for (const [slot, place] of placesOf(object)) this.#maps[slot]?.delete(place);
  }

  /** Objects by word. */
  get words(): WordMap | undefined {
    return this.#maps[wordSlot];
  }

  /** Finds candidates for a page; `undefined` when a scan is needed. */
  *search(query: PageQuery, live: number): Steps<Candidates | undefined> {
    const search = findCandidates(query);
    let next = search.next();
    while (next.done !== true) next = search.next(yield* this.#readAll(next.value, live));
    return next.value;
  }

  /** Counts the selected objects, or finds candidates; `undefined` when a scan is needed. */
  *count(selection: Selection, live: number): Steps<number | Candidates | undefined> {
    const search = findCount(selection);
    let next = search.next();
    while (next.done !== true) next = search.next(yield* this.#readAll(next.value, live));
    const found = next.value;
    if (found === undefined || !('ranges' in found)) return found;
    let total = 0;
    for (const range of found.ranges) {
      const map = this.#maps[range.slot];
      if (map !== undefined) total += map.forRange(startOf(range.low), startOf(range.high), false);
    }
    return total;
  }

  *#readAll(ranges: readonly KeyRange[], live: number): Steps<KeyRows> {
    const rows: (readonly KeyRow[])[] = [];
    for (const range of ranges) rows.push(yield* this.#read(range));
    return { rows, live };
  }

  *#read({ slot, low, high, timestamps, isReverse, limit }: KeyRange): Steps<readonly KeyRow[]> {
    const found: KeyRow[] = [];
    const [first, end] = [startOf(low), startOf(high)];
    // A range of timestamps is within one key.
    const time = timestamps && (isReverse ? timestamps.low : timestamps.high);
    let from: Place | undefined = time === undefined ? (isReverse ? end : first) : { key: first.key, time };
    while (from !== undefined) {
      if (found.length > 0) yield;
      from = this.#readStep(slot, from, isReverse, (place, object) => {
        const { id, lastModified } = object;
        if (comparePlaces(place, end) >= 0) return isReverse ? 'skip' : 'end';
        if (comparePlaces(place, first) < 0) return 'end';
        if (timestamps !== undefined && (lastModified < timestamps.low || lastModified > timestamps.high)) return 'end';
        found.push({ id, key: Buffer.from(place.key, 'latin1'), object });
        return found.length >= limit ? 'end' : 'next';
      });
    }
    return found;
  }

  /** Visits objects from a place on; returns where the next step begins, `undefined` at the end. */
  #readStep(
    slot: number,
    from: Place,
    isReverse: boolean,
    visit: (place: Place, object: StoredObject) => 'next' | 'skip' | 'end',
  ): Place | undefined {
    const map = this.#maps[slot];
    let left = objectsPerStep;
    for (const [place, object] of (isReverse ? map?.entriesReversed(from) : map?.entries(from)) ?? []) {
      if (left-- === 0) return place;
      if (visit(place, object) === 'end') return undefined;
    }
    return undefined;
  }
}
