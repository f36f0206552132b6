// One page of a list, or the number of what is selected, as one statement: the clock and the entries come from one
// snapshot. Sorted by timestamp or id an index delivers the rows; in any other order the server keeps the first few.
import type { Page } from '../../contracts/storage.ts';
import { fitPage } from '../../core/objects/page-text.ts';
import { StoredObject, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import type { PageQuery, Selection, SortKey } from '../../core/query/ast.ts';
import { everyTimestamp, isIdField, isTimestampField, splitTimestampRange } from '../../core/query/timestamp-range.ts';
import type { Row } from './connection.ts';
import type { Dialect } from './dialect.ts';
import { fieldSql } from './filter-sql.ts';
import { joinedColumns } from './joined-page.ts';
import { pageColumns, readListState } from './page-text.ts';
import { Parameters, type Compiled } from './parameters.ts';
import { joinedList, lookedUpList, selectSources, type SourceSql } from './selection.ts';
import { orderSql, type SqlContext } from './value-sql.ts';

/** How a page comes: as a row for each entry, or all in one row, apart or as clients see them. */
export type PageShape = 'rows' | 'text' | 'joined';

/**
 * A page, with one entry more than wanted when more follow. As rows: clock, horizon, id, timestamp and text, and one row
 * without an id when the list is there but nothing is selected. Else: clock, horizon and the columns of `page-text.ts` or `joined-page.ts`.
 */
export function compilePage(
  dialect: Dialect,
  list: ListKey,
  query: PageQuery,
  includeDeleted: boolean,
  shape: PageShape,
): Compiled {
  const context: SqlContext = { dialect, parameters: new Parameters() };
  const isList = listCondition(context, list);
  const sort = significantKeys(query.sort);
  const ofList = isByIndex(query) ? joinedList : lookedUpList(context, list);
  const sources = selectSources(context, ofList, query, includeDeleted, { sort, after: query.after, seesClock: true });
  const order = orderBy(context, sort);
  const limit = limitOf(context, query);
  const arms = sources.map(
    (source) => `(SELECT * ${selectKeys(context, source, sort)} ORDER BY ${order} LIMIT ${limit})`,
  );
  const rows =
    arms.length === 1 ? arms[0]! : `(SELECT * FROM (${arms.join(' UNION ALL ')}) k ORDER BY ${order} LIMIT ${limit})`;
  const text =
    shape === 'rows'
      ? `SELECT l.clock, l.horizon, k.id, k.last_modified, k.data, k.selected FROM coffer_lists l
        LEFT JOIN LATERAL ${fittingRows(context, rows, order, query)} k ON true WHERE ${isList} ORDER BY ${order}`
      : `SELECT l.clock, l.horizon, k.* FROM coffer_lists l
        CROSS JOIN LATERAL (SELECT ${shape === 'text' ? pageColumns : joinedColumns} FROM ${rows} k) k WHERE ${isList}`;
  return context.parameters.bind(text);
}

/** Whether an index delivers the page in its order, and nothing but the page. */
export function isByIndex({ ids, filters, sort }: PageQuery): boolean {
  const [first] = sort;
  const { range, rest } = splitTimestampRange(filters);
  if (first === undefined || ids !== undefined || rest.length > 0) return false;
  const isBounded = range.low > everyTimestamp.low || range.high < everyTimestamp.high;
  return isTimestampField(first.field) || (isIdField(first.field) && !isBounded);
}

/**
 * What an index delivers is read as far as it is needed, but a server that knows how much that is may take reading a list of
 * about that length whole, and sorting it, for cheaper; so it is not told before. Other plans are better made with it.
 */
function limitOf({ parameters }: SqlContext, query: PageQuery): string {
  const limit = query.limit + 1;
  return isByIndex(query) ? `(SELECT ${parameters.add(limit, 'bigint')})` : String(limit);
}

/**
 * The rows, up to the one whose text does not fit any more, and how many there are in all. The server knows the length of a
 * text without reading it, so the others are never read.
 */
function fittingRows({ parameters }: SqlContext, rows: string, order: string, { maxBytes }: PageQuery): string {
  if (maxBytes === undefined) return `(SELECT k.*, count(*) OVER () AS selected FROM ${rows} k)`;
  const bytes = 'coalesce(octet_length(k.data), 0)';
  const before = `sum(${bytes}) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) - ${bytes}`;
  return `(SELECT * FROM (SELECT k.*, count(*) OVER () AS selected, ${before} AS before FROM ${rows} k) k
    WHERE k.before <= ${parameters.add(maxBytes, 'bigint')})`;
}

/** Reads the rows of `compilePage`. */
export function readPageRows(rows: readonly Row[], { limit, maxBytes }: PageQuery): Page {
  const entries = rows.slice(0, limit).flatMap(entryOf);
  const selected = Number(rows[0]?.[5] ?? 0);
  return fitPage({ ...readListState(rows[0]), entries, more: selected > entries.length }, maxBytes);
}

/** The number of selected entries. */
export function compileCount(dialect: Dialect, list: ListKey, selection: Selection, includeDeleted: boolean): Compiled {
  const context: SqlContext = { dialect, parameters: new Parameters() };
  const counts = selectSources(context, lookedUpList(context, list), selection, includeDeleted).map(
    ({ fromWhere }) => `(SELECT count(*) ${fromWhere})`,
  );
  return context.parameters.bind(`SELECT ${counts.join(' + ')}`);
}

/** The condition for the row `l` of a list. */
export function listCondition({ parameters }: SqlContext, { parent, kind }: ListKey): string {
  return `l.parent = ${parameters.add(parent, 'text')} AND l.kind = ${parameters.add(kind, 'text')}`;
}

function entryOf([, , id, lastModified, data]: Row): readonly StoredEntry[] {
  if (typeof id !== 'string') return [];
  const time = Number(lastModified);
  return [typeof data === 'string' ? new StoredObject(id, time, data) : { id, lastModified: time, deleted: true }];
}

/** Nothing after a key that is unique in the list matters. */
function significantKeys(sort: readonly SortKey[]): readonly SortKey[] {
  const unique = sort.findIndex(({ field }) => isIdField(field) || isTimestampField(field));
  return unique === -1 ? sort : sort.slice(0, unique + 1);
}

/** The entries of a table with the values of the sort keys, as `k`. */
function selectKeys(context: SqlContext, { source, fromWhere }: SourceSql, sort: readonly SortKey[]): string {
  const columns = ['e.id', 'e.last_modified', source === 'objects' ? 'e.data' : 'NULL::text AS data'];
  for (const [index, { field }] of sort.entries()) {
    if (isIdField(field) || isTimestampField(field)) continue;
    columns.push(`${fieldSql(context, source, field) ?? 'NULL::jsonb'} AS key${index}`);
  }
  // Pulled up into the order, which names each value several times, it would be taken out of the object as often. In
  // quotes, for any other form of zero is computed too late for the server to see that the rows may be shared out.
  const once = columns.length > 3 ? `OFFSET '0'` : '';
  return `FROM (SELECT ${columns.join(', ')} ${fromWhere} ${once}) k`;
}

function orderBy(context: SqlContext, sort: readonly SortKey[]): string {
  return sort
    .flatMap(({ field, direction }, index) => {
      const way = direction === 'ascending' ? 'ASC' : 'DESC';
      if (isTimestampField(field)) return `k.last_modified ${way}`;
      if (isIdField(field)) return `k.id ${way}`;
      return orderSql(context, `k.key${index}`, direction);
    })
    .join(', ');
}
