// Finds one page of a list. Sorted by timestamp or id the index delivers it; in any other order the sort keys of all
// selected rows are compared, but only the rows of the page are fetched.
import { parseStoredJson, type JsonValue } from '../../base/json.ts';
import { fitPage, PageFill } from '../../core/objects/page-text.ts';
import { StoredObject, type StoredEntry } from '../../core/objects/stored.ts';
import type { Filter, PagePosition, PageQuery, SortKey } from '../../core/query/ast.ts';
import { readEntryField } from '../../core/query/fields.ts';
import { splitIdBounds, type IdBound } from '../../core/query/id-bounds.ts';
import { comparePositions } from '../../core/query/sort.ts';
import type { Connection, SqlValue } from './connection.ts';
import { compileAttributeTerm, isOwnField, jsonPathOf, type Condition } from './filter-terms.ts';
import { TopN } from '../../base/top-n.ts';
import type { ListRow } from './lists.ts';
import {
  compileSelection,
  fromWhere,
  mostRows,
  narrowSelection,
  walkFromBothEnds,
  walkWindows,
  windowRows,
  type CompiledSelection,
  type TableName,
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

/** The number of a row stands for a text that is too long to be read before it is certain to be on the page. */
type EntryRow = [id: string, lastModified: number, data: string | number | null];

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
  return fitPage({ entries: entries.slice(0, query.limit), more: entries.length > query.limit }, query.maxBytes);
}

/** In the order of the index by timestamp, which is unique: further sort keys never matter. */
function* selectByTimestamp(
  connection: Connection,
  selection: CompiledSelection,
  { sort, limit, maxBytes }: PageQuery,
): Steps<readonly StoredEntry[]> {
  const { direction } = sort[0]!;
  const found = new FoundEntries(connection, maxBytes);
  const visit = (window: Window): boolean => {
    const wanted = limit + 1 - found.entries.length;
    const order = `2 ${sqlOrder(direction)}`;
    found.add(
      selectRows(connection, selection, window, { order, limit: wanted, inline: inlineBytes(wanted, maxBytes) }),
    );
    return found.isFull || found.entries.length > limit;
  };
  const unfiltered = selection.tables.every(({ condition }) => condition === undefined);
  if (unfiltered && limit <= windowRows) visit({ range: selection.range, ids: undefined });
  else yield* walkWindows(connection, selection, direction, visit, { mayEndSoon: limit <= windowRows });
  return found.entries;
}

/** In the order of the index by id, which also keeps to bounds on ids. */
function selectById(
  connection: Connection,
  selection: CompiledSelection,
  { filters, sort, limit, maxBytes }: PageQuery,
  after: string | undefined,
): readonly StoredEntry[] {
  const { direction } = sort[0]!;
  const bounds: IdBound[] = [...splitIdBounds(filters).bounds];
  if (after !== undefined) bounds.push({ operator: direction === 'ascending' ? 'gt' : 'lt', id: after });
  const conditions = bounds.map(({ operator }) => ` AND e.id ${comparisons[operator]} ?`).join('');
  const own: SqlValue[] = [selection.list, ...bounds.map(({ id }) => id)];
  const parameters: SqlValue[] = [];
  const arms = selection.tables.map(({ table }) => {
    const data = dataOf(table, inlineBytes(limit + 1, maxBytes));
    parameters.push(...data.parameters, ...own);
    return `SELECT e.id, e.last_modified, ${data.sql} FROM ${table} e WHERE e.list = ?${conditions}`;
  });
  const sql = `${arms.join(' UNION ALL ')} ORDER BY 1 ${sqlOrder(direction)} LIMIT ?`;
  const found = new FoundEntries(connection, maxBytes);
  found.add(connection.all<EntryRow>(sql, ...parameters, limit + 1));
  return found.entries;
}

const comparisons: Readonly<Record<IdBound['operator'], string>> = { gt: '>', min: '>=', lt: '<', max: '<=' };

/** Rows of a window, live objects and tombstones merged from their indexes. */
function selectRows(
  connection: Connection,
  selection: CompiledSelection,
  window: Window,
  { order, limit, inline }: { readonly order: string; readonly limit: number; readonly inline: number | undefined },
): readonly EntryRow[] {
  const parameters: SqlValue[] = [];
  const arms = selection.tables.map((source) => {
    const from = fromWhere(selection, source, window);
    const data = dataOf(source.table, inline);
    parameters.push(...data.parameters, ...from.parameters);
    return `SELECT e.id, e.last_modified, ${data.sql} ${from.sql}`;
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
  { sort, after, limit, maxBytes }: PageQuery,
): Steps<readonly StoredEntry[]> {
  const best = new TopN<Candidate>(limit + 1, (a, b) => comparePositions(a.position, b.position, sort));
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
  return fetchEntries(connection, best.finish(), maxBytes);
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

function fetchEntries(
  connection: Connection,
  candidates: readonly Candidate[],
  maxBytes: number | undefined,
): readonly StoredEntry[] {
  const inline = inlineBytes(candidates.length, maxBytes);
  const data = dataOf('objects', inline);
  const numbers = JSON.stringify(candidates.flatMap(({ object }) => object ?? []));
  const texts = new Map(
    connection.all<[number, string | number]>(
      `SELECT e.object, ${data.sql} FROM json_each(?) j CROSS JOIN objects e WHERE e.object = j.value`,
      ...data.parameters,
      numbers,
    ),
  );
  const found = new FoundEntries(connection, maxBytes);
  found.add(
    candidates.map(({ id, lastModified, object }) => [
      id,
      lastModified,
      object === undefined ? null : texts.get(object)!,
    ]),
  );
  return found.entries;
}

/** The entries of rows, until they fill the page. */
class FoundEntries {
  readonly entries: StoredEntry[] = [];
  readonly #connection: Connection;
  readonly #fill: PageFill;

  constructor(connection: Connection, maxBytes: number | undefined) {
    this.#connection = connection;
    this.#fill = new PageFill(maxBytes);
  }

  get isFull(): boolean {
    return this.#fill.isFull;
  }

  add(rows: readonly EntryRow[]): void {
    for (const [id, lastModified, data] of rows) {
      if (this.#fill.isFull) return;
      const entry: StoredEntry =
        data === null
          ? { id, lastModified, deleted: true }
          : new StoredObject(id, lastModified, typeof data === 'string' ? data : this.#readText(data));
      this.#fill.add(entry);
      this.entries.push(entry);
    }
  }

  #readText(object: number): string {
    return this.#connection.get<[string]>('SELECT data FROM objects WHERE object = ?', object)![0];
  }
}

/** Shorter texts are read with their rows in any case. */
const leastInlineBytes = 1024;

/** How long the texts of so many rows may be to be read with their rows, so that all of them have no more than a page has. */
function inlineBytes(rows: number, maxBytes: number | undefined): number | undefined {
  if (maxBytes === undefined) return undefined;
  return Math.max(leastInlineBytes, Math.floor(maxBytes / Math.min(Math.max(1, rows), mostRows)));
}

/** The text of an entry, or the number of its row where the text is too long. */
function dataOf(table: TableName, inline: number | undefined): Condition {
  if (table === 'tombstones') return { sql: 'NULL', parameters: [] };
  if (inline === undefined) return { sql: 'e.data', parameters: [] };
  return { sql: 'CASE WHEN octet_length(e.data) <= ? THEN e.data ELSE e.object END', parameters: [inline] };
}

function sqlOrder(direction: SortKey['direction']): string {
  return direction === 'ascending' ? 'ASC' : 'DESC';
}
