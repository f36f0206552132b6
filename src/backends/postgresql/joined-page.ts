// A page as clients see it, joined by the server: there is nothing left to do for each entry here.
import type { PageText } from '../../contracts/storage.ts';
import type { Row } from './connection.ts';
import { maxTextBytes, readListState, separator } from './page-text.ts';

const own = `'"id":' || to_json(k.id)::text || ',"last_modified":' || k.last_modified`;

/** Columns of the row; what it says of texts does not matter when one is long. Made of rows `k` of id, timestamp and text in their order. */
export const joinedColumns = `count(*) AS entries, max(octet_length(k.data)) > ${maxTextBytes} AS is_long,
  string_agg(CASE WHEN k.data IS NULL THEN '{' || ${own} || ',"deleted":true}'
    WHEN k.data = '{}' THEN '{' || ${own} || '}'
    WHEN octet_length(k.data) > ${maxTextBytes} THEN ''
    ELSE left(k.data, -1) || ',' || ${own} || '}' END, E'\\x1e') AS texts`;

/**
 * The page in a row of clock, horizon and these columns.
 *
 * @returns `undefined`: there is a long entry on it
 */
export function readJoinedPage(row: Row | undefined, limit: number): PageText | undefined {
  const [, , entries, isLong, texts] = row ?? [];
  const state = readListState(row);
  if (typeof texts !== 'string') return { ...state, text: '', count: 0, last: undefined, more: false };
  if (isLong === 't') return undefined;
  const more = Number(entries) > limit;
  const kept = more ? texts.slice(0, texts.lastIndexOf(separator)) : texts;
  const text = kept.replaceAll(separator, ',');
  return { ...state, text, count: more ? limit : Number(entries), last: readLast(kept), more };
}

/** The keys that tell stand in every entry. */
function readLast(texts: string): PageText['last'] {
  const entry = JSON.parse(texts.slice(texts.lastIndexOf(separator) + 1)) as { id: string; last_modified: number };
  return { id: entry.id, lastModified: entry.last_modified };
}
