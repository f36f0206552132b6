// Trims the history: deletes old entries without tombstones while new ones are written.
import { storedUri } from '../../core/objects/uris.ts';
import type { CompiledKind } from '../../engine/compiled-kind.ts';
import { anonymous } from '../../engine/caller.ts';
import type { Change } from '../../engine/events/event.ts';
import type { Writer } from '../../engine/unit-of-work.ts';
import type { Filter } from '../../core/query/ast.ts';
import { oldestFirst, walk } from '../../engine/walk.ts';
import { where } from './history-entry.ts';

export interface TrimOptions {
  /** Maximum number of entries per bucket and kind of object; 0 or less means unlimited. */
  readonly maxCount: number;
  /** Number of entries above the maximum before trimming. */
  readonly threshold: number;
  /** Users whose changes trim their own entries; empty means all users. */
  readonly userIds: ReadonlySet<string>;
}

/**
 * Trims the history of one bucket.
 *
 * @param changes the changes just recorded, all in one bucket
 */
export async function trimHistory(
  kind: CompiledKind,
  options: TrimOptions,
  changes: readonly Change[],
  writer: Pick<Writer, 'storage' | 'permission'>,
): Promise<void> {
  if (options.maxCount <= 0) return;
  const selections = new Map(
    changes.flatMap((change) => {
      const filters = filtersFor(change, options);
      return filters === undefined ? [] : [[JSON.stringify(filters), filters] as const];
    }),
  );
  for (const filters of selections.values()) await trimSelected(kind, options, changes[0]!.ids, filters, writer);
}

function filtersFor({ kind, caller }: Change, { userIds }: TrimOptions): readonly Filter[] | undefined {
  const kindFilter = where('resource_name', 'eq', kind);
  if (userIds.size === 0) return [kindFilter];
  const { userId } = caller;
  return userId !== undefined && userIds.has(userId) ? [kindFilter, where('user_id', 'eq', userId)] : undefined;
}

async function trimSelected(
  kind: CompiledKind,
  { maxCount, threshold }: TrimOptions,
  ids: Change['ids'],
  filters: readonly Filter[],
  { storage, permission }: Pick<Writer, 'storage' | 'permission'>,
): Promise<void> {
  const list = kind.listKey(ids, anonymous);
  const count = await storage.countAll(list, { filters });
  if (count <= maxCount + threshold) return;
  // The storage backend does not delete the permissions of the entries it trims.
  const excess = count - maxCount;
  let seen = 0;
  for await (const entries of walk(storage, list, { filters }, undefined, { sort: oldestFirst })) {
    const surplus = entries.slice(0, excess - seen);
    seen += surplus.length;
    await permission.deleteObjectPermissions(surplus.map(({ id }) => storedUri(`${kind.listUri(ids)}/${id}`)));
    if (seen >= excess) break;
  }
  await storage.trimObjects(list, { filters }, maxCount);
}
