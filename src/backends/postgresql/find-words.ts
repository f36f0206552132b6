// Searches for words, in the index over the column `words` of objects.
import type { FoundWords } from '../../contracts/storage.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { WordSearch } from '../../core/text/text-query.ts';
import type { Access } from './access.ts';
import { prepared, type Statement } from './connection.ts';
import { runScan, scanTargetOf } from './list-scans.ts';

// Without the list, which is in the words: a server that assumed a short list would read all of its objects.
const found = `FROM coffer_objects e
  WHERE e.words IS NOT NULL AND coffer_words(e.list, e.words) @@ replace($3::text, '%', l.list || 'x')::tsquery`;

const ofList = 'WHERE l.parent = $1::text AND l.kind = $2::text';

const findIds = prepared(
  'find-words',
  `SELECT l.clock, e.id FROM coffer_lists l LEFT JOIN LATERAL (SELECT e.id ${found} LIMIT $4::bigint) e ON true ${ofList}`,
);

const countIds = prepared('count-words', `SELECT (SELECT count(*) ${found}) FROM coffer_lists l ${ofList}`);

/** Returns the ids of the objects with the words. */
export async function findWords(access: Access, list: ListKey, search: WordSearch, limit: number): Promise<FoundWords> {
  const { rows } = await runScan(access, searchOf(findIds, list), [...valuesOf(list, search), limit + 1]);
  const clock = rows[0]?.[0];
  const ids = rows.map(([, id]) => id).filter((id) => typeof id === 'string');
  return {
    timestamp: typeof clock === 'string' ? Number(clock) : undefined,
    ids: ids.slice(0, limit),
    more: ids.length > limit,
  };
}

/** Returns the number of objects with the words. */
export async function countWords(access: Access, list: ListKey, search: WordSearch): Promise<number> {
  return Number((await runScan(access, searchOf(countIds, list), valuesOf(list, search))).rows[0]?.[0] ?? 0);
}

/** Searches of one list take turns with each other, apart from its scans: most of them are short. */
function searchOf(statement: Statement, list: ListKey): Statement {
  const { of, name } = scanTargetOf(list);
  return { ...statement, scans: { of, name: `words ${name}`, isOfClient: true } };
}

/** Words have no quotes and no percent signs. */
function valuesOf({ parent, kind }: ListKey, { words, prefixes }: WordSearch): readonly string[] {
  const terms = [...words.map((word) => `'%${word}'`), ...prefixes.map((prefix) => `'%${prefix}':*`)];
  return [parent, kind, terms.join(' & ')];
}
