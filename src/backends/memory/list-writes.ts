// Changes to single objects of lists: which timestamp each gets, and what it does to the clock of the list.
import type { Clock } from '../../base/clock.ts';
import { IntegrityError } from '../../contracts/errors.ts';
import type { Deletion } from '../../contracts/storage.ts';
import { StoredObject, type ListKey, type Tombstone } from '../../core/objects/stored.ts';
import type { ListTable } from './list-table.ts';
import type { MemoryUnit } from './unit-queue.ts';

/** Those that a unit of work makes. */
export class ListWrites {
  readonly #table: ListTable;
  readonly #clock: Clock;
  readonly #unit: MemoryUnit;

  constructor(lists: ListTable, clock: Clock, unit: MemoryUnit) {
    this.#table = lists;
    this.#clock = clock;
    this.#unit = unit;
  }

  /**
   * Creates the object, or puts it in place of the object or tombstone of that id.
   *
   * @param isFresh there is neither
   */
  put(list: ListKey, id: string, text: string, given: number | undefined, isFresh?: boolean): StoredObject {
    const object = new StoredObject(id, this.nextTimestamp(list, given, id), text);
    this.advance(list, object.lastModified);
    this.#table.put(list, object, this.#unit, isFresh);
    return object;
  }

  remove(list: ListKey, old: StoredObject, given: number | undefined, keepTombstone: boolean): Deletion {
    const lastModified = this.nextTimestamp(list, given, old.id);
    const tombstone: Tombstone = { id: old.id, lastModified, deleted: true };
    this.advance(list, lastModified);
    this.#table.remove(list, old, keepTombstone ? tombstone : undefined, this.#unit);
    if (!keepTombstone) this.#table.raiseHorizon(list, lastModified, this.#unit);
    return { old, tombstone };
  }

  /** The timestamp that a write to the object gets; nothing is changed yet. */
  nextTimestamp(list: ListKey, given: number | undefined, id?: string): number {
    const found = this.#table.find(list);
    const current = found?.clock;
    if (current === undefined) return given ?? this.#clock.now();
    if (given === undefined || given === current) return Math.max(this.#clock.now(), current + 1);
    const { liveByTime, deadByTime } = found!.contents;
    const holder = given < current ? (liveByTime.get(given) ?? deadByTime.get(given)) : undefined;
    if (holder !== undefined && holder.id !== id) throw new IntegrityError('another object has this last_modified');
    return given;
  }

  /** Moves the clock of the list forward, never back. */
  advance(list: ListKey, timestamp: number): number {
    const current = this.#table.find(list)?.clock;
    if (current === undefined || timestamp > current) this.#table.setClock(list, timestamp, this.#unit);
    return timestamp;
  }
}
