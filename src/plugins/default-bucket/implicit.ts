// Creating what a request to the personal bucket takes for granted. Below the rules of the kinds on purpose: including
// the plugin is what grants a personal bucket, and no schema applies to it.
import { TransactionConflict } from '../../contracts/errors.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Caller } from '../../engine/caller.ts';
import type { Session } from '../../engine/session.ts';

export interface Implicit {
  readonly list: ListKey;
  readonly id: string;
  readonly uri: string;
  /** What it lies in, which was there a moment ago; absent: nothing. */
  readonly parent?: { readonly list: ListKey; readonly id: string };
}

/**
 * Creates the object, empty and owned by the caller, unless it exists. Reads do not take the writer's turn.
 *
 * @throws TransactionConflict when its parent has been deleted meanwhile, and may be created again from the start
 */
export async function createIfMissing(
  session: Session,
  { list, id, uri, parent }: Implicit,
  caller: Caller,
): Promise<void> {
  if ((await session.reader.storage.get(list, id)) !== undefined) return;
  const { storage, permission } = await session.writer();
  if (parent !== undefined && (await storage.hold(parent.list, parent.id)) === undefined) {
    throw new TransactionConflict('the parent of an implicit object was deleted meanwhile');
  }
  const { object } = await storage.lock(list, id);
  if (object !== undefined) return;
  await storage.create(list, id, '{}');
  await permission.addPrincipalToAce(uri, 'write', caller.principal);
}
