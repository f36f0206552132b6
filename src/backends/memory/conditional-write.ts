// A write to one object and its entries, done in the one step of a unit of work.
import { runAtOnce } from '../../base/steps.ts';
import type { ConditionalWrite } from '../../contracts/database.ts';
import { isSameObject } from '../../core/objects/stored.ts';
import { principalsPerStep, type GrantTable } from './grant-table.ts';
import type { ListChanges } from './list-changes.ts';
import type { ListTable } from './list-table.ts';
import type { MemoryUnit } from './unit-queue.ts';

/** What `writeConditionally` of the contracts promises, within a unit of its own. */
export function writeConditionally(
  lists: ListTable,
  grants: GrantTable,
  changes: ListChanges,
  unit: MemoryUnit,
  { list, holder, id, isFresh = false, expected, text, lastModified, uri, entries }: ConditionalWrite,
): number | undefined {
  // Many principals are granted in steps, by a unit of work that holds its turn meanwhile.
  for (const permission in entries) if (entries[permission]!.length > principalsPerStep) return undefined;
  if (holder !== undefined && lists.find(holder.list)?.contents.live.has(holder.id) !== true) return undefined;
  const found = lists.find(list);
  const object = isFresh ? undefined : found?.contents.live.get(id);
  if (!isSameObject(object, expected)) return undefined;
  if (lastModified !== undefined && lastModified <= (found?.clock ?? 0)) return undefined;
  if (text === undefined) {
    if (object === undefined) return undefined;
    if (uri !== undefined) grants.removeObjects([uri], unit);
    return changes.remove(list, object, lastModified, true).tombstone.lastModified;
  }
  if (uri !== undefined) runAtOnce(grants.replace(uri, entries, unit));
  return changes.put(list, id, text, lastModified, isFresh).lastModified;
}
