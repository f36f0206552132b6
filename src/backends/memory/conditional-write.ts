// A conditional write: one object and its permission entries, in one step that is a unit of work of its own.
import type { Clock } from '../../base/clock.ts';
import { runAtOnce } from '../../base/steps.ts';
import type { ConditionalWrite } from '../../contracts/database.ts';
import { conditionalTimestamp, unwritten } from '../../core/lists/list-state.ts';
import { isSameObject } from '../../core/objects/stored.ts';
import { principalsPerStep, type GrantTable } from './grant-table.ts';
import { ListWrites } from './list-writes.ts';
import type { ListTable } from './list-table.ts';
import type { MemoryUnit } from './unit-queue.ts';

/** Does what `Database.writeConditionally` promises. */
export function writeConditionally(
  lists: ListTable,
  grants: GrantTable,
  clock: Clock,
  unit: MemoryUnit,
  { list, holder, id, isFresh = false, expected, text, lastModified, keys, uri, entries }: ConditionalWrite,
): number | undefined {
  // A unit of work grants many principals in steps, and reads run between them.
  for (const permission in entries) if (entries[permission]!.length > principalsPerStep) return undefined;
  if (holder !== undefined) {
    const held = lists.find(holder.list)?.contents.live.get(holder.id);
    if (held === undefined || (holder.lastModified ?? held.lastModified) !== held.lastModified) return undefined;
  }
  const found = lists.find(list);
  const object = isFresh ? undefined : found?.contents.live.get(id);
  if (!isSameObject(object, expected)) return undefined;
  if (conditionalTimestamp(found ?? unwritten, clock.now(), lastModified) === undefined) return undefined;
  const writes = new ListWrites(lists, clock, unit);
  if (text === undefined) {
    if (object === undefined) return undefined;
    if (uri !== undefined) grants.removeObjects([uri], unit);
    return writes.remove(list, object, lastModified, true).tombstone.lastModified;
  }
  if (uri !== undefined) runAtOnce(grants.replace(uri, entries, unit));
  return writes.put(list, { id, text, keys }, lastModified, isFresh).lastModified;
}
