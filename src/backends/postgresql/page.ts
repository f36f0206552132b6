// Compiles a page of a list, or the number of selected entries, into one statement, so that the clock and the entries come
// from one snapshot. Pages that an index delivers in order are read row by row; others are sorted by the server.
import type { Page } from '../../contracts/storage.ts';
import { fitPage, maxPageBytes } from '../../core/objects/page-text.ts';
import { StoredObject, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import type { PageQuery, SortKey } from '../../core/query/ast.ts';
import { isIdField, isTimestampField, isUniqueField } from '../../core/query/fields.ts';
import { isExact, type PagePlan, type SelectionPlan } from '../../core/query/plan-page.ts';
import type { Row } from './connection.ts';
import type { Dialect } from './dialect.ts';
import { fieldSql } from './filter-sql.ts';
import { joinedColumns, longPageColumns, pageColumns, readListState } from './page-text.ts';
import { Parameters, type Compiled } from './parameters.ts';
import { joinedList, lookedUpList, selectSources, type SourceSql } from './selection.ts';
import { orderSql, type SqlContext } from './value-sql.ts';

/** Form of a page: a row for each entry, or one row with all texts, separate or as response text of short or long pages. */
export type PageShape = 'rows' | 'text' | 'joined' | 'long';

/**
 * Compiles a page, with one entry more than wanted when more follow. Columns of `rows`: clock, horizon, id, timestamp, text,
 * number of selected entries. A list without selected entries has one row without an id. Columns of the other shapes: clock,
 * horizon and those of `page-text.ts`.
 */
export function compilePage(dialect: Dialect, list: ListKey, plan: PagePlan, shape: PageShape): Compiled {
  const context: SqlContext = { dialect, parameters: new Parameters() };
  const isList = listCondition(context, list);
  const sources = selectSources(context, isExact(plan) ? joinedList : lookedUpList(context, list), plan);
  const order = orderBy(context, plan.sort);
  const limit = limitOf(context, plan);
  const arms = sources.map(
    (source) => `(SELECT * ${selectKeys(context, source, plan.sort)} ORDER BY ${order} LIMIT ${limit})`,
  );
  const rows =
    arms.length === 1 ? arms[0]! : `(SELECT * FROM (${arms.join(' UNION ALL ')}) k ORDER BY ${order} LIMIT ${limit})`;
  return context.parameters.bind(textOf());

  function textOf(): string {
    switch (shape) {
      case 'rows':
        return `SELECT l.clock, l.horizon, k.id, k.last_modified, k.data, k.selected FROM coffer_lists l
          LEFT JOIN LATERAL ${fittingRows(context, rows, order, plan)} k ON true WHERE ${isList} ORDER BY ${order}`;
      case 'long':
        return `SELECT l.clock, l.horizon, k.* FROM coffer_lists l
          CROSS JOIN LATERAL (SELECT ${longPageColumns} FROM ${longPageRows(context, rows, order, plan)} k) k WHERE ${isList}`;
      case 'text':
      case 'joined':
        return `SELECT l.clock, l.horizon, k.* FROM coffer_lists l
          CROSS JOIN LATERAL (SELECT ${shape === 'text' ? pageColumns : joinedColumns} FROM ${rows} k) k WHERE ${isList}`;
    }
  }
}

/**
 * Returns the limit of the statement. A page that an index delivers hides it from the server until the statement runs. A
 * server that knew it might prefer to read and sort a whole list of about that length. Other pages are planned with it.
 */
function limitOf({ parameters }: SqlContext, plan: PagePlan): string {
  const limit = plan.limit + 1;
  return isExact(plan) ? `(SELECT ${parameters.add(limit, 'bigint')})` : String(limit);
}

/**
 * Returns the rows up to the first one whose text does not fit, and the number of all rows. The server knows the length of a
 * text without reading it, so it never reads later texts.
 */
function fittingRows({ parameters }: SqlContext, rows: string, order: string, { maxBytes }: PagePlan): string {
  if (maxBytes === undefined) return `(SELECT k.*, count(*) OVER () AS selected FROM ${rows} k)`;
  const bytes = 'coalesce(octet_length(k.data), 0)';
  const before = `sum(${bytes}) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) - ${bytes}`;
  return `(SELECT * FROM (SELECT k.*, count(*) OVER () AS selected, ${before} AS before FROM ${rows} k) k
    WHERE k.before <= ${parameters.add(maxBytes, 'bigint')})`;
}

/**
 * Returns the rows up to the first one whose text does not fit, at least two, with the bytes up to the end of each. Their number
 * is not counted: the server would write all rows of a long page to its disk.
 */
function longPageRows(
  { parameters }: SqlContext,
  rows: string,
  order: string,
  { maxBytes = maxPageBytes }: PagePlan,
): string {
  const bytes = 'coalesce(octet_length(k.data), 0)';
  const window = `(ORDER BY ${order} ROWS UNBOUNDED PRECEDING)`;
  return `(SELECT * FROM (SELECT k.*, row_number() OVER ${window} AS place, sum(${bytes}) OVER ${window} AS bytes FROM ${rows} k) k
    WHERE k.place <= 2 OR k.bytes - ${bytes} <= ${parameters.add(maxBytes, 'bigint')})`;
}

/** Reads the rows of `compilePage`. */
export function readPageRows(rows: readonly Row[], { limit, maxBytes }: Pick<PageQuery, 'limit' | 'maxBytes'>): Page {
  const entries = rows.slice(0, limit).flatMap(entryOf);
  const selected = Number(rows[0]?.[5] ?? 0);
  return fitPage({ ...readListState(rows[0]), entries, more: selected > entries.length }, maxBytes);
}

/** Compiles the number of selected entries. */
export function compileCount(dialect: Dialect, list: ListKey, plan: SelectionPlan): Compiled {
  const context: SqlContext = { dialect, parameters: new Parameters() };
  const sources = selectSources(context, lookedUpList(context, list), plan);
  const counts = sources.map(({ fromWhere }) => `(SELECT count(*) ${fromWhere})`);
  return context.parameters.bind(`SELECT ${counts.join(' + ')}`);
}

/** Returns the condition for the row `l` of a list. */
export function listCondition({ parameters }: Pick<SqlContext, 'parameters'>, { parent, kind }: ListKey): string {
  return `l.parent = ${parameters.add(parent, 'text')} AND l.kind = ${parameters.add(kind, 'text')}`;
}

function entryOf([, , id, lastModified, data]: Row): readonly StoredEntry[] {
  if (typeof id !== 'string') return [];
  const time = Number(lastModified);
  return [typeof data === 'string' ? new StoredObject(id, time, data) : { id, lastModified: time, deleted: true }];
}

/** Returns the `FROM` clause for the entries `k` of a table with the values of the sort keys. */
function selectKeys(context: SqlContext, { source, fromWhere }: SourceSql, sort: readonly SortKey[]): string {
  const columns = ['e.id', 'e.last_modified', source === 'objects' ? 'e.data' : 'NULL::text AS data'];
  for (const [index, { field }] of sort.entries()) {
    if (isUniqueField(field)) continue;
    columns.push(`${fieldSql(context, source, field) ?? 'NULL::jsonb'} AS key${index}`);
  }
  // OFFSET keeps the server from moving the extraction of a value into ORDER BY, which uses each value several times. The
  // quotes let the server see early that nothing is skipped, so that parallel workers remain possible.
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
