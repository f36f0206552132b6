// Translates plans into SQL: for each table the rows `e` of one list, and the conditions on them.
import type { ListKey } from '../../core/objects/stored.ts';
import type { PagePosition, SortKey } from '../../core/query/ast.ts';
import { isIdField } from '../../core/query/fields.ts';
import type { PagePlan, SelectionPlan } from '../../core/query/plan-page.ts';
import { everyTimestamp, isEveryTimestamp } from '../../core/query/timestamp-range.ts';
import { fieldSql, filterSql, filtersSql, type Source } from './filter-sql.ts';
import { rowAt } from './look-ups.ts';
import { compareSql, type SqlContext } from './value-sql.ts';

/**
 * Returns a condition that lets the server use the index by time, which has parents in a collation of its own. Lookups by
 * id go without it. That index begins with the list, so to a server that assumes a short list it looks as good as the
 * index by id, and the server would read the list from its start to find a single object.
 */
export function byTime(table: string, parent: string): string {
  return `${table}.parent COLLATE "POSIX" = ${parent}`;
}

/** Expressions for columns of the row of a list. */
export interface ListSql {
  readonly parent: string;
  readonly list: string;
  /** Absent when the row may have an outdated clock; otherwise no entry after the clock is looked for. */
  readonly clock?: string | undefined;
}

/** Columns of the row `l`, with which the statement joins: the fastest way when few entries are read. */
export const joinedList: ListSql = { parent: 'l.parent', list: 'l.list', clock: 'l.clock' };

/**
 * Returns columns that are looked up before the entries are read. So the server knows the parent when it plans, and may
 * divide a long list among parallel workers; below a join it does neither.
 */
export function lookedUpList({ parameters }: SqlContext, { parent, kind }: ListKey): ListSql {
  const parentSql = parameters.add(parent, 'text');
  const ofList = `FROM coffer_lists l WHERE l.parent = ${parentSql} AND l.kind = ${parameters.add(kind, 'text')}`;
  return { parent: parentSql, list: `(SELECT l.list ${ofList})`, clock: `(SELECT l.clock ${ofList})` };
}

/** `FROM … WHERE …` for the wanted rows of one table. */
export interface SourceSql {
  readonly source: Source;
  readonly fromWhere: string;
}

/** Returns the sources of a plan: the tables that it reads, with its conditions. */
export function selectSources(
  context: SqlContext,
  list: ListSql,
  plan: SelectionPlan | PagePlan,
): readonly SourceSql[] {
  const { range, residual } = plan;
  const { parameters } = context;
  const ids = plan.by === 'lookup' ? parameters.add([...new Set(plan.ids)], 'text[]') : undefined;
  const conditions = ids === undefined ? [`e.parent = ${list.parent}`, `e.list = ${list.list}`] : [];
  // A bound that excludes nothing would only attract the server to the index by time.
  const isBounded = !isEveryTimestamp(range);
  if (plan.by === 'time' || (plan.by === 'scan' && isBounded)) conditions.push(byTime('e', list.parent));
  if (range.low > everyTimestamp.low) {
    const low = parameters.add(asBigint(range.low), 'bigint');
    conditions.push(`e.last_modified >= ${low}`);
    if (list.clock !== undefined) conditions.push(`${list.clock} >= ${low}`);
  }
  if (range.high < everyTimestamp.high) {
    conditions.push(`e.last_modified <= ${parameters.add(asBigint(range.high), 'bigint')}`);
  }
  const bounds = plan.by === 'id' ? [plan.ids.low, plan.ids.high].filter((bound) => bound !== undefined) : [];
  const sources: readonly Source[] = plan.includeDeleted ? ['objects', 'tombstones'] : ['objects'];
  return sources.map((source) => {
    const own = bounds.map((filter) => filterSql(context, source, filter));
    own.push(...filtersSql(context, source, residual));
    if ('sort' in plan && plan.after !== undefined) own.push(afterSql(context, source, plan.sort, plan.after));
    const all = [...conditions, ...own].join(' AND ') || 'true';
    const rows =
      ids === undefined
        ? `coffer_${source} e`
        : `unnest(${ids}) AS k (id) CROSS JOIN LATERAL (${rowAt(source, 'e.*', ['id', 'k.id'], list)}) e`;
    return { source, fromWhere: `FROM ${rows} WHERE ${all}` };
  });
}

/** Returns the bound, limited to values that the type can hold. */
function asBigint(bound: number): number {
  const limit = Number.MAX_SAFE_INTEGER + 1;
  return Math.max(-1, Math.min(bound, limit));
}

/** Returns the condition for rows strictly after the position: beyond it in one key, and equal in all earlier keys. */
function afterSql(context: SqlContext, source: Source, sort: readonly SortKey[], after: PagePosition): string {
  const alternatives: string[] = [];
  const equal: string[] = [];
  for (const [index, { field, direction }] of sort.entries()) {
    const value = after[index];
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
