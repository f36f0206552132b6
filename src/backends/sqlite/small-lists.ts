// The objects of small lists that are filtered or sorted by attributes, in the cache of committed state.
import type { Steps } from '../../base/steps.ts';
import type { EntryPage } from '../../core/objects/page-text.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import {
  maxSmallBytes,
  maxSmallObjects,
  readsAttributesOfPage,
  readsAttributesOfSelection,
  SmallList,
} from '../../core/query/small-list.ts';
import type { Connection } from './connection.ts';
import type { ListRow } from './lists.ts';
import type { ReadCache } from './read-cache.ts';

/** Returns the page of a query if the list is small, else `undefined`. */
export function* selectCached(
  connection: Connection,
  cache: ReadCache,
  list: ListKey,
  row: ListRow,
  query: PageQuery,
): Steps<EntryPage | undefined> {
  if (row.live > maxSmallObjects || !readsAttributesOfPage(query)) return undefined;
  const small = contentsOf(connection, cache, list, row);
  return small && (yield* small.selectPage(query));
}

/** Returns the number of selected objects if the list is small, else `undefined`. */
export function* countCached(
  connection: Connection,
  cache: ReadCache,
  list: ListKey,
  row: ListRow,
  selection: Selection,
): Steps<number | undefined> {
  if (row.live > maxSmallObjects || !readsAttributesOfSelection(selection)) return undefined;
  const small = contentsOf(connection, cache, list, row);
  return small && (yield* small.count(selection));
}

function contentsOf(connection: Connection, cache: ReadCache, list: ListKey, row: ListRow): SmallList | undefined {
  const known = cache.contents(list, row);
  if (known !== undefined) return known.small;
  const small = readContents(connection, row);
  cache.keepContents(list, { row, small });
  return small;
}

/** Returns all live objects of a list, unless their texts are long. */
function readContents(connection: Connection, { list }: ListRow): SmallList | undefined {
  const sizes = 'SELECT sum(octet_length(data)) FROM objects WHERE list = ?';
  const [bytes] = connection.get<[number | null]>(sizes, list) ?? [];
  if ((bytes ?? 0) > maxSmallBytes) return undefined;
  const rows = connection.all<[id: string, lastModified: number, data: string]>(
    'SELECT id, last_modified, data FROM objects WHERE list = ?',
    list,
  );
  return new SmallList(rows.map(([id, lastModified, data]) => new StoredObject(id, lastModified, data)));
}
