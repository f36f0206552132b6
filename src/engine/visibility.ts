// Objects that not everybody sees alike, and those that belong to a principal by their id, as accounts do: who counts as
// administrator, whose ids may be chosen, and what is shown to whom.
import type { ObjectPermissions } from '../contracts/permission.ts';
import { invalidParameters, ServiceError } from '../core/errors.ts';
import type { ObjectId } from '../core/objects/object-id.ts';
import type { StoredObject } from '../core/objects/stored.ts';
import { isNamedBySettings } from './access.ts';
import type { Viewer } from './kind.ts';
import { idsWith, type Scope } from './scope.ts';

/** The caller as one who looks at objects of the kind, or writes them. */
export function viewerOf({ kind, context: { caller } }: Scope): Viewer {
  return { caller, isAdministrator: isNamedBySettings(kind.rules.writeList, caller) };
}

/** The object as the caller may see it. */
export function presentObject(scope: Scope, object: StoredObject): StoredObject {
  const { present } = scope.kind.declaration;
  return present === undefined ? object : present(object, viewerOf(scope));
}

/**
 * Whether a group of the caller is in the `write` entry of the object. Asked of the backend, so that it costs the same in
 * however many groups the caller is.
 */
export async function isWriterByGroup(scope: Scope, id: ObjectId): Promise<boolean> {
  const { kind, context } = scope;
  const { caller, unit } = context;
  if (caller.memberOf === undefined) return false;
  const entry = { objectId: kind.objectUri(idsWith(scope, id)), permission: 'write' };
  return unit.reader.permission.checkPermission([], [entry], caller.memberOf);
}

/**
 * The permissions of an object as the caller may see them: all for those in its own `write` entry, else none. Of objects
 * that belong to somebody by their id they are shown to administrators, too, and to whoever has just signed up.
 *
 * @param options.byGroup what `isWriterByGroup` says, where that is known already
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
 * Requires the id to be one that the caller may choose, before anything is found out about it.
 *
 * @throws ServiceError invalidParameters, whether an object has the id or not
 */
export function requireOwnId(scope: Scope, id: string): void {
  const { ownerOf } = scope.kind.declaration;
  if (ownerOf === undefined) return;
  const { caller, isAdministrator } = viewerOf(scope);
  if (caller.userId === undefined || isAdministrator || caller.userId === ownerOf(id)) return;
  throw invalidParameters([{ location: 'body', name: 'data.id', description: 'this id belongs to somebody else' }]);
}

/** @throws ServiceError when the list is closed to anonymous callers */
export function requireOpenList({ kind, context }: Scope): void {
  const { anonymousListError } = kind.declaration;
  if (anonymousListError !== undefined && context.caller.userId === undefined) {
    throw new ServiceError(anonymousListError);
  }
}
