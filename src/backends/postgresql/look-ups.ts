// Look-ups of rows by id or timestamp. Each value is looked up by itself, as the first row of a range in an order that only the
// right index has. With `= ANY` the server may read all rows of the list instead: it knows little of a list that is newer than
// its statistics, assumes that such a list is short, and can find a list without its parent in the index by time (since
// version 18).

interface Place {
  /** Expressions for the columns of the list. */
  readonly parent: string;
  readonly list: string;
  /** More conditions for the row `e`. */
  readonly more?: readonly string[];
}

const ofParameters: Place = { parent: '$1', list: '$2' };

/** Returns a `SELECT` of the row `e` of a table whose column has the value. Both are expressions. */
export function rowAt(
  table: string,
  columns: string,
  [column, value]: readonly [column: 'id' | 'last_modified', value: string],
  { parent, list, more = [] }: Place = ofParameters,
): string {
  const ofList = [`e.parent = ${parent}`, `e.list = ${list}`, ...more].join(' AND ');
  return `SELECT ${columns} FROM coffer_${table} e WHERE ${ofList} AND e.${column} >= ${value} AND e.${column} <= ${value}
    ORDER BY e.${column} LIMIT 1`;
}

/** Returns a condition for the rows of a table whose ids are in an array, in a list that the transaction has locked. */
export function hasIdOf(table: string, ids: string): string {
  return `ctid = ANY (ARRAY(
    SELECT e.ctid FROM unnest(${ids}) AS k (id) CROSS JOIN LATERAL (${rowAt(table, 'e.ctid', ['id', 'k.id'])}) e
  ))`;
}
