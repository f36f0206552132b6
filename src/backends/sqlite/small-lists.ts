// The objects of small lists that are filtered or sorted by attributes, in the cache of committed state.
import type { Steps } from '../../base/steps.ts';
import type { EntryPage } from '../../core/objects/page-text.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { PagePlan, SelectionPlan } from '../../core/query/plan-page.ts';
import { filterWanted, selectAmong } from '../../core/query/select-among.ts';
import { maxSmallBytes, maxSmallObjects, readsAttributes } from '../sql/small-list.ts';
import type { Connection } from './connection.ts';
import type { ListRow } from './lists.ts';
import type { ReadCache } from './read-cache.ts';

/** Returns the page of a plan if the list is small, else `undefined`. */
export function* selectCached(
  connection: Connection,
  cache: ReadCache,
  list: ListKey,
  row: ListRow,
  plan: PagePlan,
): Steps<EntryPage | undefined> {
  const objects = contentsOf(connection, cache, list, row, plan);
  return objects && (yield* selectAmong(objects, plan));
}

/** Returns the number of objects of a plan if the list is small, else `undefined`. */
export function* countCached(
  connection: Connection,
  cache: ReadCache,
  list: ListKey,
  row: ListRow,
  plan: SelectionPlan,
): Steps<number | undefined> {
  const objects = contentsOf(connection, cache, list, row, plan);
  return objects && (yield* filterWanted(objects, plan)).length;
}

function contentsOf(
  connection: Connection,
  cache: ReadCache,
  list: ListKey,
  row: ListRow,
  plan: PagePlan | SelectionPlan,
): readonly StoredObject[] | undefined {
  if (row.live > maxSmallObjects || !readsAttributes(plan)) return undefined;
  const known = cache.contents(list, row);
  if (known !== undefined) return known.objects;
  const objects = readContents(connection, row);
  cache.keepContents(list, { row, objects });
  return objects;
}

/** Returns all live objects of a list, unless their texts are long. */
function readContents(connection: Connection, { list }: ListRow): readonly StoredObject[] | undefined {
  const sizes = 'SELECT sum(octet_length(data)) FROM objects WHERE list = ?';
  const [bytes] = connection.get<[number | null]>(sizes, list) ?? [];
  if ((bytes ?? 0) > maxSmallBytes) return undefined;
  const rows = connection.all<[id: string, lastModified: number, data: string]>(
    'SELECT id, last_modified, data FROM objects WHERE list = ?',
    list,
  );
  return rows.map(([id, lastModified, data]) => new StoredObject(id, lastModified, data));
}
