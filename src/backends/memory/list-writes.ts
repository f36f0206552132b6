// Writes to single objects of lists: each gets its timestamp and moves the clock of its list. Units of work and
// single-statement writes share them.
import type { Clock } from '../../base/clock.ts';
import { requireFree, requireTimestamp } from '../../contracts/list-timestamps.ts';
import type { Deletion, NewObject } from '../../contracts/storage.ts';
import { mayBeTaken, removalChange, unwritten } from '../../core/lists/list-state.ts';
import { StoredObject, type ListKey, type Tombstone } from '../../core/objects/stored.ts';
import type { ListTable } from './list-table.ts';
import type { MemoryUnit } from './unit-queue.ts';

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
   * @param isFresh neither exists
   */
  put(list: ListKey, { id, text, keys }: NewObject, given: number | undefined, isFresh?: boolean): StoredObject {
    const object = new StoredObject(id, this.#timestampFor(list, given, id), text, undefined, keys);
    this.#table.put(list, object, { clock: object.lastModified }, this.#unit, isFresh);
    return object;
  }

  /** Deletes the object. */
  remove(list: ListKey, old: StoredObject, given: number | undefined, keepTombstone: boolean): Deletion {
    const lastModified = this.#timestampFor(list, given, old.id);
    const tombstone: Tombstone = { id: old.id, lastModified, deleted: true };
    const change = removalChange(lastModified, keepTombstone);
    this.#table.remove(list, old, keepTombstone ? tombstone : undefined, change, this.#unit);
    return { old, tombstone };
  }

  #timestampFor(key: ListKey, given: number | undefined, id: string): number {
    const list = this.#table.find(key);
    if (list !== undefined && mayBeTaken(list, given)) {
      const { liveByTime, deadByTime } = list.contents;
      const holder = liveByTime.get(given) ?? deadByTime.get(given);
      if (holder !== undefined) requireFree([holder.id], id);
    }
    return requireTimestamp(list ?? unwritten, this.#clock.now(), given);
  }
}
