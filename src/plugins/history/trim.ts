// Keeps a history from growing without end, where the settings ask for it: old entries go without a trace while new ones
// are written.
import type { CompiledKind } from '../../engine/compiled-kind.ts';
import { anonymous } from '../../engine/caller.ts';
import type { Change } from '../../engine/events/event.ts';
import type { Writer } from '../../engine/unit-of-work.ts';
import type { Filter } from '../../core/query/ast.ts';
import { oldestFirst, walk } from '../../engine/walk.ts';
import { where } from './where.ts';

export interface TrimOptions {
  /** Entries kept for each bucket and kind of object; not positive: all. */
  readonly maxCount: number;
  /** How many more there may be before trimming is worth the while. */
  readonly threshold: number;
  /** When there are any: only after changes of these users, and only their own entries. */
  readonly userIds: ReadonlySet<string>;
}

/**
 * Trims the history of one bucket after these changes.
 *
 * @param changes all in one bucket
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
  const ofKind = where('resource_name', 'eq', kind);
  if (userIds.size === 0) return [ofKind];
  const { userId } = caller;
  return userId !== undefined && userIds.has(userId) ? [ofKind, where('user_id', 'eq', userId)] : undefined;
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
  // Storage knows nothing of the permissions of what it trims.
  const excess = count - maxCount;
  let seen = 0;
  for await (const entries of walk(storage, list, { filters }, oldestFirst)) {
    const doomed = entries.slice(0, excess - seen);
    seen += doomed.length;
    await permission.deleteObjectPermissions(doomed.map(({ id }) => `${kind.listUri(ids)}/${id}`));
    if (seen >= excess) break;
  }
  await storage.trimObjects(list, { filters }, maxCount);
}
