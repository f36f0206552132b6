// Searches for words, in an index of SQLite that triggers maintain from the column `words` of objects.
import type { Steps } from '../../base/steps.ts';
import type { WordSearch } from '../../core/text/text-query.ts';
import type { Connection } from './connection.ts';
import type { ListRow } from './lists.ts';

/** Number of objects read without a pause. */
const rowsPerStep = 1000;

/** Returns the ids of the objects with the words, and whether there are more than the limit. */
export function* findIds(
  connection: Connection,
  list: ListRow,
  search: WordSearch,
  limit: number,
): Steps<{ readonly ids: readonly string[]; readonly more: boolean }> {
  const query = queryOf(list, search);
  // SQLite collects all objects of a prefix before the first one is read.
  const atOnce = search.prefixes.length > 0 ? limit + 1 : rowsPerStep;
  const ids: string[] = [];
  let last = -1;
  for (;;) {
    const wanted = Math.min(atOnce, limit + 1 - ids.length);
    const rows = connection.all<[object: number, id: string]>(
      `SELECT w.rowid, o.id FROM object_words w CROSS JOIN objects o
      WHERE w.object_words MATCH ? AND w.rowid > ? AND o.object = w.rowid ORDER BY w.rowid LIMIT ?`,
      query,
      last,
      wanted,
    );
    for (const [object, id] of rows) {
      last = object;
      ids.push(id);
    }
    if (rows.length < wanted || ids.length > limit) return { ids: ids.slice(0, limit), more: ids.length > limit };
    yield;
  }
}

/** Returns the number of objects with the words. */
export function countIds(connection: Connection, list: ListRow, search: WordSearch): number {
  const sql = 'SELECT count(*) FROM object_words WHERE object_words MATCH ?';
  return connection.get<[number]>(sql, queryOf(list, search))?.[0] ?? 0;
}

/** Returns the query in the language of SQLite. Words have no quotes. */
function queryOf({ list }: ListRow, { words, prefixes }: WordSearch): string {
  return [...words.map((word) => `"${list}x${word}"`), ...prefixes.map((prefix) => `"${list}x${prefix}"*`)].join(
    ' AND ',
  );
}
