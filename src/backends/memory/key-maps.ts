// The declared indexes of a list: an ordered map for each slot, from key and timestamp to the object.
import { wordSlot } from '../../core/index/definition.ts';
import type { KeyRange } from '../../core/index/page-ranges.ts';
import { StoredObject, type IndexKeys } from '../../core/objects/stored.ts';
import { createMap, type OrderedMap } from './ordered-map.ts';

/** Number of objects read without a pause. */
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

const textOf = (key: Buffer): string => key.toString('latin1');

const space = Buffer.from(' ');

/** Returns the words between spaces. The text is not made of several parts, which a search would have to join first. */
const enclosed = (words: Buffer): string => Buffer.concat([space, words, space]).toString();

/** A live object in a list with declared indexes. Texts, which its places share, take a third of the memory of buffers. */
export class IndexedObject extends StoredObject {
  /** Keys by slot; of an index of words: the words, which spaces separate and enclose. */
  readonly #keys: readonly (string | undefined)[];

  constructor({ id, lastModified, text }: StoredObject, keys: IndexKeys) {
    super(id, lastModified, text);
    this.#keys = keys.map((key, slot) => key && (slot === wordSlot ? enclosed(key) : textOf(key)));
  }

  get words(): string {
    return this.#keys[wordSlot] ?? '';
  }

  /** The places of the object: one for each key, and one for each word. */
  *places(): Iterable<readonly [slot: number, place: Place]> {
    for (const [slot, text] of this.#keys.entries()) {
      if (text === undefined) continue;
      for (const key of slot === wordSlot ? text.slice(1, -1).split(' ') : [text])
        yield [slot, { key, time: this.lastModified }];
    }
  }
}

/** Returns the key of a place. */
export const bytesOf = (key: string): Buffer => Buffer.from(key, 'latin1');

/** Returns the place of the first object with this key or a later one. */
const startOf = (key: Buffer): Place => ({ key: textOf(key), time: Infinity });

type SlotSpan = Pick<KeyRange, 'slot' | 'low' | 'high'>;

export class KeyMaps {
  /** By slot; absent where no object has a key. */
  readonly #maps: (OrderedMap<Place, IndexedObject> | undefined)[] = [];

  /** @param other maps to copy, which costs nothing */
  constructor(other?: KeyMaps) {
    if (other === undefined) return;
    for (const [slot, map] of other.#maps.entries()) if (map !== undefined) this.#maps[slot] = map.clone();
  }

  add(object: StoredObject): void {
    if (!(object instanceof IndexedObject)) return;
    for (const [slot, place] of object.places()) {
      const map = (this.#maps[slot] ??= createMap<Place, IndexedObject>(comparePlaces));
      map.set(place, object);
    }
  }

  drop(object: StoredObject): void {
    if (!(object instanceof IndexedObject)) return;
    for (const [slot, place] of object.places()) this.#maps[slot]?.delete(place);
  }

  /** Objects by word, the newest first. */
  get words(): OrderedMap<Place, IndexedObject> | undefined {
    return this.#maps[wordSlot];
  }

  /** Number of objects in a range, whatever its limit and timestamps. */
  countRange({ slot, low, high }: SlotSpan): number {
    return this.#maps[slot]?.forRange(startOf(low), startOf(high), false) ?? 0;
  }

  isEmptyRange({ slot, low, high }: SlotSpan): boolean {
    const next = this.#maps[slot]?.getPairOrNextHigher(startOf(low));
    return next === undefined || comparePlaces(next[0], startOf(high)) >= 0;
  }

  /**
   * Visits objects of a range in its order, as many as fit in a step. Returns where the next step begins; `undefined` when
   * there is nothing left.
   *
   * @param from where the step begins; absent: at the start of the range
   * @param visit returns whether the visit ends here
   */
  visitStep(
    range: KeyRange,
    from: Place | undefined,
    visit: (object: StoredObject, key: string) => boolean,
  ): Place | undefined {
    const { slot, low, high, timestamps, isReverse } = range;
    const [first, end] = [startOf(low), startOf(high)];
    // A range of timestamps is within one key.
    const time = timestamps && (isReverse ? timestamps.low : timestamps.high);
    const start = from ?? (time === undefined ? (isReverse ? end : first) : { key: first.key, time });
    const map = this.#maps[slot];
    let left = objectsPerStep;
    for (const [place, object] of (isReverse ? map?.entriesReversed(start) : map?.entries(start)) ?? []) {
      if (left-- === 0) return place;
      if (comparePlaces(place, end) >= 0) {
        if (isReverse) continue;
        return undefined;
      }
      if (comparePlaces(place, first) < 0) return undefined;
      if (timestamps !== undefined && (place.time < timestamps.low || place.time > timestamps.high)) return undefined;
      if (visit(object, place.key)) return undefined;
    }
    return undefined;
  }
}
