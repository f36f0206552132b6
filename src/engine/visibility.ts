// Visibility of objects: what a caller sees of an object and its permissions, who is an administrator of a kind, and who
// may choose the ids of objects that have an owner by their id, such as accounts.
import type { ObjectPermissions } from '../contracts/permission.ts';
import type { LockedState } from '../contracts/storage.ts';
import { invalidParameters, ServiceError } from '../core/errors.ts';
import type { ObjectId } from '../core/objects/object-id.ts';
import type { StoredObject } from '../core/objects/stored.ts';
import { isNamedBySettings } from './access.ts';
import type { Viewer } from './kind.ts';
import { idsWith, type Scope } from './scope.ts';

/** Returns the caller as a viewer of objects of the kind. */
export function viewerOf({ kind, context: { caller } }: Scope<unknown>): Viewer {
  return { caller, isAdministrator: isNamedBySettings(kind.rules.writeList, caller) };
}

/** Returns the state with the object as the caller may see it, for errors of preconditions. */
export function presentState(scope: Scope<unknown>, state: LockedState): LockedState {
  return state.object === undefined ? state : { ...state, object: presentObject(scope, state.object) };
}

/** Returns the object as the caller may see it. */
export function presentObject(scope: Scope<unknown>, object: StoredObject): StoredObject {
  const { present } = scope.kind.declaration;
  return present === undefined ? object : present(object, viewerOf(scope));
}

/**
 * Returns whether a group of the caller is in the `write` entry of the object. The backend checks it, so the cost does not
 * depend on the number of groups.
 */
export async function isWriterByGroup(scope: Scope, id: ObjectId): Promise<boolean> {
  const { kind, context } = scope;
  const { caller, unit } = context;
  if (caller.memberOf === undefined) return false;
  const entry = { objectId: kind.objectUri(idsWith(scope, id)), permission: 'write' };
  return unit.reader.permission.checkPermission([], [entry], caller.memberOf);
}

/**
 * Returns `isWriterByGroup` if the backend is remote, so that it shares a round trip with other reads; else `undefined`, and
 * `visiblePermissions` checks it if necessary.
 */
export function askGroupAccessAhead(scope: Scope, id: ObjectId): Promise<boolean> | undefined {
  return scope.kind.isShareable && scope.context.unit.isRemote ? isWriterByGroup(scope, id) : undefined;
}

/**
 * Returns the permissions of an object as the caller may see them: all for principals in its own `write` entry, else none.
 * Administrators, and the caller who has just signed up, see those of objects that have an owner by their id.
 *
 * @param options.byGroup result of `isWriterByGroup`; `undefined`: not known yet
 */
export async function visiblePermissions(
  scope: Scope,
  id: ObjectId,
  permissions: ObjectPermissions,
  { isNew, byGroup }: { readonly isNew: boolean; readonly byGroup?: boolean | undefined },
): Promise<ObjectPermissions> {
  const { caller, isAdministrator } = viewerOf(scope);
  if (scope.kind.declaration.ownerOf !== undefined && (isNew || isAdministrator)) return permissions;
  const writers = permissions['write'] ?? [];
  if (writers.some((writer) => caller.knownPrincipals.includes(writer))) return permissions;
  if (writers.length === 0) return {};
  return (byGroup ?? (await isWriterByGroup(scope, id))) ? permissions : {};
}

/**
 * Requires the caller to be allowed to choose the id, before any lookup.
 *
 * @throws ServiceError invalidParameters, whether or not an object has the id
 */
export function requireOwnId(scope: Scope, id: string): void {
  const { ownerOf } = scope.kind.declaration;
  if (ownerOf === undefined) return;
  const { caller, isAdministrator } = viewerOf(scope);
  if (caller.userId === undefined || isAdministrator || caller.userId === ownerOf(id)) return;
  throw invalidParameters([{ location: 'body', name: 'data.id', description: 'this id belongs to another user' }]);
}

/**
 * Requires a caller that the kind lets read its lists.
 *
 * @throws ServiceError when the list is closed to anonymous callers
 */
export function requireOpenList({ kind, context }: Scope): void {
  const { anonymousListError } = kind.declaration;
  if (anonymousListError !== undefined && context.caller.userId === undefined) {
    throw new ServiceError(anonymousListError);
  }
}
