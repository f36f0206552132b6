// The rows of lists: the number of each list, and its state.
import type { ListSummary } from '../../contracts/storage.ts';
import { emptyState, type ListState } from '../../core/lists/list-state.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { ListParent } from '../../core/objects/uris.ts';
import type { Connection } from './connection.ts';

/** A list that exists. */
export interface ListRow extends ListState {
  /** Internal number, under which objects and tombstones are stored. */
  readonly list: number;
  readonly clock: number;
}

/** Columns of the row of a list. */
export const listColumns = 'l.list, l.clock, l.horizon, l.live, l.dead';
export type ListTuple = [list: number, clock: number, horizon: number, live: number, dead: number];

/** Returns the row of a list; `undefined` when it was never read nor written. */
export function findList(connection: Connection, { kind, parent }: ListKey): ListRow | undefined {
  const sql = `SELECT ${listColumns} FROM lists l WHERE l.kind = ? AND l.parent = ?`;
  const row = connection.get<ListTuple>(sql, kind, parent);
  if (row === undefined) return undefined;
  const [number, clock, horizon, live, dead] = row;
  return { list: number, clock, horizon, live, dead };
}

/** Returns the first lists after one, by parent and then by kind. */
export function listsAfter(connection: Connection, after: ListKey | undefined, limit: number): readonly ListSummary[] {
  const condition = after === undefined ? '' : 'WHERE (parent, kind) > (?, ?)';
  const sql = `SELECT kind, parent, clock, horizon, live, dead FROM lists ${condition} ORDER BY parent, kind LIMIT ?`;
  const parameters = after === undefined ? [limit] : [after.parent, after.kind, limit];
  return connection
    .all<[kind: string, parent: ListParent, clock: number, horizon: number, live: number, dead: number]>(
      sql,
      ...parameters,
    )
    .map(([kind, parent, timestamp, horizon, live, dead]) => ({ kind, parent, timestamp, horizon, live, dead }));
}

/** Stores the row of a list that does not exist yet. */
export function insertList(
  connection: Connection,
  { kind, parent }: ListKey,
  { clock, horizon, live, dead }: Omit<ListRow, 'list'>,
): ListRow {
  const sql = 'INSERT INTO lists (kind, parent, clock, horizon, live, dead) VALUES (?, ?, ?, ?, ?, ?) RETURNING list';
  const [list] = connection.get<[number]>(sql, kind, parent, clock, horizon, live, dead)!;
  return { list, clock, horizon, live, dead };
}

/** Writes the state of a list that exists. */
export function updateList(connection: Connection, { list, clock, horizon, live, dead }: ListRow): void {
  const sql = 'UPDATE lists SET clock = ?, horizon = ?, live = ?, dead = ? WHERE list = ?';
  connection.run(sql, clock, horizon, live, dead, list);
}

/**
 * Empties a list together with its parent, in one step whatever it holds. The list gets a new number, and the reaper
 * deletes what is stored under the old one.
 */
export function detachContents(connection: Connection, key: ListKey, row: ListRow, now: number): void {
  const { clock = row.clock, horizon, live, dead } = emptyState(row, now);
  connection.run('INSERT INTO doomed_lists (list) VALUES (?)', row.list);
  connection.run('DELETE FROM lists WHERE list = ?', row.list);
  insertList(connection, key, { clock, horizon, live, dead });
}
