// What a unit of work has changed in one list, laid over the list as it was when the unit took its turn. Nothing of it is
// on the server before the commit, which verifies that the list still has the version the overlay began with.
import { requireStorable } from '../../contracts/errors.ts';
import { isTombstone, type ListKey, type StoredEntry, type StoredObject } from '../../core/objects/stored.ts';
import type { TimestampRange } from '../../core/query/timestamp-range.ts';
import type { ListCounts, Part } from './list-reads.ts';

export class ListOverlay {
  readonly list: ListKey;
  /** Of the list on the server when the overlay began. */
  readonly version: string;
  /** Whether the list has to be made known to the registry. */
  readonly isNew: boolean;
  /** Whether other processes are kept from the list until the unit ends. */
  readonly isLeased: boolean;
  clock: number | undefined;
  horizon: number;
  isHorizonRaised = false;
  liveCount: number;
  deadCount: number;
  /** Whether everything that was there before is gone. */
  isEmptied = false;
  /** Tombstones of before that are older are gone. */
  purgedBelow = -Infinity;
  isDirty = false;
  /** By id, as it will be; `undefined`: nothing at all. */
  readonly changed = new Map<string, StoredEntry | undefined>();
  /** Entries of the server that were looked at; `undefined`: there is none. */
  readonly #known = new Map<string, StoredEntry | undefined>();

  constructor(list: ListKey, { clock, version, horizon, liveCount, deadCount }: ListCounts, isLeased = false) {
    requireStorable(list.parent);
    this.list = list;
    this.clock = clock;
    this.version = version;
    this.horizon = horizon;
    this.isNew = clock === undefined;
    this.isLeased = isLeased;
    this.liveCount = liveCount;
    this.deadCount = deadCount;
  }

  /** Keeps what was read from the server. */
  learn(id: string, entry: StoredEntry | undefined): void {
    this.#known.set(id, entry);
  }

  /** Whether `find` can tell about the id. */
  knows(id: string): boolean {
    return this.isEmptied || this.changed.has(id) || this.#known.has(id);
  }

  /** The live object or tombstone as the unit sees it, of an id that the overlay knows. */
  find(id: string): StoredEntry | undefined {
    if (this.changed.has(id)) return this.changed.get(id);
    const entry = this.#known.get(id);
    return entry !== undefined && this.#survives(entry) ? entry : undefined;
  }

  findLive(id: string): StoredObject | undefined {
    const entry = this.find(id);
    return entry === undefined || isTombstone(entry) ? undefined : entry;
  }

  /** Whether the unit still sees this entry of the server. */
  shows(entry: StoredEntry): boolean {
    return !this.changed.has(entry.id) && this.#survives(entry);
  }

  /** Puts an entry, or nothing, in the place of what an id had. The overlay must know the id. */
  put(id: string, entry: StoredEntry | undefined): void {
    requireStorable(id);
    if (entry !== undefined && !isTombstone(entry)) requireStorable(entry.text);
    this.isDirty = true;
    this.#count(this.find(id), -1);
    this.#count(entry, 1);
    this.changed.set(id, entry);
  }

  /** Moves the clock forward, never back. */
  advance(timestamp: number): void {
    this.isDirty = true;
    if (this.clock === undefined || timestamp > this.clock) this.clock = timestamp;
  }

  /** Moves the horizon forward, never back. */
  raiseHorizon(timestamp: number): void {
    if (timestamp <= this.horizon) return;
    this.isDirty = true;
    this.isHorizonRaised = true;
    this.horizon = timestamp;
  }

  /** Removes everything; the clock moves when live objects are lost, and the horizon to the clock when anything is. */
  empty(now: number): void {
    if (this.liveCount > 0 && this.clock !== undefined) this.advance(Math.max(now, this.clock + 1));
    if (this.liveCount + this.deadCount > 0 && this.clock !== undefined) this.raiseHorizon(this.clock);
    if (this.clock !== undefined) this.isDirty = true;
    this.isEmptied = true;
    this.liveCount = 0;
    this.deadCount = 0;
    this.changed.clear();
  }

  /** Forgets all tombstones that are older; the caller knows how many they are. */
  purgeBelow(timestamp: number, count: number): void {
    this.isDirty = true;
    this.deadCount -= count;
    this.purgedBelow = Math.max(this.purgedBelow, timestamp);
    for (const [id, entry] of this.changed) {
      if (entry !== undefined && isTombstone(entry) && entry.lastModified < timestamp) this.changed.set(id, undefined);
    }
  }

  /** The changed entries of the range, in order. */
  changesIn(part: Part, range: TimestampRange, isDescending: boolean): readonly StoredEntry[] {
    const found: StoredEntry[] = [];
    for (const entry of this.changed.values())
      if (entry !== undefined && isPartOf(entry, part, range)) found.push(entry);
    const sign = isDescending ? -1 : 1;
    return found.toSorted((a, b) => sign * (a.lastModified - b.lastModified));
  }

  /** How many more entries of the range the unit sees than the server has. */
  differenceIn(part: Part, range: TimestampRange): number {
    let difference = 0;
    for (const [id, entry] of this.changed) {
      if (entry !== undefined && isPartOf(entry, part, range)) difference++;
      const before = this.#known.get(id);
      if (before !== undefined && this.#survives(before) && isPartOf(before, part, range)) difference--;
    }
    return difference;
  }

  #count(entry: StoredEntry | undefined, change: number): void {
    if (entry === undefined) return;
    if (isTombstone(entry)) this.deadCount += change;
    else this.liveCount += change;
  }

  #survives(entry: StoredEntry): boolean {
    return !this.isEmptied && !(isTombstone(entry) && entry.lastModified < this.purgedBelow);
  }
}

function isPartOf(entry: StoredEntry, part: Part, { low, high }: TimestampRange): boolean {
  if (part !== 'both' && isTombstone(entry) !== (part === 'dead')) return false;
  return entry.lastModified >= low && entry.lastModified <= high;
}
