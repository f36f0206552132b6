// A page as one row: its ids, its timestamps and its texts, each joined to one text. A row of its own for each entry
// costs the driver more than everything else does.
import { StoredObject, type StoredEntry } from '../../core/objects/stored.ts';
import type { Page, PageText } from '../../contracts/storage.ts';
import type { Row } from './connection.ts';

/** Stands between the entries. JSON has no such character. */
const separator = '\u001E';
/** Longer texts are left out, so that a page never becomes too long for one value. */
const maxTextBytes = 8000;
const leftOut = '-';

/** Columns of the row, made of rows `k` of id, timestamp and text in their order. */
export const pageColumns = `count(*) AS entries, string_agg(k.id, E'\\x1e') AS ids,
  string_agg(k.last_modified::text, E'\\x1e') AS times,
  string_agg(CASE WHEN octet_length(k.data) > ${maxTextBytes} THEN '${leftOut}' ELSE coalesce(k.data, '') END, E'\\x1e') AS texts`;

/** Clock and horizon of a list, which a row begins with; without a row there is no list. */
export function readListState([clock, horizon]: Row = []): Pick<Page, 'timestamp' | 'horizon'> {
  return { timestamp: typeof clock === 'string' ? Number(clock) : undefined, horizon: Number(horizon ?? 0) };
}

/**
 * The page in a row of clock, horizon and these columns.
 *
 * @returns `undefined`: the entries cannot be told from each other, or there is a long one among them
 */
export function readPageText(row: Row | undefined, limit: number): Page | undefined {
  const [, , count, ids, times, texts] = row ?? [];
  const state = readListState(row);
  if (typeof ids !== 'string' || typeof times !== 'string' || typeof texts !== 'string') {
    return { ...state, entries: [], more: false };
  }
  const allIds = ids.split(separator);
  const allTexts = texts.split(separator);
  // An id may hold whatever it likes.
  if (allIds.length !== Number(count) || allTexts.length !== Number(count)) return undefined;
  const allTimes = times.split(separator);
  const entries: StoredEntry[] = [];
  for (const [index, id] of allIds.entries()) {
    const text = allTexts[index]!;
    if (text === leftOut) return undefined;
    const lastModified = Number(allTimes[index]);
    entries.push(text === '' ? { id, lastModified, deleted: true } : new StoredObject(id, lastModified, text));
  }
  const more = entries.length > limit;
  return { ...state, entries: more ? entries.slice(0, limit) : entries, more };
}

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
