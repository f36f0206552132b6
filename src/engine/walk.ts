// Reads a whole list page by page, for code that processes all its entries. Only one page is in memory at a time.
import { largeTextChars } from '../base/json-steps.ts';
import type { RequireRoom, StorageReader } from '../contracts/storage.ts';
import { charsOf, type ListKey, type StoredEntry } from '../core/objects/stored.ts';
import type { PagePosition, Selection, SortKey } from '../core/query/ast.ts';
import { idField, lastModifiedField } from '../core/query/fields.ts';
import { newestFirst, positionOf } from '../core/query/sort.ts';

/** The order that every backend has an index for. */
export const oldestFirst: readonly SortKey[] = [{ field: lastModifiedField, direction: 'ascending' }];

export const byId: readonly SortKey[] = [{ field: idField, direction: 'ascending' }];

/**
 * Number of entries of the first page. Each page has at most twice as many as the one before it, since the reader may soon end,
 * and as many as fit into the bytes of a page, within these limits.
 */
export const firstPage = 500;
const smallestPage = 100;
const largestPage = 10_000;
/** Maximum length of the texts of a page, in bytes; a page has at least one object. */
export const pageBytes = 8_000_000;
/** `maxBytes` of short pages: they rarely need a reservation, and delay no other requests. For ids, and for work in steps. */
export const shortPageBytes = 262_144;

export interface WalkOptions {
  /** Order of the entries; default: newest first. */
  readonly sort?: readonly SortKey[] | undefined;
  /** Position after which the first page starts; default: the start of the list. */
  readonly start?: PagePosition | undefined;
  /** Maximum length of the texts of a page in bytes; default: `pageBytes`. */
  readonly maxBytes?: number;
}

/**
 * Yields the selected entries, page by page.
 *
 * @param requireRoom reserves memory for a long page, which many requests can read at the same time; `undefined`: nothing does
 */
export async function* walk(
  reader: StorageReader,
  list: ListKey,
  selection: Selection,
  requireRoom: RequireRoom | undefined,
  { sort = newestFirst, start, maxBytes = pageBytes }: WalkOptions = {},
): AsyncGenerator<readonly StoredEntry[], void, undefined> {
  let after = start;
  let limit = firstPage;
  for (;;) {
    const { entries, more } = await reader.listAll(list, { ...selection, sort, after, limit, maxBytes });
    const last = entries.at(-1);
    if (last === undefined) return;
    const chars = entries.reduce((sum, entry) => sum + charsOf(entry), 0);
    if (chars >= largeTextChars) requireRoom?.(chars);
    yield entries;
    if (!more) return;
    after = positionOf(last, sort);
    limit = Math.min(2 * limit, fittingLimit(chars / entries.length, maxBytes));
  }
}

/** Yields the ids of the selected entries, newest first unless sorted otherwise. Holds less text in memory than `walk`. */
export async function* walkIds(
  reader: StorageReader,
  list: ListKey,
  selection: Selection,
  requireRoom: RequireRoom | undefined,
  sort?: readonly SortKey[],
): AsyncGenerator<string, void, undefined> {
  for await (const entries of walk(reader, list, selection, requireRoom, { sort, maxBytes: shortPageBytes })) {
    for (const { id } of entries) yield id;
  }
}

/** Returns the number of entries that fit on a page. Each is a query of its own, so few large pages cost less than many. */
function fittingLimit(charsOfEntry: number, maxBytes: number): number {
  const fitting = Math.floor(maxBytes / Math.max(1, charsOfEntry));
  return Math.min(largestPage, Math.max(smallestPage, fitting));
}
