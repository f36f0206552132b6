// Creating what a request to the personal bucket takes for granted. Below the rules of the kinds on purpose: including
// the plugin is what grants a personal bucket, and no schema applies to it.
import type { ListKey } from '../../core/objects/stored.ts';
import type { Caller } from '../../engine/caller.ts';
import type { Session } from '../../engine/session.ts';

/** Creates the object, empty and owned by the caller, unless it exists. Reads do not take the writer's turn. */
export async function createIfMissing(
  session: Session,
  { list, id, uri }: { readonly list: ListKey; readonly id: string; readonly uri: string },
  caller: Caller,
): Promise<void> {
  if ((await session.reader.storage.get(list, id)) !== undefined) return;
  const { storage, permission } = await session.writer();
  const { object } = await storage.lock(list, id);
  if (object !== undefined) return;
  await storage.create(list, id, '{}');
  await permission.addPrincipalToAce(uri, 'write', caller.principal);
}
