// What goes with a deleted bucket or collection: everything below it, the permissions of that, and the memberships in
// its groups. A cascade has no end in numbers and leaves no tombstones.
import type { Change } from '../engine/events/event.ts';
import type { Writer } from '../engine/unit-of-work.ts';

export async function cascade({ action, uri }: Change, { storage, permission }: Writer): Promise<void> {
  if (action !== 'delete') return;
  await storage.deleteChildren(uri);
  await permission.deletePermissionsBelow(uri);
  await permission.removePrincipalsBelow(`${uri}/groups/`);
}
