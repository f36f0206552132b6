// Writes a part of a list to the target: objects, tombstones, permissions and the consequences of deletions. It is one unit of
// work where storage and permissions share a database.
import type { ObjectPermissions, PermissionWriter } from '../../contracts/permission.ts';
import type { StorageWriter } from '../../contracts/storage.ts';
import { isTombstone, type StoredEntry } from '../../core/objects/stored.ts';
import type { Stores } from '../../engine/unit-of-work.ts';
import { replacing } from '../copy/copy-permissions.ts';
import { inUnit } from '../../maintenance/units.ts';
import type { SourceList } from './lists.ts';

export type Change =
  | {
      readonly put: StoredEntry;
      /** Permissions of the object; `undefined`: unknown, they stay as they are. */
      readonly permissions: ObjectPermissions | undefined;
      readonly known: ObjectPermissions;
    }
  | { readonly gone: string };

export interface Changes {
  readonly changes: readonly Change[];
  /** New clock of the list; 0: the clock follows from the entries. */
  readonly clock: number;
  /** New horizon, where deletions have no tombstone for followers of the target. */
  readonly horizon?: number | undefined;
}

/** Writes the changes. */
export async function writeChanges({ storage, permission }: Stores, list: SourceList, changes: Changes): Promise<void> {
  if (storage.database === permission.database) {
    await inUnit(storage.database, async (transaction) => {
      await writePermissions(permission.writer(transaction), list, changes);
      await writeEntries(storage.writer(transaction), list, changes);
    });
    return;
  }
  // Objects come last, so that each object that exists has its permissions.
  if (changes.changes.length > 0) {
    await inUnit(permission.database, (transaction) => writePermissions(permission.writer(transaction), list, changes));
  }
  await inUnit(storage.database, (transaction) => writeEntries(storage.writer(transaction), list, changes));
}

async function writeEntries(
  writer: StorageWriter,
  list: SourceList,
  { changes, clock, horizon }: Changes,
): Promise<void> {
  // An object that changed while it was read comes twice; the last state counts.
  const entries = new Map(changes.flatMap((change) => ('put' in change ? [[change.put.id, change.put] as const] : [])));
  const gone = changes.flatMap((change) => ('gone' in change && !entries.has(change.gone) ? [change.gone] : []));
  if (list.hasChildren) for (const id of deletedIds(changes)) await writer.deleteChildren(list.uriOf(id));
  const { kind, parent } = list;
  await writer.restore({ kind, parent }, { clock, horizon, entries: [...entries.values()], gone });
}

async function writePermissions(writer: PermissionWriter, list: SourceList, { changes }: Changes): Promise<void> {
  const deleted = deletedIds(changes).map(list.uriOf);
  if (deleted.length > 0) await writer.deleteObjectPermissions(deleted);
  if (list.hasChildren) {
    for (const uri of deleted) {
      await writer.deletePermissionsBelow(uri);
      await writer.removePrincipalsBelow(`${uri}/groups/`);
    }
  }
  for (const change of changes) {
    if (!('put' in change) || isTombstone(change.put) || change.permissions === undefined) continue;
    const { put, permissions, known } = change;
    await writer.replaceObjectPermissions(list.uriOf(put.id), replacing(known, permissions));
  }
}

function deletedIds(changes: readonly Change[]): readonly string[] {
  return changes.flatMap((change) => {
    if ('gone' in change) return [change.gone];
    return isTombstone(change.put) ? [change.put.id] : [];
  });
}
