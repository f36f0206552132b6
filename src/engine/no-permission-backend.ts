// Stands in where no permission backend is configured: nothing is granted to anybody and nothing is kept. Only user
// resources work then, since they never ask.
import type { PermissionBackend, PermissionReader, PermissionWriter } from '../contracts/permission.ts';
import type { Database } from '../contracts/database.ts';

const nobody: ReadonlySet<string> = new Set();

const reader: PermissionReader = {
  getUserPrincipals: () => Promise.resolve(nobody),
  getObjectPermissionPrincipals: () => Promise.resolve(nobody),
  getAuthorizedPrincipals: () => Promise.resolve(nobody),
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

/** A permission backend that keeps nothing, as part of the given database so that it opens no transaction of its own. */
export function noPermissionBackend(database: Database): PermissionBackend {
  return { database, reader, writer: () => writer };
}
