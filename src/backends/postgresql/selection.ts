// What a query selects from one list, as SQL: for each table the rows `e` of the list, and the conditions on them.
import type { ListKey } from '../../core/objects/stored.ts';
import type { Filter, PagePosition, Selection, SortKey } from '../../core/query/ast.ts';
import { isIdField, isTimestampField } from '../../core/query/fields.ts';
import { everyTimestamp, rangeAfter, splitTimestampRange } from '../../core/query/timestamp-range.ts';
import { fieldSql, filterSql, type Source } from './filter-sql.ts';
import { compareSql, type SqlContext } from './value-sql.ts';

/**
 * Lets the server use the index by time, which knows parents in a collation of its own. Others must not: as that index
 * begins with the list, it looks as good as the one by id to a server that takes the list for a short one, and a list
 * would be read from its start to find a single object.
 */
export function byTime(table: string, parent: string): string {
  return `${table}.parent COLLATE "POSIX" = ${parent}`;
}

/** A list as the rows of a query know it: expressions for the columns of its row. */
export interface ListSql {
  readonly parent: string;
  readonly list: string;
  readonly clock: string;
}

/** Of the row `l` that the statement joins with, which costs least where few entries are read. */
export const joinedList: ListSql = { parent: 'l.parent', list: 'l.list', clock: 'l.clock' };

/**
 * Looked up before the entries are read, so that a server may share a long list among several processes, and knows
 * which parent it plans for; it does neither below a join.
 */
export function lookedUpList({ parameters }: SqlContext, { parent, kind }: ListKey): ListSql {
  const parentSql = parameters.add(parent, 'text');
  const ofList = `FROM coffer_lists l WHERE l.parent = ${parentSql} AND l.kind = ${parameters.add(kind, 'text')}`;
  return { parent: parentSql, list: `(SELECT l.list ${ofList})`, clock: `(SELECT l.clock ${ofList})` };
}

/** `FROM … WHERE …` for the selected rows of one table. */
export interface SourceSql {
  readonly source: Source;
  readonly fromWhere: string;
}

export interface PageStart {
  readonly sort: readonly SortKey[];
  /** Only what comes strictly after this. */
  readonly after?: PagePosition | undefined;
  /** Whether the clock of the list is up to date, so that nothing is looked for behind it. */
  readonly seesClock?: boolean;
}

/** The sources of a query in a list. */
export function selectSources(
  context: SqlContext,
  list: ListSql,
  selection: Selection,
  includeDeleted: boolean,
  start?: PageStart,
): readonly SourceSql[] {
  const { range, rest, after } = narrow(selection.filters, start);
  const { parameters } = context;
  const conditions = [`e.parent = ${list.parent}`, `e.list = ${list.list}`];
  const [first] = start?.sort ?? [];
  const isBounded = range.low > everyTimestamp.low || range.high < everyTimestamp.high;
  const isByTime = isBounded || (first !== undefined && isTimestampField(first.field));
  if (isByTime && selection.ids === undefined) conditions.push(byTime('e', list.parent));
  // A bound that excludes nothing would only lure the server to the index by time.
  if (range.low > everyTimestamp.low) {
    const low = parameters.add(asBigint(range.low), 'bigint');
    conditions.push(`e.last_modified >= ${low}`);
    if (start?.seesClock === true) conditions.push(`${list.clock} >= ${low}`);
  }
  if (range.high < everyTimestamp.high) {
    conditions.push(`e.last_modified <= ${parameters.add(asBigint(range.high), 'bigint')}`);
  }
  if (selection.ids !== undefined) conditions.push(`e.id = ANY (${parameters.add(selection.ids, 'text[]')})`);
  const sources: readonly Source[] = includeDeleted ? ['objects', 'tombstones'] : ['objects'];
  return sources.map((source) => {
    const own = rest.map((filter) => filterSql(context, source, filter));
    const beyond = after === undefined ? [] : [afterSql(context, source, after)];
    return { source, fromWhere: `FROM coffer_${source} e WHERE ${[...conditions, ...own, ...beyond].join(' AND ')}` };
  });
}

/** Bounds on the timestamp become a range, which an index serves; so does the place to continue after, if it is one. */
function narrow(
  filters: readonly Filter[],
  start: PageStart | undefined,
): ReturnType<typeof splitTimestampRange> & {
  readonly after?: Required<Pick<PageStart, 'sort' | 'after'>> | undefined;
} {
  const { range, rest } = splitTimestampRange(filters);
  if (start?.after === undefined) return { range, rest };
  const [key] = start.sort;
  const [value] = start.after;
  if (key !== undefined && isTimestampField(key.field) && typeof value === 'number') {
    return { range: rangeAfter(range, key.direction, value), rest };
  }
  return { range, rest, after: { sort: start.sort, after: start.after } };
}

/** Bounds far beyond all timestamps would be beyond the type as well. */
function asBigint(bound: number): number {
  const limit = Number.MAX_SAFE_INTEGER + 1;
  return Math.max(-1, Math.min(bound, limit));
}

/** Whether the row comes strictly after the position: beyond it in one key, and equal in all keys before that one. */
function afterSql(
  context: SqlContext,
  source: Source,
  { sort, after }: Required<Pick<PageStart, 'sort' | 'after'>>,
): string {
  const alternatives: string[] = [];
  const equal: string[] = [];
  for (const [index, { field, direction }] of sort.entries()) {
    const value = after?.[index];
    const operator = direction === 'ascending' ? 'gt' : 'lt';
    if (isIdField(field) && typeof value === 'string') {
      alternatives.push([...equal, filterSql(context, source, { field, operator, value })].join(' AND '));
      break;
    }
    const expression = fieldSql(context, source, field) ?? 'NULL::jsonb';
    alternatives.push([...equal, compareSql(context, expression, operator, value)].join(' AND '));
    equal.push(compareSql(context, expression, 'eq', value));
  }
  return `(${alternatives.map((alternative) => `(${alternative})`).join(' OR ')})`;
}
