// The objects of small lists that are filtered or sorted by attributes, in the cache of committed state.
import type { Steps } from '../../base/steps.ts';
import type { EntryPage } from '../../core/objects/page-text.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import { planSelection, type PagePlan, type SelectionPlan } from '../../core/query/plan-page.ts';
import { maxSmallBytes, maxSmallObjects, readsAttributes, SmallList } from '../sql/small-list.ts';
import type { Connection } from './connection.ts';
import type { ListRow } from './lists.ts';
import { planQuery } from './page.ts';
import type { ReadCache } from './read-cache.ts';

/** Returns the page of a query if the list is small, else `undefined`. */
export function* selectCached(
  connection: Connection,
  cache: ReadCache,
  list: ListKey,
  row: ListRow,
  query: PageQuery,
): Steps<EntryPage | undefined> {
  const small = contentsOf(connection, cache, list, row, planQuery(query));
  if (small === undefined) return undefined;
  const { bytes } = small;
  const page = yield* small.selectPage(query);
  if (small.bytes !== bytes) cache.keepContents(list, { row, small });
  return page;
}

/** Returns the number of selected objects if the list is small, else `undefined`. */
export function* countCached(
  connection: Connection,
  cache: ReadCache,
  list: ListKey,
  row: ListRow,
  selection: Selection,
): Steps<number | undefined> {
  const small = contentsOf(connection, cache, list, row, planSelection(selection));
  if (small === undefined) return undefined;
  const { bytes } = small;
  const count = yield* small.count(selection);
  if (small.bytes !== bytes) cache.keepContents(list, { row, small });
  return count;
}

function contentsOf(
  connection: Connection,
  cache: ReadCache,
  list: ListKey,
  row: ListRow,
  plan: PagePlan | SelectionPlan,
): SmallList | undefined {
  if (row.live > maxSmallObjects || !readsAttributes(plan)) return undefined;
  const known = cache.contents(list, row);
  if (known !== undefined) return known.small;
  const small = readContents(connection, cache, row);
  cache.keepContents(list, { row, small });
  return small;
}

/** Returns all live objects of a list, unless their texts are long. */
function readContents(connection: Connection, cache: ReadCache, { list }: ListRow): SmallList | undefined {
  const sizes = 'SELECT sum(octet_length(data)) FROM objects WHERE list = ?';
  const [bytes] = connection.get<[number | null]>(sizes, list) ?? [];
  if ((bytes ?? 0) > maxSmallBytes) return undefined;
  const rows = connection.all<[id: string, lastModified: number, data: string]>(
    'SELECT id, last_modified, data FROM objects WHERE list = ?',
    list,
  );
  const objects = rows.map(([id, lastModified, data]) => new StoredObject(id, lastModified, data));
  return new SmallList(objects, cache.maxContentsBytes);
}
