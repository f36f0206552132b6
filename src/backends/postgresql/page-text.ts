// Reads a page as one row, since a row for each entry costs the driver more than all other work. The row has either the ids,
// the timestamps and the texts, each joined into one text, or the response text, which leaves no work for single entries. The
// row of a long page has response text too, and is read in steps.
import type { Steps } from '../../base/steps.ts';
import type { Page, PageText } from '../../contracts/storage.ts';
import { cutPage } from '../../core/objects/page-text.ts';
import { StoredObject, type StoredEntry } from '../../core/objects/stored.ts';
import type { PageQuery } from '../../core/query/ast.ts';
import type { Row } from './connection.ts';

/** Separates the entries. JSON text never contains this character. */
export const separator = '\u001E';
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

/** The entry of a row `k` in the form for clients. */
const entryText = `CASE WHEN k.data IS NULL THEN '{' || ${own} || ',"deleted":true}'
    WHEN k.data = '{}' THEN '{' || ${own} || '}'
    ELSE left(k.data, -1) || ',' || ${own} || '}' END`;

/** Columns of a page as response text, which is incomplete when an entry is too long; made of the same rows `k`. */
export const joinedColumns = `count(*) AS entries, max(octet_length(k.data)) > ${maxTextBytes} AS is_long,
  string_agg(CASE WHEN octet_length(k.data) > ${maxTextBytes} THEN '' ELSE ${entryText} END, E'\\x1e') AS texts`;

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

/**
 * Columns of a long page as response text, made of its rows `k`, which know the `bytes` up to their end. The rows include the
 * first one that is not on the page.
 */
export const longPageColumns = `count(*) AS entries, string_agg(${entryText}, E'\\x1e') AS texts, max(k.bytes) AS bytes`;

/** Characters that are handled in one step: about a millisecond. */
const charsPerStep = 1_000_000;

/** Reads the page in a row of clock, horizon and `longPageColumns`. */
export function* readLongPage(row: Row | undefined, limit: number, maxBytes: number): Steps<PageText> {
  const [, , entries, texts, bytes] = row ?? [];
  const state = readListState(row);
  if (typeof texts !== 'string') return { ...state, text: '', count: 0, last: undefined, more: false };
  const found = Number(entries);
  const more = found > limit || (found > 1 && Number(bytes) > maxBytes);
  const end = more ? texts.lastIndexOf(separator) : texts.length;
  const pieces: string[] = [];
  for (let start = 0; start < end;) {
    if (start > 0) yield;
    const next = Math.min(start + charsPerStep, end);
    pieces.push(texts.slice(start, next).replaceAll(separator, ','));
    start = next;
  }
  yield;
  return {
    ...state,
    text: pieces.join(''),
    count: more ? found - 1 : found,
    last: readLast(texts.slice(0, end)),
    more,
  };
}

/** Reads the last entry. Its own members stand at the end of the text; inside of a value their quotes would be escaped. */
function readLast(texts: string): StoredEntry {
  const start = texts.lastIndexOf(separator) + 1;
  const end = texts.lastIndexOf('"id":"');
  const { id, last_modified, deleted } = JSON.parse(`{${texts.slice(end)}`) as OwnMembers;
  if (deleted) return { id, lastModified: last_modified, deleted };
  return new StoredObject(id, last_modified, `${end === start + 1 ? '{' : texts.slice(start, end - 1)}}`);
}

interface OwnMembers {
  readonly id: string;
  readonly last_modified: number;
  readonly deleted?: true;
}
