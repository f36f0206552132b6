// A list whose row a unit of work has locked, and what the unit knows of it.
import { changeState, type ListChange, type ListState } from '../../core/lists/list-state.ts';
import { StoredObject, type ListKey, type Tombstone } from '../../core/objects/stored.ts';
import type { Row } from './connection.ts';

/** Maximum number of entries that a unit passes to the next one in its transaction. */
const maxPassed = 512;
/** Maximum length of a text that is read for the next units in the transaction, or passed to them. */
export const maxTextOfFollower = 8192;

/** Columns of a row of a list, in the order that `ListLock` takes. */
export const lockColumns = 'list, clock, live, dead, horizon';

/** The object or tombstone of an id. */
export interface Entry {
  readonly object: StoredObject | undefined;
  readonly tombstone: Tombstone | undefined;
}

/** An id with neither object nor tombstone. */
export const absent: Entry = { object: undefined, tombstone: undefined };

/** A list whose row is locked until the transaction ends. */
export class ListLock {
  readonly key: ListKey;
  /** Internal number, under which objects and tombstones are stored. */
  readonly list: string;
  /** The entries that were read or written, by id. */
  readonly entries: Map<string, Entry>;
  #state: ListState;
  /** Whether the state differs from the row. */
  isChanged = false;

  constructor(
    key: ListKey,
    [list, clock, live, dead, horizon]: Row,
    entries: readonly (readonly [string, Entry])[] = [],
  ) {
    this.key = key;
    this.entries = new Map(entries);
    this.list = list!;
    this.#state = {
      clock: typeof clock === 'string' ? Number(clock) : undefined,
      horizon: Number(horizon),
      live: Number(live),
      dead: Number(dead),
    };
  }

  get state(): ListState {
    return this.#state;
  }

  /** The row as it is in the table, or will be. */
  get row(): Row {
    const { clock, live, dead, horizon } = this.#state;
    return [this.list, clock === undefined ? null : String(clock), String(live), String(dead), String(horizon)];
  }

  /** Returns a copy for the next unit of the transaction, with the entries that are not long. */
  pass(): ListLock {
    const short: (readonly [string, Entry])[] = [];
    for (const each of this.entries) {
      if (short.length === maxPassed) break;
      if ((each[1].object?.text.length ?? 0) <= maxTextOfFollower) short.push(each);
    }
    const list = new ListLock(this.key, this.row, short);
    list.isChanged = this.isChanged;
    return list;
  }

  /** Keeps what was read of an id, unless the unit has read or changed it meanwhile. */
  keepEntry(id: string, row: Row | undefined): void {
    if (!this.entries.has(id)) this.entries.set(id, row === undefined ? absent : entryOf(id, row));
  }

  /** Applies a write to the state. */
  change(change: ListChange): void {
    this.#state = changeState(this.#state, change);
    this.isChanged = true;
  }
}

function entryOf(id: string, [deleted, modified, data]: Row): Entry {
  return {
    object: typeof data === 'string' ? new StoredObject(id, Number(modified), data) : undefined,
    tombstone: typeof deleted === 'string' ? { id, lastModified: Number(deleted), deleted: true } : undefined,
  };
}
