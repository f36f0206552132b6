// The rows of lists as one unit of work sees them. The unit is the only writer, so a row that it has read changes through
// this class alone.
import { changeState, unwritten, type ListChange } from '../../core/lists/list-state.ts';
import { keyOfList } from '../../core/lists/list-key.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Connection } from './connection.ts';
import { findList, insertList, updateList, type ListRow } from './lists.ts';

export class ListRows {
  readonly #rows = new Map<string, ListRow>();
  /** Keys of rows that have changed since they were stored. */
  readonly #changed = new Set<string>();

  /** Returns the row; `undefined` when the list was never read nor written. */
  find(connection: Connection, list: ListKey): ListRow | undefined {
    const key = keyOfList(list);
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    const row = findList(connection, list);
    if (row !== undefined) this.#rows.set(key, row);
    return row;
  }

  /** Returns the row. Stores an empty list with this clock when it is absent. */
  ensure(connection: Connection, list: ListKey, clock: number): ListRow {
    const known = this.find(connection, list);
    if (known !== undefined) return known;
    const row = insertList(connection, list, { ...unwritten, clock });
    this.#rows.set(keyOfList(list), row);
    return row;
  }

  /** Changes the row of a list that exists. `store` writes it. */
  change(connection: Connection, list: ListKey, change: ListChange): void {
    const row = this.find(connection, list);
    if (row === undefined) throw new Error('a list changes that does not exist');
    const key = keyOfList(list);
    const { clock = row.clock, horizon, live, dead } = changeState(row, change);
    this.#rows.set(key, { list: row.list, clock, horizon, live, dead });
    this.#changed.add(key);
  }

  /** Writes the rows that have changed. */
  store(connection: Connection): void {
    for (const key of this.#changed) updateList(connection, this.#rows.get(key)!);
    this.#changed.clear();
  }

  /** Forgets all rows, which other code is about to change. */
  forget(): void {
    this.#rows.clear();
  }
}
