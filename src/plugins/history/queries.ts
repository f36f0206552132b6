// How entries of the history, and records, are selected: small words for the query tree, and walking over a list.
import type { JsonValue } from '../../base/json.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import type { ListKey, StoredEntry } from '../../core/objects/stored.ts';
import type { Comparison, Filter, PagePosition, Selection, SortKey } from '../../core/query/ast.ts';
import { lastModifiedField, parseField } from '../../core/query/fields.ts';
import { positionOf } from '../../core/query/sort.ts';

export const newestFirst: readonly SortKey[] = [{ field: lastModifiedField, direction: 'descending' }];
export const oldestFirst: readonly SortKey[] = [{ field: lastModifiedField, direction: 'ascending' }];

/** One comparison of a field with a value. */
export function where(name: string, operator: Comparison, value: JsonValue): Filter {
  return { field: parseField(name), operator, value };
}

/** Entries of a list that are looked at together. */
const pageSize = 1000;

/** The selected entries, a page at a time, so that no more than one page is held. */
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
