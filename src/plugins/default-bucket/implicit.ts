// Creating what a request to the personal bucket takes for granted. Below the rules of the kinds on purpose: including
// the plugin is what grants a personal bucket, and no schema applies to it.
import { TransactionConflict } from '../../contracts/errors.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { isConfirmed, refusal, type AccessRule } from '../../engine/access.ts';
import type { PathIds } from '../../engine/context.ts';
import type { Actor } from '../../engine/objects.ts';

export interface Implicit {
  readonly list: ListKey;
  readonly id: string;
  readonly uri: string;
  /** For creating it, on which an authorization policy has the last word. */
  readonly rule: AccessRule;
  /** Those in the URI. */
  readonly ids: PathIds;
  /** What it lies in, which was there a moment ago; absent: nothing. */
  readonly parent?: { readonly list: ListKey; readonly id: string };
}

/**
 * Creates the object, empty and owned by the caller, unless it exists. Reads do not take the writer's turn.
 *
 * @throws ServiceError forbidden; TransactionConflict when its parent has been deleted meanwhile, and may be created again from the start
 */
export async function createIfMissing(
  { session, caller, request }: Actor,
  { list, id, uri, rule, ids, parent }: Implicit,
): Promise<void> {
  if ((await session.reader.storage.get(list, id)) !== undefined) return;
  if (!(await isConfirmed(rule, caller, session.reader, ids))) throw refusal(caller);
  const { storage, permission } = await session.writer();
  if (parent !== undefined && (await storage.hold(parent.list, parent.id, list)) === undefined) {
    throw new TransactionConflict('the parent of an implicit object was deleted meanwhile');
  }
  const { object, timestamp: clock = 0 } = await storage.lock(list, id);
  if (object !== undefined) return;
  const created = await storage.create(list, id, '{}');
  await permission.addPrincipalToAce(uri, 'write', caller.principal);
  const { kind } = list;
  if (!session.hears(kind, 'create')) return;
  const permissions = { write: [caller.principal] };
  const change = { action: 'create', kind, list, uri, ids, old: undefined, new: created, permissions, caller } as const;
  const timestamp = Math.max(clock, created.lastModified);
  const { userId } = caller;
  session.events.add({ action: 'create', kind, list, timestamp, path: uri, ids, userId, request, changes: [change] });
}
