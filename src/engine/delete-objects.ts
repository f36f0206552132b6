// Deletes objects, and what belongs to them: permissions, and what the hooks of the kind delete.
import { pause } from '../base/steps.ts';
import type { Deletion } from '../contracts/storage.ts';
import { storedId, type PathIds } from '../core/objects/object-id.ts';
import type { StoredObject, Tombstone } from '../core/objects/stored.ts';
import { writeConditionally, type WriteTarget } from './conditional-write.ts';
import { announceChanges } from './events/announce.ts';
import type { Change } from './events/event.ts';
import { missingObject, objectId, type Scope } from './scope.ts';
import type { Writer } from './unit-of-work.ts';

/**
 * Deletes the object whose id is in the path; returns its tombstone.
 *
 * @param options.old the object as it was read
 * @param options.clock timestamp of the list before, if known
 * @param options.lastModified timestamp of the tombstone; `undefined`: a new one
 * @throws ServiceError missingObject; StaleState
 */
export async function deleteObject(
  scope: Scope<unknown>,
  { writer, above }: WriteTarget,
  { old, clock, lastModified }: DeletionOptions,
): Promise<Tombstone> {
  const { kind, context, list } = scope;
  const id = objectId(scope);
  if (writer === undefined) {
    const uri = kind.isShareable ? kind.objectUri(context.ids) : undefined;
    const write = { id, expected: old, text: undefined, lastModified, uri, entries: {} };
    return { id, lastModified: await writeConditionally(scope, above, write), deleted: true };
  }
  const deletion = await writer.storage.delete(list, id, { lastModified });
  if (deletion === undefined) throw missingObject(scope, id);
  await finishDeletions(scope, writer, clock, [deletion]);
  return deletion.tombstone;
}

interface DeletionOptions {
  readonly old: StoredObject;
  readonly clock: number | undefined;
  readonly lastModified: number | undefined;
}

/** Number of changes that are handled before other requests run. */
const changesPerTurn = 100;

/**
 * Finishes deletions in one list: deletes the permissions of the objects, runs the hooks of the kind and announces the
 * changes.
 *
 * @param clock timestamp of the list before the deletions, if known
 */
export async function finishDeletions(
  scope: Scope<unknown>,
  writer: Writer,
  clock: number | undefined,
  deletions: readonly Deletion[],
): Promise<void> {
  const { kind, context, list, isByService = false } = scope;
  const { caller } = context;
  const above = Object.entries(context.ids);
  const changes = deletions.map(({ old, tombstone }): Change => {
    // No spreads: with thousands of changes they would cost more than everything else here.
    const ids: PathIds = Object.fromEntries([...above, [kind.idName, storedId(tombstone.id)] as const]);
    const uri = kind.objectUri(ids);
    return {
      action: 'delete',
      kind: kind.name,
      list,
      uri,
      ids,
      old,
      new: tombstone,
      permissions: {},
      caller,
      isByService,
    };
  });
  if (kind.isShareable && changes.length > 0) {
    await writer.permission.deleteObjectPermissions(changes.map(({ uri }) => uri));
  }
  const { afterChange } = kind.declaration;
  for (const [index, change] of changes.entries()) {
    if (index > 0 && index % changesPerTurn === 0) await pause('urgent');
    await context.unit.events.beforeCascade(change);
    await afterChange?.(change, writer);
  }
  announceChanges(scope, clock, changes);
}
