// Finds one page of a list. Sorted by timestamp or id the index delivers it; in any other order the sort keys of all
// selected rows are compared, but only the rows of the page are fetched.
import { parseStoredJson, type JsonValue } from '../../base/json.ts';
import { StoredObject, type StoredEntry } from '../../core/objects/stored.ts';
import type { Filter, PagePosition, PageQuery, SortKey } from '../../core/query/ast.ts';
import { readEntryField } from '../../core/query/fields.ts';
import { splitIdBounds, type IdBound } from '../../core/query/id-bounds.ts';
import { comparePositions } from '../../core/query/sort.ts';
import type { Connection, SqlValue } from './connection.ts';
import { compileAttributeTerm, isOwnField, jsonPathOf } from './filter-terms.ts';
import { FirstOf } from '../../base/first-of.ts';
import type { ListRow } from './lists.ts';
import {
  compileSelection,
  fromWhere,
  narrowSelection,
  walkFromBothEnds,
  walkWindows,
  windowRows,
  type CompiledSelection,
  type Window,
} from './selection.ts';
import type { Steps } from '../../base/steps.ts';
import { isIdField, isTimestampField, rangeAfter } from '../../core/query/timestamp-range.ts';

export interface SelectedPage {
  readonly entries: readonly StoredEntry[];
  readonly more: boolean;
}

/** Sort keys that SQLite reads; with more of them the whole object is read. */
const maxPaths = 3;

type EntryRow = [id: string, lastModified: number, data: string | null];

/** One page of the list; tombstones take part when `includeDeleted` says so, whatever the query says. */
export function* selectPage(
  connection: Connection,
  list: ListRow,
  query: PageQuery,
  includeDeleted: boolean,
): Steps<SelectedPage> {
  const selection = compileSelection(list, query, includeDeleted);
  if (selection.tables.length === 0) return { entries: [], more: false };
  const [first] = query.sort;
  const after = query.after?.[0];
  const isFirstPage = query.after === undefined;
  let entries: readonly StoredEntry[];
  if (selection.ids === undefined && first !== undefined && isTimestampField(first.field)) {
    if (isFirstPage) {
      entries = yield* selectByTimestamp(connection, selection, query);
    } else if (typeof after === 'number') {
      const range = rangeAfter(selection.range, first.direction, after);
      entries = yield* selectByTimestamp(connection, { ...selection, range }, query);
    } else entries = yield* selectByPosition(connection, selection, query);
  } else if (
    selection.ids === undefined &&
    first !== undefined &&
    isIdField(first.field) &&
    splitIdBounds(query.filters).rest.length === 0 &&
    (isFirstPage || typeof after === 'string')
  ) {
    entries = selectById(connection, selection, query, typeof after === 'string' ? after : undefined);
  } else entries = yield* selectByPosition(connection, selection, query);
  return { entries: entries.slice(0, query.limit), more: entries.length > query.limit };
}

/** In the order of the index by timestamp, which is unique: further sort keys never matter. */
function* selectByTimestamp(
  connection: Connection,
  selection: CompiledSelection,
  { sort, limit }: PageQuery,
): Steps<readonly StoredEntry[]> {
  const { direction } = sort[0]!;
  const found: StoredEntry[] = [];
  const visit = (window: Window): boolean => {
    const wanted = limit + 1 - found.length;
    for (const row of selectRows(connection, selection, window, `2 ${sqlOrder(direction)}`, wanted)) {
      found.push(entryOf(row));
    }
    return found.length > limit;
  };
  const unfiltered = selection.tables.every(({ condition }) => condition === undefined);
  if (unfiltered && limit <= windowRows) visit({ range: selection.range, ids: undefined });
  else yield* walkWindows(connection, selection, direction, visit, { mayEndSoon: limit <= windowRows });
  return found;
}

/** In the order of the index by id, which also keeps to bounds on ids. */
function selectById(
  connection: Connection,
  selection: CompiledSelection,
  { filters, sort, limit }: PageQuery,
  after: string | undefined,
): readonly StoredEntry[] {
  const { direction } = sort[0]!;
  const bounds: IdBound[] = [...splitIdBounds(filters).bounds];
  if (after !== undefined) bounds.push({ operator: direction === 'ascending' ? 'gt' : 'lt', id: after });
  const conditions = bounds.map(({ operator }) => ` AND e.id ${comparisons[operator]} ?`).join('');
  const own: SqlValue[] = [selection.list, ...bounds.map(({ id }) => id)];
  const arms = selection.tables.map(
    ({ table }) => `SELECT e.id, e.last_modified, ${dataOf(table)} FROM ${table} e WHERE e.list = ?${conditions}`,
  );
  const sql = `${arms.join(' UNION ALL ')} ORDER BY 1 ${sqlOrder(direction)} LIMIT ?`;
  const parameters = [...selection.tables.flatMap(() => own), limit + 1];
  return connection.all<EntryRow>(sql, ...parameters).map(entryOf);
}

const comparisons: Readonly<Record<IdBound['operator'], string>> = { gt: '>', min: '>=', lt: '<', max: '<=' };

/** Rows of a window, live objects and tombstones merged from their indexes. */
function selectRows(
  connection: Connection,
  selection: CompiledSelection,
  window: Window,
  order: string,
  limit: number,
): readonly EntryRow[] {
  const parameters: SqlValue[] = [];
  const arms = selection.tables.map((source) => {
    const from = fromWhere(selection, source, window);
    parameters.push(...from.parameters);
    return `SELECT e.id, e.last_modified, ${dataOf(source.table)} ${from.sql}`;
  });
  const sql = `${arms.join(' UNION ALL ')} ORDER BY ${order} LIMIT ?`;
  return connection.allMatching<EntryRow>(selection.filters, sql, [...parameters, limit]);
}

/** A candidate for the page; a live object is fetched when it is certain to be on it. */
interface Candidate {
  readonly position: PagePosition;
  readonly id: string;
  readonly lastModified: number;
  /** Row number of the live object. */
  readonly object: number | undefined;
}

/** In any order, by comparing the sort keys of all selected rows as the query evaluator does. */
function* selectByPosition(
  connection: Connection,
  selection: CompiledSelection,
  { sort, after, limit }: PageQuery,
): Steps<readonly StoredEntry[]> {
  const best = new FirstOf<Candidate>(limit + 1, (a, b) => comparePositions(a.position, b.position, sort));
  const keys = compileKeys(sort);
  yield* walkFromBothEnds(connection, selection, (window) => {
    // Most rows are refused by SQLite, which costs far less than to look at them here.
    const bound = boundOf(sort, best.worst?.position);
    const bounded = bound === undefined ? selection : narrowSelection(selection, bound);
    for (const source of bounded.tables) {
      const isLive = source.table === 'objects';
      const from = fromWhere(bounded, source, window);
      const columns = isLive ? ['e.object', ...keys.columns] : ['NULL'];
      const rows = connection.allMatching<[string, number, number | null, ...(string | null)[]]>(
        bounded.filters,
        `SELECT e.id, e.last_modified, ${columns.join(', ')} ${from.sql}`,
        isLive ? [...keys.parameters, ...from.parameters] : from.parameters,
      );
      for (const [id, lastModified, object, ...values] of rows) {
        const position = object === null ? keys.ofTombstone(id, lastModified) : keys.ofObject(id, lastModified, values);
        if (after !== undefined && comparePositions(position, after, sort) <= 0) continue;
        best.add({ position, id, lastModified, object: object ?? undefined });
      }
    }
  });
  return fetchEntries(connection, best.finish());
}

/** What all rows before the position pass; `undefined` where SQLite cannot test it by itself. */
function boundOf([first]: readonly SortKey[], position: PagePosition | undefined): Filter | undefined {
  if (first === undefined || position === undefined || isOwnField(first.field)) return undefined;
  const { field, direction } = first;
  const [value] = position;
  if (value === undefined) return direction === 'ascending' ? undefined : { field, operator: 'has', present: false };
  const bound: Filter = { field, operator: direction === 'ascending' ? 'max' : 'min', value };
  return compileAttributeTerm(bound) === undefined ? undefined : bound;
}

/** How the values of the sort keys are read from a row: by SQLite, or, where its paths do not reach, from `data`. */
function compileKeys(sort: readonly SortKey[]): {
  readonly columns: readonly string[];
  readonly parameters: readonly SqlValue[];
  ofObject(id: string, lastModified: number, values: readonly (string | null)[]): PagePosition;
  ofTombstone(id: string, lastModified: number): PagePosition;
} {
  const ofAttributes = sort.filter(({ field }) => !isOwnField(field));
  const paths = ofAttributes.map(({ field }) => jsonPathOf(field));
  // Not for any number of keys, which would make as many statements.
  const byPath = paths.length <= maxPaths && paths.every((path) => path !== undefined);
  const positionAt = (entry: StoredEntry): PagePosition => sort.map(({ field }) => readEntryField(entry, field));
  return {
    // `->` gives the JSON text of the value, with all the digits of a number.
    columns: byPath ? paths.map(() => 'e.data -> ?') : ['e.data'],
    parameters: byPath ? paths : [],
    ofObject(id, lastModified, values) {
      if (!byPath) return positionAt(new StoredObject(id, lastModified, values[0]!));
      let next = 0;
      return sort.map(({ field }): JsonValue | undefined => {
        if (isTimestampField(field)) return lastModified;
        if (isIdField(field)) return id;
        if (isOwnField(field)) return undefined;
        const text = values[next++];
        return typeof text === 'string' ? parseStoredJson(text) : undefined;
      });
    },
    ofTombstone: (id, lastModified) => positionAt({ id, lastModified, deleted: true }),
  };
}

function fetchEntries(connection: Connection, candidates: readonly Candidate[]): readonly StoredEntry[] {
  const rows = JSON.stringify(candidates.flatMap(({ object }) => object ?? []));
  const texts = new Map(
    connection.all<[number, string]>(
      'SELECT e.object, e.data FROM json_each(?) j CROSS JOIN objects e WHERE e.object = j.value',
      rows,
    ),
  );
  return candidates.map(({ id, lastModified, object }) =>
    object === undefined ? { id, lastModified, deleted: true } : new StoredObject(id, lastModified, texts.get(object)!),
  );
}

function entryOf([id, lastModified, data]: EntryRow): StoredEntry {
  return data === null ? { id, lastModified, deleted: true } : new StoredObject(id, lastModified, data);
}

function dataOf(table: 'objects' | 'tombstones'): string {
  return table === 'objects' ? 'e.data' : 'NULL';
}

function sqlOrder(direction: SortKey['direction']): string {
  return direction === 'ascending' ? 'ASC' : 'DESC';
}
