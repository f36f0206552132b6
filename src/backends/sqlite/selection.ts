// What a query selects from one list, as SQL: the source rows (a range of timestamps, or a set of ids) and the
// conditions on them. Scans walk the source in windows, so that no statement runs for long.
import type { Filter, Selection } from '../../core/query/ast.ts';
import { namedIds } from '../../core/query/named-ids.ts';
import type { Connection, SqlValue } from './connection.ts';
import { liveCondition, tombstoneCondition } from './filter-sql.ts';
import type { Condition } from './filter-terms.ts';
import type { Steps } from '../../base/steps.ts';
import type { ListRow } from './lists.ts';
import { isLong } from './schema.ts';
import { splitTimestampRange, type TimestampRange } from '../../core/query/timestamp-range.ts';

/** Index entries that most walks look at without a pause. */
export const windowRows = 1000;
/** Those of the first window; the others are as large as the time they take allows, for rows may be of any size. */
const firstRows = 100;
/** The same where there are many windows anyway. */
const firstRowsOfMany = 16;
export const mostRows = 5000;
const windowMs = 1;
const fewRows = 64;
const fewRowsMs = 4;
/** So long, and over so many rows, walks go without a pause that may end soon. */
const hopefulMs = 3;
const hopefulRows = 2000;

export type TableName = 'objects' | 'tombstones';

/** A compiled selection of one list. */
export interface CompiledSelection {
  /** The internal number of the list. */
  readonly list: number;
  readonly filters: readonly Filter[];
  /** Those that the range does not stand for. */
  readonly rest: readonly Filter[];
  readonly range: TimestampRange;
  /** The only ids in question, without duplicates. */
  readonly ids: readonly string[] | undefined;
  /** Which tables to look into, and what their rows must fulfil beyond source and range. */
  readonly tables: readonly { readonly table: TableName; readonly condition: Condition | undefined }[];
  /** Whether so little is in the list that looking at it hardly needs a pause. */
  readonly isSmall: boolean;
}

/** A part of the source: timestamps, of the ids when there are any. */
export interface Window {
  readonly range: TimestampRange;
  readonly ids: readonly string[] | undefined;
}

/** Compiles filters and ids; a table takes part only when one of its rows can match at all. */
export function compileSelection(list: ListRow, selection: Selection, includeDeleted: boolean): CompiledSelection {
  const { range, rest } = splitTimestampRange(selection.filters);
  const ids = selection.ids ?? namedIds(rest);
  const names: readonly TableName[] = [
    ...(list.live > 0 ? (['objects'] as const) : []),
    ...(includeDeleted && list.dead > 0 ? (['tombstones'] as const) : []),
  ];
  const tables = compileTables(names, rest);
  const isSmall = list.live + list.dead <= windowRows;
  return { list: list.list, filters: selection.filters, rest, range, ids: ids && [...new Set(ids)], tables, isSmall };
}

function compileTables(names: readonly TableName[], filters: readonly Filter[]): CompiledSelection['tables'] {
  return names.flatMap((table) => {
    const condition = table === 'objects' ? liveCondition(filters) : tombstoneCondition(filters);
    return condition === 'never' ? [] : [{ table, condition }];
  });
}

/** The part of a selection that passes one more filter. */
export function narrowSelection(selection: CompiledSelection, filter: Filter): CompiledSelection {
  const filters = [...selection.rest, filter];
  const names = selection.tables.map(({ table }) => table);
  return { ...selection, filters: [...selection.filters, filter], tables: compileTables(names, filters) };
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
 * Walks the source window by window, with pauses when there will be several.
 *
 * @param visit returns whether the walk may stop
 * @param options.mayEndSoon whether it is likely to: then it begins without a pause, although it may have to be begun anew
 */
export function* walkWindows(
  connection: Connection,
  selection: CompiledSelection,
  direction: 'ascending' | 'descending',
  visit: (window: Window) => boolean,
  { mayEndSoon = false }: { readonly mayEndSoon?: boolean } = {},
): Steps<void> {
  const { ids, range } = selection;
  if (range.low > range.high || selection.tables.length === 0) return;
  if (ids !== undefined) {
    const holdsLong = findLong(connection, selection, range, 'descending') !== undefined;
    yield* walkIds(selection, ids, holdsLong ? 1 : mostRows, visit);
    return;
  }
  const descending = direction === 'descending';
  const isHopeful = mayEndSoon || selection.isSmall || isFew(connection, selection, direction);
  let rest = range;
  let rows = isHopeful ? firstRows : firstRowsOfMany;
  let hopeful = isHopeful ? hopefulRows : 0;
  const hopefulUntil = performance.now() + hopefulMs;
  let long = findLong(connection, selection, rest, direction);
  while (rest.low <= rest.high) {
    if (hopeful > 0 && performance.now() < hopefulUntil) rows = Math.min(rows, hopeful);
    else yield;
    hopeful -= rows;
    const startedAt = performance.now();
    const far = findEdge(connection, selection, rest, direction, rows);
    const endsAtLong = long !== undefined && (far === undefined || (descending ? long >= far : long <= far));
    const edge = endsAtLong ? long : far;
    if (edge === undefined) {
      visit({ range: rest, ids });
      return;
    }
    if (visit({ range: descending ? { ...rest, low: edge } : { ...rest, high: edge }, ids })) return;
    rest = descending ? { ...rest, high: edge - 1 } : { ...rest, low: edge + 1 };
    if (endsAtLong) {
      hopeful = 0;
      long = findLong(connection, selection, rest, direction);
    } else rows = nextRows(rows, performance.now() - startedAt);
  }
}

/**
 * The timestamp of the first long object of a range: where one window held several, nobody else would be served meanwhile,
 * whatever the rows before them have taken.
 */
function findLong(
  connection: Connection,
  { list, tables }: CompiledSelection,
  { low, high }: TimestampRange,
  direction: 'ascending' | 'descending',
): number | undefined {
  if (!tables.some(({ table }) => table === 'objects')) return undefined;
  const order = direction === 'descending' ? 'DESC' : 'ASC';
  const sql = `SELECT e.last_modified FROM objects e WHERE e.list = ? AND ${isLong} AND e.last_modified BETWEEN ? AND ?
    ORDER BY e.last_modified ${order} LIMIT 1`;
  return connection.get<[number]>(sql, list, low, high)?.[0];
}

/** @param atOnce most ids of one window */
function* walkIds(
  { range }: CompiledSelection,
  ids: readonly string[],
  atOnce: number,
  visit: (window: Window) => boolean,
): Steps<void> {
  let rows = Math.min(firstRows, atOnce);
  const hopefulUntil = ids.length <= windowRows && atOnce > 1 ? performance.now() + hopefulMs : 0;
  for (let start = 0; start < ids.length;) {
    if (performance.now() >= hopefulUntil) yield;
    const startedAt = performance.now();
    if (visit({ range, ids: ids.slice(start, start + rows) })) return;
    start += rows;
    rows = Math.min(nextRows(rows, performance.now() - startedAt), atOnce);
  }
}

/**
 * The same for those who keep the best of all, whatever the order: the oldest window comes first, then the others from the
 * newest on. What grows or shrinks with time has its extremes at the ends, and once they are known little else is any good.
 */
export function* walkFromBothEnds(
  connection: Connection,
  selection: CompiledSelection,
  visit: (window: Window) => void,
): Steps<void> {
  const { ids, range, isSmall } = selection;
  const edge =
    isSmall || ids !== undefined ? undefined : findEdge(connection, selection, range, 'ascending', windowRows);
  const visitAll = (window: Window): boolean => {
    visit(window);
    return false;
  };
  if (edge !== undefined) {
    yield;
    yield* walkWindows(connection, { ...selection, range: { ...range, high: edge } }, 'ascending', visitAll);
  }
  const rest = edge === undefined ? range : { ...range, low: edge + 1 };
  yield* walkWindows(connection, { ...selection, range: rest }, 'descending', visitAll);
}

/** Whether the whole source is so little that it hardly needs a pause. */
function isFew(connection: Connection, selection: CompiledSelection, direction: 'ascending' | 'descending'): boolean {
  return findEdge(connection, selection, selection.range, direction, windowRows) === undefined;
}

/**
 * How many rows take the time of a window, going by what so many have taken: it depends on how large they are. Few may take
 * longer, for some of it is the price of a statement, however few they are.
 */
function nextRows(rows: number, tookMs: number): number {
  const fitting = Math.round(rows * Math.min((rows <= fewRows ? fewRowsMs : windowMs) / tookMs, 4));
  return Math.max(1, Math.min(fitting, mostRows));
}

/** The far end of a window of so many rows, or `undefined` when the rest fits into it. */
function findEdge(
  connection: Connection,
  { list, tables }: CompiledSelection,
  { low, high }: TimestampRange,
  direction: 'ascending' | 'descending',
  rows: number,
): number | undefined {
  const order = direction === 'descending' ? 'DESC' : 'ASC';
  const edges = tables.flatMap(({ table }) => {
    const sql = `SELECT e.last_modified FROM ${table} e WHERE e.list = ? AND e.last_modified BETWEEN ? AND ?
      ORDER BY e.last_modified ${order} LIMIT 1 OFFSET ?`;
    return connection.get<[number]>(sql, list, low, high, rows - 1) ?? [];
  });
  if (edges.length === 0) return undefined;
  return direction === 'descending' ? Math.max(...edges) : Math.min(...edges);
}
