// The rows of lists as one unit of work sees them. The unit is the only writer, so only this class changes a row that it
// has read.
import { changeState, unwritten, type ListChange } from '../../core/lists/list-state.ts';
import { keyOfList, type ListName } from '../../core/lists/list-key.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Connection } from './connection.ts';
import { findList, insertList, updateList, type ListRow } from './lists.ts';

interface KnownRow {
  readonly list: ListKey;
  row: ListRow;
}

export class ListRows {
  readonly #known = new Map<ListName, KnownRow>();
  /** The last row: most units write to one list. */
  #last: KnownRow | undefined;
  /** Rows that have changed since they were stored. */
  readonly #changed = new Set<KnownRow>();

  /** Returns the row; `undefined` when the list was never read nor written. */
  find(connection: Connection, list: ListKey): ListRow | undefined {
    return this.#find(connection, list)?.row;
  }

  /** Returns the row. Stores an empty list with this clock when it is absent. */
  ensure(connection: Connection, list: ListKey, clock: number): ListRow {
    const known = this.#find(connection, list);
    return known?.row ?? this.#keep(list, insertList(connection, list, { ...unwritten, clock })).row;
  }

  /** Changes the row of a list that exists. `store` writes it. */
  change(connection: Connection, list: ListKey, change: ListChange): void {
    const known = this.#find(connection, list);
    if (known === undefined) throw new Error('cannot change a list that does not exist');
    const { clock = known.row.clock, horizon, live, dead } = changeState(known.row, change);
    known.row = { list: known.row.list, clock, horizon, live, dead };
    this.#changed.add(known);
  }

  /** Writes the rows that have changed. */
  store(connection: Connection): void {
    for (const { row } of this.#changed) updateList(connection, row);
    this.#changed.clear();
  }

  /** Forgets all rows, which other code is about to change. */
  forget(): void {
    this.#known.clear();
    this.#last = undefined;
  }

  #find(connection: Connection, list: ListKey): KnownRow | undefined {
    const last = this.#last;
    if (last?.list.kind === list.kind && last.list.parent === list.parent) return last;
    const known = this.#known.get(keyOfList(list));
    if (known !== undefined) return (this.#last = known);
    const row = findList(connection, list);
    return row === undefined ? undefined : this.#keep(list, row);
  }

  #keep(list: ListKey, row: ListRow): KnownRow {
    const known = { list, row };
    this.#known.set(keyOfList(list), known);
    this.#last = known;
    return known;
  }
}
