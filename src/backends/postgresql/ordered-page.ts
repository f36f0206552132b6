// Compiles a page that a declared index delivers in its order, so that the server makes one row of it, like of a page by id.
import type { KeyRange, OrderedRanges } from '../../core/index/page-ranges.ts';
import type { KeySpan } from '../../core/index/plan-index.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { byteText } from './key-columns.ts';
import { listCondition } from './page.ts';
import { joinedColumns, pageColumns } from './page-text.ts';
import { Parameters, type Compiled } from './parameters.ts';

/** Columns of the row, besides clock and horizon: with separate texts, or with the response text. */
export type RowShape = 'text' | 'joined';

/**
 * Compiles a page, with one entry more than wanted when more follow. There is no row when the ranges may not be all of it. The
 * statements for one index and order are equal.
 *
 * @param limit of the page
 */
export function compileOrderedPage(list: ListKey, page: OrderedRanges, limit: number, shape: RowShape): Compiled {
  const parameters = new Parameters();
  // The subselect hides the limit from the server until the statement runs, as in other pages.
  const most = `(SELECT ${parameters.add(limit + 1, 'bigint')})`;
  const isOfList = listCondition({ parameters }, list);
  const key = `e.key${page.slot}`;
  const columns = `e.id, ${key} AS key, e.last_modified, e.data`;
  const all = page.ranges.map((range, number) => `(SELECT ${number} AS part, k.* FROM ${rowsOf(range)} k)`);
  const rows = all.length === 1 ? rowsOf(page.ranges[0]!) : inOrder(all, 'k.part, ');
  return parameters.bind(`SELECT l.clock, l.horizon, k.* FROM coffer_lists l
    CROSS JOIN LATERAL (SELECT ${shape === 'text' ? pageColumns : joinedColumns} FROM ${rows} k) k
    WHERE ${isOfList}${page.uncertain === undefined ? '' : ` AND NOT EXISTS (SELECT ${fromSpan(page.uncertain)})`}`);

  function fromSpan({ low, high }: KeySpan): string {
    return `FROM coffer_objects e WHERE e.list = l.list
      AND ${key} >= ${parameters.add(byteText(low), 'bytea')} AND ${key} < ${parameters.add(byteText(high), 'bytea')}`;
  }

  /** Returns the first rows of a range. */
  function rowsOf(range: KeyRange): string {
    const from = `SELECT ${columns} ${fromSpan(range)}`;
    if (range.timestamps !== undefined) {
      const { low, high } = range.timestamps;
      const times = `e.last_modified BETWEEN ${parameters.add(low, 'bigint')} AND ${parameters.add(high, 'bigint')}`;
      return `(${from} AND ${times} ${firstOf(range)})`;
    }
    if (range.isReverse !== page.isNewestFirst) return `(${from} ${firstOf(range)})`;
    return withLastTies(`${from} ${firstOf(range)}`);
  }

  /** Returns the end of a query for the first rows in the order of the index. */
  function firstOf({ isReverse }: KeyRange): string {
    return `ORDER BY ${isReverse ? `${key} DESC, e.last_modified` : `${key}, e.last_modified DESC`} LIMIT ${most}`;
  }

  /**
   * Returns the first rows of a range whose index has objects with equal keys in the opposite order. Those of the last key
   * that was read are then the last ones of that key instead of the first, and are read again.
   */
  function withLastTies(first: string): string {
    const order = page.isNewestFirst ? 'e.last_modified DESC' : 'e.last_modified';
    const last = '(SELECT l.key FROM last l)';
    const ties = `SELECT ${columns} FROM coffer_objects e WHERE e.list = l.list AND ${key} = ${last}`;
    const both = [`SELECT f.* FROM first f WHERE f.key <> ${last}`, `(${ties} ORDER BY ${order} LIMIT ${most})`];
    return `(WITH first AS MATERIALIZED (${first}),
      last AS MATERIALIZED (SELECT f.key FROM first f ORDER BY f.key ${page.isReverse ? '' : 'DESC'} LIMIT 1)
      SELECT * FROM ${inOrder(both, '')} k)`;
  }

  /** Returns the first ones of all these rows in the order of the page. */
  function inOrder(parts: readonly string[], before: string): string {
    const order = `k.key${page.isReverse ? ' DESC' : ''}, k.last_modified${page.isNewestFirst ? ' DESC' : ''}`;
    return `(SELECT * FROM (${parts.join(' UNION ALL ')}) k ORDER BY ${before}${order} LIMIT ${most})`;
  }
}
