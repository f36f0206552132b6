// Walking over a list from one end to the other, for code that looks at everything: a page at a time, so that no more than
// one page is held, however long the list is.
import type { StorageReader } from '../contracts/storage.ts';
import type { ListKey, StoredEntry } from '../core/objects/stored.ts';
import type { PagePosition, Selection, SortKey } from '../core/query/ast.ts';
import { lastModifiedField } from '../core/query/fields.ts';
import { positionOf } from '../core/query/sort.ts';

export const newestFirst: readonly SortKey[] = [{ field: lastModifiedField, direction: 'descending' }];
export const oldestFirst: readonly SortKey[] = [{ field: lastModifiedField, direction: 'ascending' }];

/** Entries that are looked at together. */
const pageSize = 1000;

/** The selected entries, page by page. */
export async function* walk(
  reader: StorageReader,
  list: ListKey,
  selection: Selection,
  sort: readonly SortKey[] = newestFirst,
): AsyncGenerator<readonly StoredEntry[], void, undefined> {
  let after: PagePosition | undefined;
  for (;;) {
    const { entries, more } = await reader.listAll(list, { ...selection, sort, after, limit: pageSize });
    const last = entries.at(-1);
    if (last === undefined) return;
    yield entries;
    if (!more) return;
    after = positionOf(last, sort);
  }
}
