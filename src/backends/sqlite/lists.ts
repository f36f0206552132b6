// The rows of lists: which number a list has, its clock and its counts.
import type { ListKey } from '../../core/objects/stored.ts';
import type { ListSummary } from '../../contracts/storage.ts';
import type { Connection } from './connection.ts';

export interface ListRow {
  /** Internal number, under which objects and tombstones are kept. */
  readonly list: number;
  /** The highest timestamp ever given. */
  readonly clock: number;
  /** Number of live objects. */
  readonly live: number;
  /** Number of tombstones. */
  readonly dead: number;
}

/** The row of a list with what only readers need. */
export interface StoredListRow extends ListRow {
  /** The highest timestamp of a deletion that no tombstone tells of; 0 when there is none. */
  readonly horizon: number;
}

/** How a write changes the counts of its list. */
export interface CountChange {
  readonly live?: number;
  readonly dead?: number;
}

type StateTuple = [kind: string, parent: string, clock: number, horizon: number, live: number, dead: number];
type ListTuple = [list: number, clock: number, live: number, dead: number, horizon: number];

/** The list, `undefined` when it was never read nor written. */
export function findList(connection: Connection, { kind, parent }: ListKey): StoredListRow | undefined {
  const row = connection.get<ListTuple>(
    'SELECT list, clock, live, dead, horizon FROM lists WHERE kind = ? AND parent = ?',
    kind,
    parent,
  );
  if (row === undefined) return undefined;
  const [list, clock, live, dead, horizon] = row;
  return { list, clock, live, dead, horizon };
}

/** The first lists after one, by parent and then by kind. */
export function listsAfter(connection: Connection, after: ListKey | undefined, limit: number): readonly ListSummary[] {
  const found: ListSummary[] = [];
  const collect = (condition: string, parameters: readonly string[]): void => {
    const wanted = limit - found.length;
    if (wanted <= 0) return;
    const sql = `SELECT kind, parent, clock, horizon, live, dead FROM lists ${condition} ORDER BY parent, kind LIMIT ?`;
    for (const [kind, parent, timestamp, horizon, live, dead] of connection.all<StateTuple>(
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

/** Stores a list that does not exist yet, empty. */
export function insertList(connection: Connection, { kind, parent }: ListKey, clock: number, horizon = 0): ListRow {
  const row = connection.get<[number]>(
    'INSERT INTO lists (kind, parent, clock, live, dead, horizon) VALUES (?, ?, ?, 0, 0, ?) RETURNING list',
    kind,
    parent,
    clock,
    horizon,
  )!;
  return { list: row[0], clock, live: 0, dead: 0 };
}

/** Moves the clock forward, never back, and changes the counts. */
export function updateList(
  connection: Connection,
  list: number,
  clock: number,
  { live = 0, dead = 0 }: CountChange = {},
): void {
  connection.run(
    'UPDATE lists SET clock = max(clock, ?), live = live + ?, dead = dead + ? WHERE list = ?',
    clock,
    live,
    dead,
    list,
  );
}

/** Moves the horizon forward, never back. */
export function raiseHorizon(connection: Connection, list: number, timestamp: number): void {
  connection.run('UPDATE lists SET horizon = max(horizon, ?) WHERE list = ?', timestamp, list);
}

/**
 * Empties a list in one step, whatever it holds: the list gets a new number, and what is stored under the old one is
 * left to the reaper. Nothing tells of what it held, so its horizon is its clock.
 */
export function detachContents(connection: Connection, key: ListKey, { list }: ListRow, clock: number): void {
  connection.run('INSERT INTO doomed_lists (list) VALUES (?)', list);
  connection.run('DELETE FROM lists WHERE list = ?', list);
  insertList(connection, key, clock, clock);
}
