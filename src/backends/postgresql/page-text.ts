// Reads a page as one row, since a row for each entry costs the driver more than all other work. The row has either the ids,
// the timestamps and the texts, each joined into one text, or the response text, which leaves no work for single entries.
import type { Page, PageText } from '../../contracts/storage.ts';
import { cutPage } from '../../core/objects/page-text.ts';
import { StoredObject, type StoredEntry } from '../../core/objects/stored.ts';
import type { PageQuery } from '../../core/query/ast.ts';
import type { Row } from './connection.ts';

/** Separates the entries. JSON text never contains this character. */
const separator = '\u001E';
/** Maximum length of a text in the row; longer texts are left out, so that a page fits into one value. */
const maxTextBytes = 8000;
const leftOut = '-';

/** Columns of a page in parts, made of its rows `k` of id, timestamp and text in their order. */
export const pageColumns = `count(*) AS entries, string_agg(k.id, E'\\x1e') AS ids,
  string_agg(k.last_modified::text, E'\\x1e') AS times,
  string_agg(CASE WHEN octet_length(k.data) > ${maxTextBytes} THEN '${leftOut}' ELSE coalesce(k.data, '') END, E'\\x1e') AS texts`;

/** Reads clock and horizon of a list, with which a row begins; without a row the list does not exist. */
export function readListState([clock, horizon]: Row = []): Pick<Page, 'timestamp' | 'horizon'> {
  return { timestamp: typeof clock === 'string' ? Number(clock) : undefined, horizon: Number(horizon ?? 0) };
}

/**
 * Reads the page in a row of clock, horizon and `pageColumns`.
 *
 * @returns `undefined` when an id contains the separator, or an entry is too long
 */
export function readPageText(row: Row | undefined, size: Pick<PageQuery, 'limit' | 'maxBytes'>): Page | undefined {
  const [, , count, ids, times, texts] = row ?? [];
  const state = readListState(row);
  if (typeof ids !== 'string' || typeof times !== 'string' || typeof texts !== 'string') {
    return { ...state, entries: [], more: false };
  }
  const allIds = ids.split(separator);
  const allTexts = texts.split(separator);
  // An id may contain any character.
  if (allIds.length !== Number(count) || allTexts.length !== Number(count)) return undefined;
  const allTimes = times.split(separator);
  const entries: StoredEntry[] = [];
  for (const [index, id] of allIds.entries()) {
    const text = allTexts[index]!;
    if (text === leftOut) return undefined;
    const lastModified = Number(allTimes[index]);
    entries.push(text === '' ? { id, lastModified, deleted: true } : new StoredObject(id, lastModified, text));
  }
  return { ...state, ...cutPage(entries, size) };
}

const own = `'"id":' || to_json(k.id)::text || ',"last_modified":' || k.last_modified`;

/** Columns of a page as response text, which is incomplete when an entry is too long; made of the same rows `k`. */
export const joinedColumns = `count(*) AS entries, max(octet_length(k.data)) > ${maxTextBytes} AS is_long,
  string_agg(CASE WHEN k.data IS NULL THEN '{' || ${own} || ',"deleted":true}'
    WHEN k.data = '{}' THEN '{' || ${own} || '}'
    WHEN octet_length(k.data) > ${maxTextBytes} THEN ''
    ELSE left(k.data, -1) || ',' || ${own} || '}' END, E'\\x1e') AS texts`;

/**
 * Reads the page in a row of clock, horizon and `joinedColumns`.
 *
 * @returns `undefined` when an entry is too long
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

/** Reads id and timestamp of the last entry. */
function readLast(texts: string): PageText['last'] {
  const entry = JSON.parse(texts.slice(texts.lastIndexOf(separator) + 1)) as { id: string; last_modified: number };
  return { id: entry.id, lastModified: entry.last_modified };
}
