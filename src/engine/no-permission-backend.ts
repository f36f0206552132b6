// The permission backend when none is configured: it grants and stores nothing. Then only user resources work, because
// they check no entries.
import type { PermissionBackend, PermissionReader, PermissionWriter } from '../contracts/permission.ts';
import type { Database } from '../contracts/database.ts';
import type { Principal } from '../core/permissions/principals.ts';

const noPrincipals: ReadonlySet<Principal> = new Set();

const reader: PermissionReader = {
  getUserPrincipals: () => Promise.resolve(noPrincipals),
  getAuthorizedPrincipals: () => Promise.resolve(noPrincipals),
  checkPermission: () => Promise.resolve(false),
  getAccessibleObjects: () => Promise.resolve(new Map()),
  getObjectPermissions: () => Promise.resolve({}),
  getObjectsPermissions: (objectIds) => Promise.resolve(objectIds.map(() => ({}))),
  entries: () => Promise.resolve({ found: [], next: undefined }),
  memberships: () => Promise.resolve({ found: [], next: undefined }),
};

const nothing = (): Promise<void> => Promise.resolve();

const writer: PermissionWriter = {
  ...reader,
  addUserPrincipal: nothing,
  removeUserPrincipal: nothing,
  removePrincipal: nothing,
  removePrincipalsBelow: nothing,
  addPrincipalToAce: nothing,
  removePrincipalFromAce: nothing,
  removePrincipalFromAces: nothing,
  addToAces: nothing,
  replaceObjectPermissions: nothing,
  deleteObjectPermissions: nothing,
  deletePermissionsBelow: nothing,
  flush: nothing,
};

/** Creates a permission backend that stores nothing. It belongs to the given database, so it opens no own transaction. */
export function noPermissionBackend(database: Database): PermissionBackend {
  return { database, reader, writer: () => writer };
}
