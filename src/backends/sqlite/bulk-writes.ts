// Writes to whole lists and subtrees. A write that may change many rows runs in steps, and reads run between them. The unit
// of work remains the only writer until it ends.
import type { Steps } from '../../base/steps.ts';
import { Purge, type PurgeOptions } from '../../core/lists/purge.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { ListParent, ObjectUri } from '../../core/objects/uris.ts';
import type { Selection } from '../../core/query/ast.ts';
import { planSelection } from '../../core/query/plan-page.ts';
import { rangeBelow } from '../sql/text-range.ts';
import type { Connection, SqlValue } from './connection.ts';
import type { ListRows } from './list-rows.ts';
import { detachContents, listColumns, type ListRow, type ListTuple } from './lists.ts';
import { compileSelection, fromWhere, walkWindows } from './selection.ts';

/** Number of rows that one statement deletes. */
const chunkRows = 2000;

/** Number of lists that are emptied without a pause. */
const listsPerStep = 100;

type NamedTuple = [...ListTuple, kind: string, parent: ListParent];

/**
 * Empties every list whose parent is the URI or lies below it.
 *
 * @returns whether any of them had contents
 */
export function* deleteBelow(connection: Connection, uri: ObjectUri, now: number): Steps<boolean> {
  const columns = `SELECT ${listColumns}, l.kind, l.parent FROM lists l`;
  let isAny = emptyLists(connection, connection.all<NamedTuple>(`${columns} WHERE l.parent = ?`, uri), now);
  const { low, high } = rangeBelow(uri);
  let last: readonly [parent: string, kind: string] = [low, ''];
  for (;;) {
    const rows = connection.all<NamedTuple>(
      `${columns} WHERE (l.parent, l.kind) > (?, ?) AND l.parent < ? ORDER BY l.parent, l.kind LIMIT ?`,
      ...last,
      high,
      listsPerStep,
    );
    isAny = emptyLists(connection, rows, now) || isAny;
    const end = rows[listsPerStep - 1];
    if (end === undefined) return isAny;
    last = [end[6], end[5]];
    yield;
  }
}

/** Empties those of the lists that have contents; returns whether any have. */
function emptyLists(connection: Connection, rows: readonly NamedTuple[], now: number): boolean {
  const filled = rows.filter(([, , , live, dead]) => live > 0 || dead > 0);
  for (const [list, clock, horizon, live, dead, kind, parent] of filled) {
    detachContents(connection, { kind, parent }, { list, clock, horizon, live, dead }, now);
  }
  return filled.length > 0;
}

/** Deletes tombstones, list by list. Returns their number. */
export function* purgeTombstones(connection: Connection, rows: ListRows, options: PurgeOptions): Steps<number> {
  const purge = new Purge(options);
  const { kind, parent, maxRetained } = purge;
  const conditions = ['dead > ?'];
  const parameters: SqlValue[] = [maxRetained];
  if (kind !== undefined) {
    conditions.push('kind = ?');
    parameters.push(kind);
  }
  if (parent !== undefined) {
    conditions.push('parent = ?');
    parameters.push(parent);
  }
  const sql = `SELECT kind, parent FROM lists WHERE ${conditions.join(' AND ')}`;
  for (const [ofKind, ofParent] of connection.all<[kind: string, parent: ListParent]>(sql, ...parameters)) {
    yield* purgeList(connection, rows, { kind: ofKind, parent: ofParent }, purge);
  }
  return purge.count;
}

function* purgeList(connection: Connection, rows: ListRows, key: ListKey, purge: Purge): Steps<void> {
  for (;;) {
    const row = rows.find(connection, key);
    const wanted = row === undefined ? 0 : Math.min(purge.limitTo(row.dead), chunkRows);
    if (row === undefined || wanted === 0) return;
    const latest = connection.get<[number | null]>(
      `SELECT max(last_modified) FROM (SELECT last_modified FROM tombstones WHERE list = ? AND last_modified < ?
      ORDER BY last_modified LIMIT ?)`,
      row.list,
      purge.before,
      wanted,
    )?.[0];
    if (typeof latest !== 'number') return;
    const gone = connection.run('DELETE FROM tombstones WHERE list = ? AND last_modified <= ?', row.list, latest);
    rows.change(connection, key, { dead: -gone, horizon: latest });
    rows.store(connection);
    purge.count += gone;
    if (gone < wanted) return;
    yield;
  }
}

/**
 * Keeps the newest of the selected live objects, and deletes the others without tombstones.
 *
 * @param options.changing is called with the id of each object before it is deleted
 */
export function* trimList(
  connection: Connection,
  rows: ListRows,
  key: ListKey,
  selection: Selection,
  { maxObjects, changing }: { readonly maxObjects: number; readonly changing: (id: string) => void },
): Steps<number> {
  const row = rows.find(connection, key);
  if (row === undefined || row.live <= maxObjects) return 0;
  const excess = yield* selectExcess(connection, row, selection, maxObjects);
  let trimmed = 0;
  for (let start = 0; start < excess.length; start += chunkRows) {
    if (start > 0) yield;
    const chunk = excess.slice(start, start + chunkRows);
    for (const [, , id] of chunk) changing(id);
    const objects = JSON.stringify(chunk.map(([object]) => object));
    const gone = connection.run('DELETE FROM objects WHERE object IN (SELECT value FROM json_each(?))', objects);
    if (gone > 0) rows.change(connection, key, { live: -gone });
    rows.store(connection);
    trimmed += gone;
  }
  return trimmed;
}

type Excess = readonly [object: number, lastModified: number, id: string];

/** Returns the selected live objects beyond the newest `maxObjects`, with their row numbers. */
function* selectExcess(
  connection: Connection,
  row: ListRow,
  selection: Selection,
  maxObjects: number,
): Steps<readonly Excess[]> {
  const compiled = compileSelection(row, planSelection({ ...selection, includeDeleted: false }));
  // The windows of a list come newest first; those of ids do not, so their rows are sorted together at the end.
  const selected: Excess[] = [];
  yield* walkWindows(connection, compiled, 'descending', (window) => {
    for (const source of compiled.tables) {
      const from = fromWhere(compiled, source, window);
      const sql = `SELECT e.object, e.last_modified, e.id ${from.sql}`;
      selected.push(...connection.allMatching<Excess>(compiled.filters, sql, from.parameters));
    }
    return false;
  });
  return selected.sort((a, b) => b[1] - a[1]).slice(maxObjects);
}

/** Deletes all objects, tombstones and clocks, and counts the flush. */
export function flushStorage(connection: Connection): void {
  for (const table of ['objects', 'tombstones', 'lists', 'doomed_lists']) connection.run(`DELETE FROM ${table}`);
  connection.run(
    "INSERT INTO counters (name, value) VALUES ('flushes', 1) ON CONFLICT DO UPDATE SET value = value + 1",
  );
}
