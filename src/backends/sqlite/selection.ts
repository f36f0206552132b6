// What a query selects from one list, as SQL: the source rows (a stretch of timestamps, or a set of ids) and the
// conditions on them. Scans walk the source in windows, so that no statement runs for long.
import type { Filter, Selection } from '../../core/query/ast.ts';
import { namedIds } from '../../core/query/named-ids.ts';
import type { Connection, SqlValue } from './connection.ts';
import { liveCondition, tombstoneCondition } from './filter-sql.ts';
import type { Condition } from './filter-terms.ts';
import type { Steps } from './steps.ts';
import { splitTimestampRange, type TimestampRange } from '../../core/query/timestamp-range.ts';

/** Index entries that one statement of a scan looks at; a few milliseconds at most. */
export const windowRows = 1000;

export type TableName = 'objects' | 'tombstones';

/** A compiled selection of one list. */
export interface CompiledSelection {
  /** The internal number of the list. */
  readonly list: number;
  readonly filters: readonly Filter[];
  readonly range: TimestampRange;
  /** The only ids in question, without duplicates. */
  readonly ids: readonly string[] | undefined;
  /** Which tables to look into, and what their rows must fulfil beyond source and range. */
  readonly tables: readonly { readonly table: TableName; readonly condition: Condition | undefined }[];
}

/** A part of the source: timestamps, of the ids when there are any. */
export interface Window {
  readonly range: TimestampRange;
  readonly ids: readonly string[] | undefined;
}

/** Compiles filters and ids; a table takes part only when one of its rows can match at all. */
export function compileSelection(list: number, selection: Selection, includeDeleted: boolean): CompiledSelection {
  const { range, rest } = splitTimestampRange(selection.filters);
  const ids = selection.ids ?? namedIds(rest);
  const tables: CompiledSelection['tables'][number][] = [];
  const ofObjects = liveCondition(rest);
  if (ofObjects !== 'never') tables.push({ table: 'objects', condition: ofObjects });
  const ofTombstones = includeDeleted ? tombstoneCondition(rest) : 'never';
  if (ofTombstones !== 'never') tables.push({ table: 'tombstones', condition: ofTombstones });
  return { list, filters: selection.filters, range, ids: ids && [...new Set(ids)], tables };
}

/** `FROM … WHERE …` for the rows of one table in a window, the rows being `e`. */
export function fromWhere(
  { list }: CompiledSelection,
  { table, condition }: CompiledSelection['tables'][number],
  window: Window,
): Condition {
  const parameters: SqlValue[] = [];
  // The order of the join is forced: SQLite does not know how few the ids are.
  const source = window.ids === undefined ? `${table} e` : `json_each(?) j CROSS JOIN ${table} e`;
  if (window.ids !== undefined) parameters.push(JSON.stringify(window.ids));
  const wanted = ['e.list = ?', 'e.last_modified BETWEEN ? AND ?'];
  parameters.push(list, window.range.low, window.range.high);
  if (window.ids !== undefined) wanted.push('e.id = j.value');
  if (condition !== undefined) {
    wanted.push(condition.sql);
    parameters.push(...condition.parameters);
  }
  return { sql: `FROM ${source} WHERE ${wanted.join(' AND ')}`, parameters };
}

/**
 * Walks the source window by window, yielding before the first when there will be several.
 *
 * @param visit returns whether the walk may stop
 */
export function* walkWindows(
  connection: Connection,
  selection: CompiledSelection,
  direction: 'ascending' | 'descending',
  visit: (window: Window) => boolean,
): Steps<void> {
  const { ids, range } = selection;
  if (range.low > range.high || selection.tables.length === 0) return;
  if (ids !== undefined) {
    for (let start = 0; start < ids.length; start += windowRows) {
      if (ids.length > windowRows) yield;
      if (visit({ range, ids: ids.slice(start, start + windowRows) })) return;
    }
    return;
  }
  let rest = range;
  for (;;) {
    const edge = findEdge(connection, selection, rest, direction);
    if (edge === undefined) {
      visit({ range: rest, ids });
      return;
    }
    yield;
    const descending = direction === 'descending';
    if (visit({ range: descending ? { ...rest, low: edge } : { ...rest, high: edge }, ids })) return;
    rest = descending ? { ...rest, high: edge - 1 } : { ...rest, low: edge + 1 };
    if (rest.low > rest.high) return;
  }
}

/** The far end of the next window, or `undefined` when the rest fits into one. */
function findEdge(
  connection: Connection,
  { list, tables }: CompiledSelection,
  { low, high }: TimestampRange,
  direction: 'ascending' | 'descending',
): number | undefined {
  const order = direction === 'descending' ? 'DESC' : 'ASC';
  const edges = tables.flatMap(({ table }) => {
    const sql = `SELECT e.last_modified FROM ${table} e WHERE e.list = ? AND e.last_modified BETWEEN ? AND ?
      ORDER BY e.last_modified ${order} LIMIT 1 OFFSET ?`;
    return connection.get<[number]>(sql, list, low, high, windowRows - 1) ?? [];
  });
  if (edges.length === 0) return undefined;
  return direction === 'descending' ? Math.max(...edges) : Math.min(...edges);
}
