// The rows of lists: the number of each list, and its state.
import type { ListSummary } from '../../contracts/storage.ts';
import { emptyState, type ListState } from '../../core/lists/list-state.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Connection } from './connection.ts';

/** A list that exists. */
export interface ListRow extends ListState {
  /** Internal number, under which objects and tombstones are stored. */
  readonly list: number;
  readonly clock: number;
}

type SummaryTuple = [kind: string, parent: string, clock: number, horizon: number, live: number, dead: number];
type ListTuple = [list: number, clock: number, live: number, dead: number, horizon: number];

/** Returns the row of a list; `undefined` when it was never read nor written. */
export function findList(connection: Connection, { kind, parent }: ListKey): ListRow | undefined {
  const row = connection.get<ListTuple>(
    'SELECT list, clock, live, dead, horizon FROM lists WHERE kind = ? AND parent = ?',
    kind,
    parent,
  );
  if (row === undefined) return undefined;
  const [list, clock, live, dead, horizon] = row;
  return { list, clock, live, dead, horizon };
}

/** Returns the first lists after one, by parent and then by kind. */
export function listsAfter(connection: Connection, after: ListKey | undefined, limit: number): readonly ListSummary[] {
  const found: ListSummary[] = [];
  const collect = (condition: string, parameters: readonly string[]): void => {
    const wanted = limit - found.length;
    if (wanted <= 0) return;
    const sql = `SELECT kind, parent, clock, horizon, live, dead FROM lists ${condition} ORDER BY parent, kind LIMIT ?`;
    for (const [kind, parent, timestamp, horizon, live, dead] of connection.all<SummaryTuple>(
      sql,
      ...parameters,
      wanted,
    )) {
      found.push({ kind, parent, timestamp, horizon, live, dead });
    }
  };
  if (after === undefined) collect('', []);
  else {
    collect('WHERE parent = ? AND kind > ?', [after.parent, after.kind]);
    collect('WHERE parent > ?', [after.parent]);
  }
  return found;
}

/** Stores the row of a list that does not exist yet. */
export function insertList(
  connection: Connection,
  { kind, parent }: ListKey,
  { clock, horizon, live, dead }: Omit<ListRow, 'list'>,
): ListRow {
  const [list] = connection.get<[number]>(
    'INSERT INTO lists (kind, parent, clock, horizon, live, dead) VALUES (?, ?, ?, ?, ?, ?) RETURNING list',
    kind,
    parent,
    clock,
    horizon,
    live,
    dead,
  )!;
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
