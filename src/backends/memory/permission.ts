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
import { principalsPerStep, type GrantTable, type ObjectEntries as EntriesOfObject } from './grant-table.ts';
import { listNameOf, parsePattern, type ObjectPattern } from '../../core/permissions/object-pattern.ts';
import { lastingNames } from './sole-entries.ts';
import type { MemoryUnit } from './unit-queue.ts';

/** Access to the tables: committed state, or the state of a unit of work. */
interface Access {
  run<T>(operation: () => T): Promise<T>;
  walk<T>(steps: Steps<T>): Promise<T>;
}

/** Creates the permission backend of a memory database. */
export function createMemoryPermission(database: MemoryDatabase): PermissionBackend {
  return {
    database,
    reader: new MemoryPermissionReader(database.grants, {
      run: (operation) => database.read(operation),
      walk: (steps) => database.walk(steps),
    }),
    writer: (transaction) => new MemoryPermissionWriter(database.grants, database.requireUnit(transaction)),
  };
}

class MemoryPermissionReader implements PermissionReader {
  protected readonly grants: GrantTable;
  protected readonly access: Access;

  constructor(grants: GrantTable, access: Access) {
    this.grants = grants;
    this.access = access;
  }

  getUserPrincipals(userId: UserId): Promise<ReadonlySet<Principal>> {
    return this.access.run(() => new Set(this.grants.givenTo(userId).flatMap((principals) => [...principals])));
  }

  getAuthorizedPrincipals(bound: readonly BoundPermission[]): Promise<ReadonlySet<Principal>> {
    return this.access.run(() => {
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
    return this.access.run(() => {
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

  getAccessibleObjects(principals: readonly Principal[], options: AccessibleOptions = {}): Promise<AccessibleObjects> {
    return this.access.walk(findAccessible(this.grants, principals, options));
  }

  getObjectPermissions(objectId: ObjectUri): Promise<ObjectPermissions> {
    return this.access.run(() => this.permissionsOf(objectId, undefined));
  }

  getObjectsPermissions(
    objectIds: readonly ObjectUri[],
    permissions?: readonly string[],
  ): Promise<readonly ObjectPermissions[]> {
    return this.access.run(() => objectIds.map((objectId) => this.permissionsOf(objectId, permissions)));
  }

  entries(from: string | undefined, limit: number): Promise<WalkPage<ObjectEntries>> {
    return this.access.run(() =>
      pageOf(this.grants.objects(), from, limit, (objectId) => {
        return { objectId, permissions: this.permissionsOf(objectId, undefined) };
      }),
    );
  }

  memberships(from: string | undefined, limit: number): Promise<WalkPage<Memberships>> {
    return this.access.run(() =>
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

type AccessibleObjects = ReadonlyMap<ObjectUri, ReadonlySet<string>>;

/** Names a permission on the objects that match a pattern. */
interface Wanted {
  readonly pattern: ObjectPattern;
  readonly permission: string;
}

/** Names an object that is granted to a principal, and the permission that it may fit; `undefined`: every object fits. */
type Candidate = readonly [wanted: Wanted | undefined, objectId: ObjectUri, permissions: ReadonlySet<string>];

/** Number of granted objects that are looked at without a pause. */
const grantsPerStep = 1000;

/** Returns the objects on which the principals have permissions. After the first pause it works on a copy. */
function* findAccessible(
  grants: GrantTable,
  principals: readonly Principal[],
  { bound, withChildren = true, lists, memberOf, limit = Infinity, requireRoom }: AccessibleOptions,
): Steps<AccessibleObjects> {
  const all = bound?.map(({ pattern, permission }) => ({ pattern: parsePattern(pattern, withChildren), permission }));
  const given = memberOf === undefined ? [] : grants.givenTo(memberOf).flatMap((groups) => [...groups]);
  const asked = { wanted: all ?? [undefined], lists: lists && new Set(lists) };
  let rest: IterableIterator<Candidate> = findCandidates(grants, [...principals, ...given], asked);
  const found = new Map<ObjectUri, Set<string>>();
  for (let looked = 1; found.size < limit; looked++) {
    const next = rest.next();
    if (next.done === true) return found;
    const [wanted, objectId, permissions] = next.value;
    if (wanted === undefined) for (const permission of permissions) addAccessible(found, objectId, permission);
    else if (permissions.has(wanted.permission) && wanted.pattern.matches(objectId)) {
      addAccessible(found, objectId, wanted.permission);
    }
    if (looked % grantsPerStep !== 0) continue;
    if (looked === grantsPerStep) {
      const copies = copyOf(rest);
      requireRoom?.(Math.min(looked + copies.length, limit));
      rest = copies.values();
    }
    yield;
  }
  return found;
}

function* findCandidates(
  grants: GrantTable,
  principals: readonly Principal[],
  {
    wanted: all,
    lists,
  }: { readonly wanted: readonly (Wanted | undefined)[]; readonly lists?: ReadonlySet<string> | undefined },
): Generator<Candidate, void, undefined> {
  for (const principal of principals) {
    for (const wanted of all) {
      for (const [objectId, permissions] of grants.grantedTo(principal, wanted?.pattern)) {
        if (lists?.has(listNameOf(objectId)) !== false) yield [wanted, objectId, permissions];
      }
    }
  }
}

function copyOf(candidates: Iterable<Candidate>): readonly Candidate[] {
  return Array.from(candidates, ([wanted, objectId, permissions]): Candidate => {
    return [wanted, objectId, lastingNames(permissions)];
  });
}

function addAccessible(found: Map<ObjectUri, Set<string>>, objectId: ObjectUri, permission: string): void {
  const permissions = found.get(objectId);
  if (permissions === undefined) found.set(objectId, new Set([permission]));
  else permissions.add(permission);
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

/** Number of objects whose entries are changed without a pause. */
const objectsPerStep = 500;

class MemoryPermissionWriter extends MemoryPermissionReader implements PermissionWriter {
  readonly #unit: MemoryUnit;

  constructor(grants: GrantTable, unit: MemoryUnit) {
    super(grants, unit);
    this.#unit = unit;
  }

  addUserPrincipal(userId: Principal, principal: Principal): Promise<void> {
    return this.access.run(() => this.grants.admit(userId, principal, this.#unit));
  }

  removeUserPrincipal(userId: Principal, principal: Principal): Promise<void> {
    return this.access.run(() => this.grants.expel(userId, principal, this.#unit));
  }

  removePrincipal(principal: Principal): Promise<void> {
    return this.access.run(() => void this.grants.expelAll(principal, this.#unit));
  }

  removePrincipalsBelow(prefix: string): Promise<void> {
    return this.#unit.walk(this.#expelBelow(prefix));
  }

  addPrincipalToAce(objectId: ObjectUri, permission: string, principal: Principal): Promise<void> {
    return this.access.run(() => this.grants.grant(objectId, permission, principal, this.#unit));
  }

  removePrincipalFromAce(objectId: ObjectUri, permission: string, principal: Principal): Promise<void> {
    return this.access.run(() => this.grants.revoke(objectId, permission, principal, this.#unit));
  }

  removePrincipalFromAces(principal: Principal): Promise<void> {
    return this.access.run(() => {
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
    return this.#unit.walk(this.#removeObjects(objectIds));
  }

  deletePermissionsBelow(uri: ObjectUri): Promise<void> {
    return this.access.run(() => this.grants.removeBelow(uri, this.#unit));
  }

  flush(): Promise<void> {
    return this.access.run(() => this.grants.flush(this.#unit));
  }

  *#addAll(entries: Parameters<PermissionWriter['addToAces']>[0]): Steps<void> {
    for (const [index, { objectId, permissions }] of entries.entries()) {
      if (index > 0 && index % objectsPerStep === 0) yield;
      yield* this.grants.add(objectId, permissions, this.#unit);
    }
  }

  *#removeObjects(objectIds: readonly ObjectUri[]): Steps<void> {
    for (let start = 0; start < objectIds.length; start += objectsPerStep) {
      if (start > 0) yield;
      this.grants.removeObjects(objectIds.slice(start, start + objectsPerStep), this.#unit);
    }
  }

  *#expelBelow(prefix: string): Steps<void> {
    let expelled = 0;
    for (const principal of this.grants.principalsWithPrefix(prefix)) {
      expelled += this.grants.expelAll(principal, this.#unit);
      if (expelled < principalsPerStep) continue;
      expelled = 0;
      yield;
    }
  }
}
