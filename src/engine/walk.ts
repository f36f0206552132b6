// Walking over a list from one end to the other, for code that looks at everything: a page at a time, so that no more than
// one page is held, however long the list is.
import type { StorageReader } from '../contracts/storage.ts';
import { isTombstone, type ListKey, type StoredEntry } from '../core/objects/stored.ts';
import type { PagePosition, Selection, SortKey } from '../core/query/ast.ts';
import { idField, lastModifiedField } from '../core/query/fields.ts';
import { positionOf } from '../core/query/sort.ts';

export const newestFirst: readonly SortKey[] = [{ field: lastModifiedField, direction: 'descending' }];
export const oldestFirst: readonly SortKey[] = [{ field: lastModifiedField, direction: 'ascending' }];

export const byId: readonly SortKey[] = [{ field: idField, direction: 'ascending' }];

/** Entries on the first page; of those that follow so many as are not too much text together. */
const firstPage = 500;
const smallestPage = 100;
const largestPage = 10_000;
/** Bytes of the objects that are handled together; the first of a page is handled whatever its size. */
export const pageBytes = 8_000_000;

/** Yields the selected entries, page by page. */
export async function* walk(
  reader: StorageReader,
  list: ListKey,
  selection: Selection,
  sort: readonly SortKey[] = newestFirst,
): AsyncGenerator<readonly StoredEntry[], void, undefined> {
  let after: PagePosition | undefined;
  let limit = firstPage;
  for (;;) {
    const { entries, more } = await reader.listAll(list, { ...selection, sort, after, limit, maxBytes: pageBytes });
    const last = entries.at(-1);
    if (last === undefined) return;
    yield entries;
    if (!more) return;
    after = positionOf(last, sort);
    limit = nextLimit(entries);
  }
}

/** Each page is a search of its own, so few large ones cost less than many small ones. */
function nextLimit(entries: readonly StoredEntry[]): number {
  const chars = entries.reduce((sum, entry) => sum + (isTombstone(entry) ? 0 : entry.text.length), 0);
  const fitting = Math.floor(pageBytes / Math.max(1, chars / entries.length));
  return Math.min(largestPage, Math.max(smallestPage, fitting));
}
