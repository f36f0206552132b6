// The cascade of a deleted bucket or collection: all objects below it, their permissions, and the memberships in its groups.
// Its size is unlimited, and it leaves no tombstones.
import type { Change } from '../engine/events/event.ts';
import type { Writer } from '../engine/unit-of-work.ts';

export async function cascade({ action, uri }: Change, { storage, permission }: Writer): Promise<void> {
  if (action !== 'delete') return;
  await storage.deleteChildren(uri);
  await permission.deletePermissionsBelow(uri);
  await permission.removePrincipalsBelow(`${uri}/groups/`);
}
