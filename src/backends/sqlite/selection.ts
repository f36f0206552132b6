// Translates plans into SQL: the source rows of one list (a range of timestamps, or a set of ids) and the conditions on
// them. Scans read the source in windows, so that no statement runs for long.
import { StoredObject } from '../../core/objects/stored.ts';
import type { Direction, Filter } from '../../core/query/ast.ts';
import { workOfEntry, type QueryBudget } from '../../core/query/budget.ts';
import { longestAtOnce, matchesInSteps, weightOf, workWeightOf, WorkMeter } from '../../core/query/evaluate-steps.ts';
import { budgetOf, type PagePlan, type SelectionPlan } from '../../core/query/plan-page.ts';
import type { TimestampRange } from '../../core/query/timestamp-range.ts';
import type { Connection, SqlValue } from './connection.ts';
import { liveCondition, tombstoneCondition, type Condition } from './filter-sql.ts';
import type { Steps } from '../../base/steps.ts';
import type { ListRow } from './lists.ts';
import { isLong } from './schema.ts';

/** Rows that are few enough to be read without a pause. */
export const windowRows = 1000;
/** Rows of the first window. Later windows depend on the time that rows take, since rows may be of any size. */
const firstRows = 100;
/** Rows of the first window of a scan that needs many windows in any case. */
const firstRowsOfMany = 16;
/** Maximum number of rows of a window. */
export const maxRows = 5000;
/** Time that a window may take, in milliseconds; a window of few rows may take longer. */
const windowMs = 1;
const fewRows = 64;
const fewRowsMs = 4;
/** Time and row budget of a scan before its first pause, when it may end soon. */
const hopefulMs = 3;
const hopefulRows = 2000;

/** Weight of the filters up to which SQLite tests the objects that are not long. */
const fewConditions = 8;

export type TableName = 'objects' | 'tombstones';

/** A part of the source: rows with a timestamp in the range and, when `ids` is given, with one of these ids. */
export interface Window {
  readonly range: TimestampRange;
  readonly ids: readonly string[] | undefined;
  /** Objects that were tested before the statement, which would block the event loop; absent: none. */
  readonly tested?: TestedObjects | undefined;
}

interface TestedObjects {
  /** They are those whose texts are longer, in bytes. */
  readonly above: number;
  /** Ids of those that match. */
  readonly matching: readonly string[];
}

/** A compiled selection of one list; as a window, it is the whole source. */
export interface CompiledSelection extends Window {
  /** Internal number of the list. */
  readonly list: number;
  /** Filters that rows of the source have to match. */
  readonly filters: readonly Filter[];
  /** Tables to read, and the filters as a condition on their rows. */
  readonly tables: readonly { readonly table: TableName; readonly condition: Condition | undefined }[];
  /** Whether the list is small enough to be read without a pause. */
  readonly isSmall: boolean;
  readonly budget: QueryBudget | undefined;
}

/** Compiles a plan. Tables are left out when none of their rows can match. */
export function compileSelection(list: ListRow, plan: SelectionPlan | PagePlan): CompiledSelection {
  const { range, residual, includeDeleted } = plan;
  const budget = budgetOf(plan);
  const names: readonly TableName[] = [
    ...(list.live > 0 ? (['objects'] as const) : []),
    ...(includeDeleted && list.dead > 0 ? (['tombstones'] as const) : []),
  ];
  const ids = plan.by === 'lookup' ? plan.ids : undefined;
  const isSmall = list.live + list.dead <= windowRows;
  return { list: list.list, filters: residual, range, ids, tables: compileTables(names, residual), isSmall, budget };
}

function compileTables(names: readonly TableName[], filters: readonly Filter[]): CompiledSelection['tables'] {
  return names.flatMap((table) => {
    const condition = table === 'objects' ? liveCondition(filters) : tombstoneCondition(filters);
    return condition === 'never' ? [] : [{ table, condition }];
  });
}

/** Returns the part of a selection that matches one more filter. */
export function narrowSelection(selection: CompiledSelection, filter: Filter): CompiledSelection {
  const filters = [...selection.filters, filter];
  const names = selection.tables.map(({ table }) => table);
  return { ...selection, filters, tables: compileTables(names, filters) };
}

/** Returns `FROM … WHERE …` for the rows `e` of one table in a window. */
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
  if (condition !== undefined && window.tested !== undefined && table === 'objects') {
    const { above, matching } = window.tested;
    wanted.push(
      `CASE WHEN octet_length(e.data) > ? THEN e.id IN (SELECT value FROM json_each(?)) ELSE ${condition.sql} END`,
    );
    parameters.push(above, JSON.stringify(matching), ...condition.parameters);
  } else if (condition !== undefined) {
    wanted.push(condition.sql);
    parameters.push(...condition.parameters);
  }
  return { sql: `FROM ${source} WHERE ${wanted.join(' AND ')}`, parameters };
}

/** Is called with each window; returns whether the scan ends here. */
type Visit = (window: Window) => boolean | Steps<boolean>;

/**
 * Visits the source window by window, with pauses when it needs several.
 *
 * @param options.mayEndSoon whether the first windows are likely to be enough. The scan then begins without a pause,
 *   although a scan that pauses later is started again from the beginning.
 */
export function* walkWindows(
  connection: Connection,
  selection: CompiledSelection,
  direction: Direction,
  visit: Visit,
  { mayEndSoon = false }: { readonly mayEndSoon?: boolean } = {},
): Steps<void> {
  const { ids, range } = selection;
  if (range.low > range.high || selection.tables.length === 0) return;
  if (ids !== undefined) {
    const holdsLong = findLong(connection, selection, range, 'descending') !== undefined;
    yield* walkIds(connection, selection, ids, holdsLong, visit);
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
      yield* runVisit(visit, yield* testFirst(connection, selection, { range: rest, ids }, false));
      return;
    }
    const part = { range: descending ? { ...rest, low: edge } : { ...rest, high: edge }, ids };
    if (yield* runVisit(visit, yield* testFirst(connection, selection, part, endsAtLong))) return;
    if (!endsAtLong) noteWindow(connection, selection, edge, rows);
    rest = descending ? { ...rest, high: edge - 1 } : { ...rest, low: edge + 1 };
    if (endsAtLong) {
      hopeful = 0;
      long = findLong(connection, selection, rest, direction);
    } else rows = nextRows(rows, performance.now() - startedAt);
  }
}

function* runVisit(visit: Visit, window: Window): Steps<boolean> {
  const ends = visit(window);
  return typeof ends === 'boolean' ? ends : yield* ends;
}

/**
 * Notes the work of a window that SQLite tests. Its last object stands for all of them, since their lengths are not read.
 *
 * @param edge timestamp of the last object
 */
function noteWindow(
  connection: Connection,
  { list, filters, budget }: CompiledSelection,
  edge: number,
  rows: number,
): void {
  if (budget === undefined || isHeavyTest(filters)) return;
  const sql = 'SELECT octet_length(data) FROM objects WHERE list = ? AND last_modified = ?';
  const bytes = connection.get<[number]>(sql, list, edge)?.[0] ?? 0;
  budget.spendOn((workOfEntry + bytes) * rows, workWeightOf(filters));
}

/** Whether each object is tested before the statement. */
function isHeavyTest(filters: readonly Filter[]): boolean {
  return weightOf(filters) > fewConditions;
}

/**
 * Returns the timestamp of the first long object of a range, `undefined` when it has none. A window ends at a long object:
 * a window with several would block the event loop for too long, however short the rows before them are.
 */
function findLong(
  connection: Connection,
  { list, tables }: CompiledSelection,
  { low, high }: TimestampRange,
  direction: Direction,
): number | undefined {
  if (!tables.some(({ table }) => table === 'objects')) return undefined;
  const sql = `SELECT e.last_modified FROM objects e WHERE e.list = ? AND ${isLong} AND e.last_modified BETWEEN ? AND ?
    ORDER BY e.last_modified ${sqlOrder(direction)} LIMIT 1`;
  return connection.get<[number]>(sql, list, low, high)?.[0];
}

/**
 * Tests the objects of a window on which the statement would block the event loop.
 *
 * @param holdsLong whether the window may have long objects
 */
function* testFirst(
  connection: Connection,
  selection: CompiledSelection,
  window: Window,
  holdsLong: boolean,
): Steps<Window> {
  const { filters, tables, budget } = selection;
  const isHeavy = isHeavyTest(filters);
  if (!isHeavy && !holdsLong) return window;
  const source = tables.find(({ table }) => table === 'objects');
  if (source?.condition === undefined) return window;
  const above = isHeavy ? 0 : longestAtOnce(filters);
  const from = fromWhere(selection, { ...source, condition: undefined }, window);
  const rows = connection.all<[number]>(
    `SELECT e.object ${from.sql} AND octet_length(e.data) > ?`,
    ...from.parameters,
    above,
  );
  const meter = new WorkMeter(filters, budget);
  const matching: string[] = [];
  for (const [row] of rows) {
    const sql = 'SELECT id, last_modified, data FROM objects WHERE object = ?';
    const object = new StoredObject(...connection.get<[string, number, string]>(sql, row)!);
    if (meter.add(object)) yield;
    if (yield* matchesInSteps(object, filters)) matching.push(object.id);
  }
  meter.finish();
  return rows.length === 0 ? window : { ...window, tested: { above, matching } };
}

function* walkIds(
  connection: Connection,
  selection: CompiledSelection,
  ids: readonly string[],
  holdsLong: boolean,
  visit: Visit,
): Steps<void> {
  const { range } = selection;
  // A window with several long objects would block the event loop for too long.
  const atOnce = holdsLong ? 1 : maxRows;
  let rows = Math.min(firstRows, atOnce);
  const hopefulUntil = ids.length <= windowRows && atOnce > 1 ? performance.now() + hopefulMs : 0;
  for (let start = 0; start < ids.length;) {
    if (performance.now() >= hopefulUntil) yield;
    const startedAt = performance.now();
    const part = { range, ids: ids.slice(start, start + rows) };
    if (yield* runVisit(visit, yield* testFirst(connection, selection, part, holdsLong))) return;
    start += rows;
    rows = Math.min(nextRows(rows, performance.now() - startedAt), atOnce);
  }
}

/**
 * Visits all windows of the source for a page in any order: the oldest window first, then the others from the newest on.
 * Values that grow or shrink with time have their extremes at both ends. With those known, SQLite refuses most other rows.
 */
export function* walkFromBothEnds(
  connection: Connection,
  selection: CompiledSelection,
  visit: (window: Window) => Steps<void>,
): Steps<void> {
  const { ids, range, isSmall } = selection;
  const edge =
    isSmall || ids !== undefined ? undefined : findEdge(connection, selection, range, 'ascending', windowRows);
  const visitAll = function* (window: Window): Steps<boolean> {
    yield* visit(window);
    return false;
  };
  if (edge !== undefined) {
    yield;
    yield* walkWindows(connection, { ...selection, range: { ...range, high: edge } }, 'ascending', visitAll);
  }
  const rest = edge === undefined ? range : { ...range, low: edge + 1 };
  yield* walkWindows(connection, { ...selection, range: rest }, 'descending', visitAll);
}

/** Whether the whole source is small enough to be read without a pause. */
function isFew(connection: Connection, selection: CompiledSelection, direction: Direction): boolean {
  return findEdge(connection, selection, selection.range, direction, windowRows) === undefined;
}

/**
 * Returns the number of rows for the next window, from the time that the last one took. A window of few rows may take
 * longer, since each statement has a cost of its own.
 */
function nextRows(rows: number, tookMs: number): number {
  const fitting = Math.round(rows * Math.min((rows <= fewRows ? fewRowsMs : windowMs) / tookMs, 4));
  return Math.max(1, Math.min(fitting, maxRows));
}

/** Returns the far end of a window of `rows` rows; `undefined` when the whole range fits into it. */
function findEdge(
  connection: Connection,
  { list, tables }: CompiledSelection,
  { low, high }: TimestampRange,
  direction: Direction,
  rows: number,
): number | undefined {
  const edges = tables.flatMap(({ table }) => {
    const sql = `SELECT e.last_modified FROM ${table} e WHERE e.list = ? AND e.last_modified BETWEEN ? AND ?
      ORDER BY e.last_modified ${sqlOrder(direction)} LIMIT 1 OFFSET ?`;
    return connection.get<[number]>(sql, list, low, high, rows - 1) ?? [];
  });
  if (edges.length === 0) return undefined;
  return direction === 'descending' ? Math.max(...edges) : Math.min(...edges);
}

export function sqlOrder(direction: Direction): string {
  return direction === 'ascending' ? 'ASC' : 'DESC';
}
