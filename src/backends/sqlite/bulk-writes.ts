// Writes to whole lists and subtrees. What may touch many rows goes in steps, so that requests are served meanwhile;
// the unit of work keeps the turn of the writer until it ends.
import type { PurgeOptions } from '../../contracts/storage.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Selection } from '../../core/query/ast.ts';
import { planSelection } from '../../core/query/plan-page.ts';
import type { Connection, SqlValue } from './connection.ts';
import { detachContents, findList, raiseHorizon, updateList, type ListRow } from './lists.ts';
import { compileSelection, fromWhere, walkWindows } from './selection.ts';
import type { Steps } from '../../base/steps.ts';
import { rangeBelow } from '../sql/text-range.ts';

/** Rows that one statement deletes. */
const chunkRows = 2000;
const afterAllTimestamps = Number.MAX_SAFE_INTEGER + 1;

/**
 * Empties every list whose parent is the URI or lies below it.
 *
 * @param nextClock the clock of a list that loses live objects
 * @returns whether there was anything in them
 */
export function deleteBelow(connection: Connection, uri: string, nextClock: (clock: number) => number): boolean {
  const { low, high } = rangeBelow(uri);
  const rows = connection.all<[string, string, number, number, number, number]>(
    `SELECT kind, parent, list, clock, live, dead FROM lists
    WHERE (parent = ? OR (parent >= ? AND parent < ?)) AND (live > 0 OR dead > 0)`,
    uri,
    low,
    high,
  );
  for (const [kind, parent, list, clock, live, dead] of rows) {
    detachContents(connection, { kind, parent }, { list, clock, live, dead }, live > 0 ? nextClock(clock) : clock);
  }
  return rows.length > 0;
}

/** Forgets tombstones, list by list; returns how many. */
export function* purgeTombstones(connection: Connection, options: PurgeOptions): Steps<number> {
  const { kind, parent, before, maxRetained, limit = Infinity } = options;
  if (before !== undefined && maxRetained !== undefined) throw new Error('give either before or maxRetained');
  const conditions = ['dead > ?'];
  const parameters: SqlValue[] = [maxRetained ?? 0];
  if (kind !== undefined) {
    conditions.push('kind = ?');
    parameters.push(kind);
  }
  if (parent !== undefined) {
    conditions.push('parent = ?');
    parameters.push(parent);
  }
  const sql = `SELECT list, clock, dead FROM lists WHERE ${conditions.join(' AND ')}`;
  let purged = 0;
  for (const [list, clock, dead] of connection.all<[number, number, number]>(sql, ...parameters)) {
    let left = Math.min(limit - purged, maxRetained === undefined ? Infinity : dead - maxRetained);
    while (left > 0) {
      const wanted = Math.min(left, chunkRows);
      const latest = connection.get<[number | null]>(
        `SELECT max(last_modified) FROM (SELECT last_modified FROM tombstones WHERE list = ? AND last_modified < ?
        ORDER BY last_modified LIMIT ?)`,
        list,
        before ?? afterAllTimestamps,
        wanted,
      )?.[0];
      if (typeof latest !== 'number') break;
      const gone = connection.run('DELETE FROM tombstones WHERE list = ? AND last_modified <= ?', list, latest);
      updateList(connection, list, clock, { dead: -gone });
      raiseHorizon(connection, list, latest);
      purged += gone;
      left -= gone;
      if (gone < wanted) break;
      yield;
    }
  }
  return purged;
}

/**
 * Keeps the newest of the selected live objects; the others go without tombstones.
 *
 * @param options.changing is told of each object before it goes
 */
export function* trimList(
  connection: Connection,
  key: ListKey,
  selection: Selection,
  { maxObjects, changing }: { readonly maxObjects: number; readonly changing: (id: string) => void },
): Steps<number> {
  const row = findList(connection, key);
  if (row === undefined || row.live <= maxObjects) return 0;
  const excess = yield* selectExcess(connection, row, selection, maxObjects);
  let trimmed = 0;
  for (let start = 0; start < excess.length; start += chunkRows) {
    if (start > 0) yield;
    const chunk = excess.slice(start, start + chunkRows);
    for (const [, , id] of chunk) changing(id);
    const objects = JSON.stringify(chunk.map(([object]) => object));
    const gone = connection.run('DELETE FROM objects WHERE object IN (SELECT value FROM json_each(?))', objects);
    if (gone > 0) updateList(connection, row.list, row.clock, { live: -gone });
    trimmed += gone;
  }
  return trimmed;
}

type Excess = readonly [object: number, lastModified: number, id: string];

/** The selected live objects beyond the newest `maxObjects`, with their row numbers. */
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

/** Deletes all objects, tombstones and clocks. */
export function flushStorage(connection: Connection): void {
  for (const table of ['objects', 'tombstones', 'lists', 'doomed_lists']) connection.run(`DELETE FROM ${table}`);
}
