// The permission contract on the tables of a memory database.
import type {
  AccessibleOptions,
  BoundPermission,
  Memberships,
  ObjectEntries,
  ObjectPermissions,
  PermissionBackend,
  PermissionReader,
  PermissionWriter,
  WalkPage,
} from '../../contracts/permission.ts';
import type { Steps } from '../../base/steps.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Principal, UserId } from '../../core/permissions/principals.ts';
import type { MemoryDatabase } from './database.ts';
import type { GrantTable, ObjectEntries as EntriesOfObject } from './grant-table.ts';
import { parsePattern } from '../../core/permissions/object-pattern.ts';
import type { MemoryUnit } from './unit-queue.ts';

type Run = <T>(operation: () => T) => Promise<T>;

/** Creates the permission backend of a memory database. */
export function createMemoryPermission(database: MemoryDatabase): PermissionBackend {
  return {
    database,
    reader: new MemoryPermissionReader(database.grants, (operation) => database.read(operation)),
    writer: (transaction) => new MemoryPermissionWriter(database.grants, database.requireUnit(transaction)),
  };
}

class MemoryPermissionReader implements PermissionReader {
  protected readonly grants: GrantTable;
  protected readonly run: Run;

  constructor(grants: GrantTable, run: Run) {
    this.grants = grants;
    this.run = run;
  }

  getUserPrincipals(userId: UserId): Promise<ReadonlySet<Principal>> {
    return this.run(() => new Set(this.grants.givenTo(userId).flatMap((principals) => [...principals])));
  }

  getObjectPermissionPrincipals(objectId: ObjectUri, permission: string): Promise<ReadonlySet<Principal>> {
    return this.run(() => new Set(this.grants.entriesOf(objectId)?.get(permission)));
  }

  getAuthorizedPrincipals(bound: readonly BoundPermission[]): Promise<ReadonlySet<Principal>> {
    return this.run(() => {
      const principals = new Set<Principal>();
      for (const { objectId, permission } of bound) {
        for (const principal of this.grants.entriesOf(objectId)?.get(permission) ?? []) principals.add(principal);
      }
      return principals;
    });
  }

  checkPermission(
    principals: readonly Principal[],
    bound: readonly BoundPermission[],
    memberOf?: UserId,
  ): Promise<boolean> {
    return this.run(() => {
      const given = memberOf === undefined ? [] : this.grants.givenTo(memberOf);
      let last: string | undefined;
      let entries: EntriesOfObject | undefined;
      for (const { objectId, permission } of bound) {
        // Entries of one object are consecutive.
        if (objectId !== last) entries = this.grants.entriesOf((last = objectId));
        const allowed = entries?.get(permission);
        if (allowed === undefined) continue;
        if (principals.some((principal) => allowed.has(principal))) return true;
        if (given.some((groups) => haveCommon(groups, allowed))) return true;
      }
      return false;
    });
  }

  getAccessibleObjects(
    principals: readonly Principal[],
    { bound, withChildren = true, memberOf, limit = Infinity }: AccessibleOptions = {},
  ): Promise<ReadonlyMap<ObjectUri, ReadonlySet<string>>> {
    return this.run(() => {
      const found = new Map<ObjectUri, Set<string>>();
      const add = (objectId: ObjectUri, permission: string): void => {
        const permissions = found.get(objectId);
        if (permissions === undefined) found.set(objectId, new Set([permission]));
        else permissions.add(permission);
      };
      const wanted = bound?.map(({ pattern, permission }) => ({
        pattern: parsePattern(pattern, withChildren),
        permission,
      }));
      const given = memberOf === undefined ? [] : this.grants.givenTo(memberOf).flatMap((groups) => [...groups]);
      for (const principal of [...principals, ...given]) {
        if (wanted === undefined) {
          for (const [objectId, permissions] of this.grants.grantedTo(principal)) {
            for (const permission of permissions) add(objectId, permission);
          }
        } else {
          for (const { pattern, permission } of wanted) {
            for (const [objectId, permissions] of this.grants.grantedTo(principal, pattern)) {
              if (!permissions.has(permission)) continue;
              add(objectId, permission);
              if (found.size >= limit) return found;
            }
          }
        }
      }
      return found;
    });
  }

  getObjectPermissions(objectId: ObjectUri, permissions?: readonly string[]): Promise<ObjectPermissions> {
    return this.run(() => this.permissionsOf(objectId, permissions));
  }

  getObjectsPermissions(
    objectIds: readonly ObjectUri[],
    permissions?: readonly string[],
  ): Promise<readonly ObjectPermissions[]> {
    return this.run(() => objectIds.map((objectId) => this.permissionsOf(objectId, permissions)));
  }

  entries(from: string | undefined, limit: number): Promise<WalkPage<ObjectEntries>> {
    return this.run(() =>
      pageOf(this.grants.objects(), from, limit, (objectId) => {
        return { objectId, permissions: this.permissionsOf(objectId, undefined) };
      }),
    );
  }

  memberships(from: string | undefined, limit: number): Promise<WalkPage<Memberships>> {
    return this.run(() =>
      pageOf(this.grants.users(), from, limit, (userId) => {
        return { userId, principals: [...this.grants.principalsOf(userId)] };
      }),
    );
  }

  protected permissionsOf(objectId: ObjectUri, names: readonly string[] | undefined): ObjectPermissions {
    const entries: EntriesOfObject | undefined = this.grants.entriesOf(objectId);
    if (entries === undefined) return {};
    const wanted =
      names === undefined ? [...entries] : [...entries].filter(([permission]) => names.includes(permission));
    return Object.fromEntries(wanted.map(([permission, principals]) => [permission, [...principals]]));
  }
}

/** Returns whether the sets share a member, in time proportional to the smaller one. */
function haveCommon(one: ReadonlySet<Principal>, other: ReadonlySet<Principal>): boolean {
  const [few, many] = one.size <= other.size ? [one, other] : [other, one];
  for (const each of few) if (many.has(each)) return true;
  return false;
}

/** Returns a page of the ids after `after`, ordered by UTF-16 units, each converted by `read`. */
function pageOf<Id extends string, T>(
  ids: Iterable<Id>,
  after: string | undefined,
  limit: number,
  read: (id: Id) => T,
): WalkPage<T> {
  const ahead = [...ids].filter((id) => after === undefined || id > after);
  const page = ahead.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)).slice(0, limit);
  return { found: page.map(read), next: page.length < ahead.length ? page.at(-1) : undefined };
}

class MemoryPermissionWriter extends MemoryPermissionReader implements PermissionWriter {
  readonly #unit: MemoryUnit;

  constructor(grants: GrantTable, unit: MemoryUnit) {
    super(grants, (operation) => unit.run(operation));
    this.#unit = unit;
  }

  addUserPrincipal(userId: Principal, principal: Principal): Promise<void> {
    return this.run(() => this.grants.admit(userId, principal, this.#unit));
  }

  removeUserPrincipal(userId: Principal, principal: Principal): Promise<void> {
    return this.run(() => this.grants.expel(userId, principal, this.#unit));
  }

  removePrincipal(principal: Principal): Promise<void> {
    return this.run(() => this.#expelAll(principal));
  }

  removePrincipalsBelow(prefix: string): Promise<void> {
    return this.run(() => this.grants.principalsWithPrefix(prefix).forEach((principal) => this.#expelAll(principal)));
  }

  addPrincipalToAce(objectId: ObjectUri, permission: string, principal: Principal): Promise<void> {
    return this.run(() => this.grants.grant(objectId, permission, principal, this.#unit));
  }

  removePrincipalFromAce(objectId: ObjectUri, permission: string, principal: Principal): Promise<void> {
    return this.run(() => this.grants.revoke(objectId, permission, principal, this.#unit));
  }

  removePrincipalFromAces(principal: Principal): Promise<void> {
    return this.run(() => {
      const granted = [...this.grants.grantedTo(principal)].map(([objectId, names]) => [objectId, [...names]] as const);
      for (const [objectId, permissions] of granted) {
        for (const permission of permissions) this.grants.revoke(objectId, permission, principal, this.#unit);
      }
    });
  }

  addToAces(
    entries: readonly { readonly objectId: ObjectUri; readonly permissions: ObjectPermissions }[],
  ): Promise<void> {
    return this.#unit.walk(this.#addAll(entries));
  }

  replaceObjectPermissions(objectId: ObjectUri, permissions: ObjectPermissions): Promise<void> {
    return this.#unit.walk(this.grants.replace(objectId, permissions, this.#unit));
  }

  deleteObjectPermissions(objectIds: readonly ObjectUri[]): Promise<void> {
    return this.run(() => this.grants.removeObjects(objectIds, this.#unit));
  }

  deletePermissionsBelow(uri: ObjectUri): Promise<void> {
    return this.run(() => this.grants.removeBelow(uri, this.#unit));
  }

  flush(): Promise<void> {
    return this.run(() => this.grants.flush(this.#unit));
  }

  *#addAll(entries: Parameters<PermissionWriter['addToAces']>[0]): Steps<void> {
    for (const { objectId, permissions } of entries) yield* this.grants.add(objectId, permissions, this.#unit);
  }

  #expelAll(principal: Principal): void {
    for (const userId of this.grants.usersOf(principal)) this.grants.expel(userId, principal, this.#unit);
  }
}
