// The uncommitted changes of a unit of work to one list, laid over the list as it was when the unit took its turn. The server
// has none of them before the commit, which verifies that the list still has the version that the overlay began with.
import { requireStorable } from '../../contracts/errors.ts';
import { changeState, emptyState, type ListChange, type ListState } from '../../core/lists/list-state.ts';
import { isTombstone, type ListKey, type StoredEntry, type StoredObject } from '../../core/objects/stored.ts';
import type { TimestampRange } from '../../core/query/timestamp-range.ts';
import type { VersionedList, Part } from './list-reads.ts';

export class ListOverlay {
  readonly list: ListKey;
  /** Version of the list on the server when the overlay began. */
  readonly version: string;
  /** Whether the commit has to register the list. */
  readonly isNew: boolean;
  /** Whether the end of the unit ends a lease on the list. */
  isLeased: boolean;
  readonly #before: ListState;
  /** The state of the list as the unit sees it. */
  state: ListState;
  /** Whether everything that the server has of the list is gone. */
  isEmptied = false;
  /** The tombstones that the server has below this timestamp are gone. */
  purgedBelow = -Infinity;
  /** Whether the commit has to write anything. */
  isDirty = false;
  /** Changed entries by id; `undefined`: neither object nor tombstone is left. */
  readonly changed = new Map<string, StoredEntry | undefined>();
  /** Entries of the server that were read; `undefined`: the id has none. */
  readonly #known = new Map<string, StoredEntry | undefined>();

  constructor(list: ListKey, before: VersionedList, isLeased = false) {
    requireStorable(list.parent);
    this.list = list;
    this.version = before.version;
    this.isNew = before.clock === undefined;
    this.isLeased = isLeased;
    this.#before = before;
    this.state = before;
  }

  get isHorizonRaised(): boolean {
    return this.state.horizon > this.#before.horizon;
  }

  /** Keeps what the server has of an id. */
  learn(id: string, entry: StoredEntry | undefined): void {
    this.#known.set(id, entry);
  }

  /** Whether the overlay knows what the server has of the id. */
  knows(id: string): boolean {
    return this.isEmptied || this.changed.has(id) || this.#known.has(id);
  }

  /** Returns the live object or tombstone of a known id as the unit sees it. */
  find(id: string): StoredEntry | undefined {
    if (this.changed.has(id)) return this.changed.get(id);
    const entry = this.#known.get(id);
    return entry !== undefined && this.#survives(entry) ? entry : undefined;
  }

  findLive(id: string): StoredObject | undefined {
    const entry = this.find(id);
    return entry === undefined || isTombstone(entry) ? undefined : entry;
  }

  /** Whether the unit still sees an entry of the server. */
  shows(entry: StoredEntry): boolean {
    return !this.changed.has(entry.id) && this.#survives(entry);
  }

  /** Changes the state. `put` counts entries itself. */
  change(change: ListChange): void {
    this.isDirty = true;
    this.state = changeState(this.state, change);
  }

  /** Puts an entry, or nothing, in the place of what a known id had. Clock and horizon move as well where given. */
  put(id: string, entry: StoredEntry | undefined, { clock, horizon }: ListChange = {}): void {
    requireStorable(id);
    if (entry !== undefined && !isTombstone(entry)) requireStorable(entry.text);
    const before = this.find(id);
    const live = count(entry, false) - count(before, false);
    const dead = count(entry, true) - count(before, true);
    this.change({ clock, horizon, live, dead });
    this.changed.set(id, entry);
  }

  /** Empties the list together with its parent. */
  empty(now: number): void {
    this.state = emptyState(this.state, now);
    if (this.state.clock !== undefined) this.isDirty = true;
    this.isEmptied = true;
    this.changed.clear();
  }

  /** Deletes the oldest tombstones, up to the one of this timestamp. The caller knows their number. */
  purge(latest: number, purged: number): void {
    this.change({ dead: -purged, horizon: latest });
    this.purgedBelow = Math.max(this.purgedBelow, latest + 1);
    for (const [id, entry] of this.changed) {
      if (entry !== undefined && isTombstone(entry) && entry.lastModified <= latest) this.changed.set(id, undefined);
    }
  }

  /** Returns the changed entries of the range in order. */
  changesIn(part: Part, range: TimestampRange, isDescending: boolean): readonly StoredEntry[] {
    const found: StoredEntry[] = [];
    for (const entry of this.changed.values())
      if (entry !== undefined && isPartOf(entry, part, range)) found.push(entry);
    const sign = isDescending ? -1 : 1;
    return found.toSorted((a, b) => sign * (a.lastModified - b.lastModified));
  }

  /** Returns how many more entries of the range the unit sees than the server has. */
  differenceIn(part: Part, range: TimestampRange): number {
    let difference = 0;
    for (const [id, entry] of this.changed) {
      if (entry !== undefined && isPartOf(entry, part, range)) difference++;
      const before = this.#known.get(id);
      if (before !== undefined && this.#survives(before) && isPartOf(before, part, range)) difference--;
    }
    return difference;
  }

  #survives(entry: StoredEntry): boolean {
    return !this.isEmptied && !(isTombstone(entry) && entry.lastModified < this.purgedBelow);
  }
}

function count(entry: StoredEntry | undefined, isDead: boolean): number {
  return entry !== undefined && isTombstone(entry) === isDead ? 1 : 0;
}

function isPartOf(entry: StoredEntry, part: Part, { low, high }: TimestampRange): boolean {
  if (part !== 'both' && isTombstone(entry) !== (part === 'dead')) return false;
  return entry.lastModified >= low && entry.lastModified <= high;
}
