// Creation of the bucket and collection that a request to the personal bucket implies. It bypasses the rules of the
// kinds, because the plugin itself grants the personal bucket, and no schema applies.
import { TransactionConflict } from '../../contracts/errors.ts';
import { isConfirmed, refusal } from '../../engine/access.ts';
import type { Actor, ObjectPlace, Objects } from '../../engine/objects.ts';

/**
 * Creates an empty object owned by the caller, unless it exists. An existing object needs no write transaction.
 *
 * @throws ServiceError forbidden; TransactionConflict when the parent was deleted meanwhile, so that a retry recreates it
 */
export async function createIfMissing(
  objects: Objects,
  { unit, caller, request }: Actor,
  { kind: name, ids }: ObjectPlace,
): Promise<void> {
  const { parent, rules, idName, listKey, objectUri } = objects.kind(name);
  const list = listKey(ids, caller);
  const id = ids[idName]!;
  if ((await unit.reader.storage.get(list, id)) !== undefined) return;
  // An authorization policy can still refuse.
  if (!(await isConfirmed(rules.create, caller, unit.reader, ids))) throw refusal(caller);
  const { storage, permission } = await unit.writer();
  const holder = parent?.listKey(ids, caller);
  if (holder !== undefined && (await storage.lockShared(holder, ids[parent!.idName]!, list)) === undefined) {
    throw new TransactionConflict('the parent of an implicit object was deleted meanwhile');
  }
  const { object, timestamp: clock = 0 } = await storage.lock(list, id);
  if (object !== undefined) return;
  const created = await storage.create(list, id, '{}');
  const uri = objectUri(ids);
  await permission.addPrincipalToAce(uri, 'write', caller.principal);
  const { kind } = list;
  if (!unit.hears(kind, 'create')) return;
  const permissions = { write: [caller.principal] };
  const change = { action: 'create', kind, list, uri, ids, old: undefined, new: created, permissions, caller } as const;
  const timestamp = Math.max(clock, created.lastModified);
  const { userId } = caller;
  unit.events.add({ action: 'create', kind, list, timestamp, path: uri, ids, userId, request, changes: [change] });
}
