// Permission entries and memberships, with an index for each kind of query, and the only code that changes them. Every
// change belongs to a unit of work, which can undo it.
import { runWithPauses, type Steps } from '../../base/steps.ts';
import { requireStorable } from '../../contracts/errors.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import { folderOf, type ObjectPattern } from '../../core/permissions/object-pattern.ts';
import { AUTHENTICATED, toPrincipal, type Principal, type UserId } from '../../core/permissions/principals.ts';
import { createTextMap, pairsWithPrefix, type OrderedMap } from './ordered-map.ts';
import { ownEntries, ownNames, soleEntries, soleNames, type Entries } from './sole-entries.ts';
import type { MemoryUnit } from './unit-queue.ts';

/** permission → principals, of one object. */
export type ObjectEntries = ReadonlyMap<string, ReadonlySet<Principal>>;

/** object id → permissions, of one principal in one folder. */
type Granted = Map<ObjectUri, Set<string>>;

/** The objects with entries in one folder. Deletion of the parent removes it in one step, whatever it holds. */
class Folder {
  readonly objects = new Map<ObjectUri, Entries>();
  /** principal → objects and permissions that it is granted here. */
  readonly byPrincipal = new Map<Principal, Granted>();
}

const noPrincipals: ReadonlySet<Principal> = new Set();

class Grants {
  /** Folders by their URIs; none is empty. */
  readonly folders = new Map<string, Folder>();
  /** The folders in the order of their URIs, so that a search below a URI visits no others. */
  readonly ordered: OrderedMap<string, Folder> = createTextMap();
  /** principal → folders in which it is granted something, or was until their removal. */
  readonly places = new Map<Principal, OrderedMap<string, undefined>>();
  readonly principalsOf = new Map<Principal, Set<Principal>>();
  /** principal → users who have it. */
  readonly usersOf: OrderedMap<string, Set<Principal>> = createTextMap();
}

/** Background work that no request waits for. It runs in steps, and requests run between them. */
class Sweeper {
  readonly #waiting: Steps<void>[] = [];
  #isRunning = false;

  /** Adds work, which runs after all work that was added before. */
  add(steps: Steps<void>): void {
    this.#waiting.push(steps);
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let steps = this.#waiting.shift(); steps !== undefined; steps = this.#waiting.shift()) {
      await runWithPauses(steps, 'normal', (step) => step());
    }
    this.#isRunning = false;
  }
}

export class GrantTable {
  #grants = new Grants();
  readonly #sweeper = new Sweeper();

  entriesOf(objectId: ObjectUri): ObjectEntries | undefined {
    return findEntries(this.#grants, objectId);
  }

  principalsOf(userId: Principal): ReadonlySet<Principal> {
    return this.#grants.principalsOf.get(userId) ?? noPrincipals;
  }

  /** Returns the principals that count for the user: those of the user and those of `system.Authenticated`. */
  givenTo(userId: UserId): readonly ReadonlySet<Principal>[] {
    return [userId, AUTHENTICATED].flatMap((user) => this.#grants.principalsOf.get(user) ?? []);
  }

  /** Returns the ids of all objects that have entries. */
  *objects(): Iterable<ObjectUri> {
    for (const { objects } of this.#grants.folders.values()) yield* objects.keys();
  }

  /** Returns all users who have principals. */
  users(): Iterable<Principal> {
    return this.#grants.principalsOf.keys();
  }

  /** Returns the principals of any user that start with the prefix. */
  principalsWithPrefix(prefix: string): readonly Principal[] {
    return pairsWithPrefix(this.#grants.usersOf, prefix).map(([principal]) => toPrincipal(principal));
  }

  /** Yields the objects and permissions that the principal is granted, in the folders that matching objects lie in or in all. */
  *grantedTo(principal: Principal, pattern?: ObjectPattern): Iterable<readonly [ObjectUri, ReadonlySet<string>]> {
    const places = this.#grants.places.get(principal);
    if (places === undefined) return;
    const { folder, flat } = pattern ?? everywhere;
    const uris = flat ? [folder] : pairsWithPrefix(places, folder).map(([uri]) => uri);
    for (const uri of uris) {
      yield* this.#grants.folders.get(uri)?.byPrincipal.get(principal) ?? [];
    }
  }

  /** Removes all entries of objects below the URI. */
  removeBelow(uri: ObjectUri, unit: MemoryUnit): void {
    const grants = this.#grants;
    const removed = pairsWithPrefix(grants.ordered, `${uri}/`);
    if (removed.length === 0) return;
    for (const [place] of removed) removeFolder(grants, place);
    unit.record(() => {
      for (const [place, folder] of removed) {
        addFolder(grants, place, folder);
        for (const principal of folder.byPrincipal.keys()) addPlace(grants, principal, place);
      }
    });
    unit.afterCommit(() => this.#sweeper.add(sweepPlaces(grants, removed)));
  }

  /** Removes all entries of the objects. */
  removeObjects(objectIds: readonly ObjectUri[], unit: MemoryUnit): void {
    const grants = this.#grants;
    const removed: (readonly [objectId: ObjectUri, entries: ObjectEntries])[] = [];
    for (const objectId of objectIds) {
      const entries = removeObject(grants, objectId);
      if (entries !== undefined) removed.push([objectId, entries]);
    }
    if (removed.length === 0) return;
    unit.record(() => {
      for (const [objectId, entries] of removed) {
        for (const [permission, principals] of entries) {
          for (const principal of principals) grant(grants, objectId, permission, principal);
        }
      }
    });
  }

  grant(objectId: ObjectUri, permission: string, principal: Principal, unit: MemoryUnit): void {
    requireStorable(objectId);
    requireStorable(permission);
    requireStorable(principal);
    const grants = this.#grants;
    if (!grant(grants, objectId, permission, principal)) return;
    unit.record(() => revoke(grants, objectId, permission, principal));
  }

  /** Adds principals to entries of the object. */
  *add(objectId: ObjectUri, permissions: ObjectPermissions, unit: MemoryUnit): Steps<void> {
    for (const permission of Object.keys(permissions)) {
      yield* this.#grantAll(objectId, permission, permissions[permission]!, unit);
    }
  }

  /** Replaces the named entries of the object; others stay. */
  *replace(objectId: ObjectUri, permissions: ObjectPermissions, unit: MemoryUnit): Steps<void> {
    for (const permission of Object.keys(permissions)) {
      const keep = new Set(permissions[permission]);
      let revoked = 0;
      for (const principal of this.entriesOf(objectId)?.get(permission) ?? []) {
        if (keep.has(principal)) continue;
        this.revoke(objectId, permission, principal, unit);
        if (++revoked % principalsPerStep === 0) yield;
      }
      yield* this.#grantAll(objectId, permission, keep, unit);
    }
  }

  revoke(objectId: ObjectUri, permission: string, principal: Principal, unit: MemoryUnit): void {
    const grants = this.#grants;
    if (!findEntries(grants, objectId)?.get(permission)?.has(principal)) return;
    revoke(grants, objectId, permission, principal);
    unit.record(() => grant(grants, objectId, permission, principal));
  }

  admit(userId: Principal, principal: Principal, unit: MemoryUnit): void {
    if (this.principalsOf(userId).has(principal)) return;
    requireStorable(userId);
    requireStorable(principal);
    this.#admit(userId, principal);
    unit.record(() => this.#expel(userId, principal));
  }

  expel(userId: Principal, principal: Principal, unit: MemoryUnit): void {
    if (!this.principalsOf(userId).has(principal)) return;
    this.#expel(userId, principal);
    unit.record(() => this.#admit(userId, principal));
  }

  /** Removes a principal from all users, and returns their number. */
  expelAll(principal: Principal, unit: MemoryUnit): number {
    const { principalsOf, usersOf } = this.#grants;
    const users = usersOf.get(principal);
    if (users === undefined) return 0;
    usersOf.delete(principal);
    for (const userId of users) removeFrom(principalsOf, userId, principal);
    unit.record(() => {
      usersOf.set(principal, users);
      for (const userId of users) addTo(principalsOf, userId, principal);
    });
    return users.size;
  }

  flush(unit: MemoryUnit): void {
    const grants = this.#grants;
    this.#grants = new Grants();
    unit.record(() => (this.#grants = grants));
  }

  *#grantAll(objectId: ObjectUri, permission: string, principals: Iterable<Principal>, unit: MemoryUnit): Steps<void> {
    let granted = 0;
    for (const principal of principals) {
      this.grant(objectId, permission, principal, unit);
      if (++granted % principalsPerStep === 0) yield;
    }
  }

  #admit(userId: Principal, principal: Principal): void {
    addTo(this.#grants.principalsOf, userId, principal);
    addTo(this.#grants.usersOf, principal, userId);
  }

  #expel(userId: Principal, principal: Principal): void {
    removeFrom(this.#grants.principalsOf, userId, principal);
    removeFrom(this.#grants.usersOf, principal, userId);
  }
}

/** Number of principals in one step of granting or revoking, which takes some milliseconds. */
export const principalsPerStep = 500;

/** The pattern of a search without a pattern: all folders. */
const everywhere = { folder: '', flat: false };

function findEntries({ folders }: Grants, objectId: ObjectUri): Entries | undefined {
  return folders.get(folderOf(objectId))?.objects.get(objectId);
}

/** Grants a permission; returns whether it is new. */
function grant(grants: Grants, objectId: ObjectUri, permission: string, principal: Principal): boolean {
  const uri = folderOf(objectId);
  const folder = grants.folders.get(uri) ?? addFolder(grants, uri, new Folder());
  const entries = folder.objects.get(objectId);
  if (entries === undefined) folder.objects.set(objectId, soleEntries(permission, principal));
  else if (entries.get(permission)?.has(principal)) return false;
  else addTo(ownEntries(folder.objects, objectId, entries), permission, principal);
  let granted = folder.byPrincipal.get(principal);
  if (granted === undefined) {
    folder.byPrincipal.set(principal, (granted = new Map<ObjectUri, Set<string>>()));
    addPlace(grants, principal, uri);
  }
  const names = granted.get(objectId);
  if (names === undefined) granted.set(objectId, soleNames(permission));
  else ownNames(granted, objectId, names).add(permission);
  return true;
}

function revoke(grants: Grants, objectId: ObjectUri, permission: string, principal: Principal): void {
  const uri = folderOf(objectId);
  const folder = grants.folders.get(uri)!;
  const entries = ownEntries(folder.objects, objectId, folder.objects.get(objectId)!);
  removeFrom(entries, permission, principal);
  if (entries.size === 0) folder.objects.delete(objectId);
  if (folder.objects.size === 0) removeFolder(grants, uri);
  const granted = folder.byPrincipal.get(principal)!;
  const names = ownNames(granted, objectId, granted.get(objectId)!);
  names.delete(permission);
  if (names.size === 0) granted.delete(objectId);
  if (granted.size === 0) dropPrincipal(grants, uri, folder, principal);
}

/** Removes an object with its entries from its folder, and returns the entries unchanged. */
function removeObject(grants: Grants, objectId: ObjectUri): ObjectEntries | undefined {
  const uri = folderOf(objectId);
  const folder = grants.folders.get(uri);
  const entries = folder?.objects.get(objectId);
  if (folder === undefined || entries === undefined) return undefined;
  folder.objects.delete(objectId);
  if (folder.objects.size === 0) removeFolder(grants, uri);
  for (const principals of entries.values()) {
    for (const principal of principals) {
      const granted = folder.byPrincipal.get(principal);
      // The object is gone already when the principal has another permission on it.
      if (granted?.delete(objectId) && granted.size === 0) dropPrincipal(grants, uri, folder, principal);
    }
  }
  return entries;
}

function dropPrincipal(grants: Grants, uri: string, folder: Folder, principal: Principal): void {
  folder.byPrincipal.delete(principal);
  removePlace(grants, principal, uri);
}

function addFolder({ folders, ordered }: Grants, uri: string, folder: Folder): Folder {
  folders.set(uri, folder);
  ordered.set(uri, folder);
  return folder;
}

function removeFolder({ folders, ordered }: Grants, uri: string): void {
  folders.delete(uri);
  ordered.delete(uri);
}

function addPlace({ places }: Grants, principal: Principal, uri: string): void {
  let uris = places.get(principal);
  if (uris === undefined) places.set(principal, (uris = createTextMap<undefined>()));
  uris.set(uri, undefined);
}

function removePlace({ places }: Grants, principal: Principal, uri: string): void {
  const uris = places.get(principal);
  uris?.delete(uri);
  if (uris?.isEmpty) places.delete(principal);
}

/** Number of principals in one step of a sweep. */
const sweptAtOnce = 1000;

/** Removes deleted folders from the places of their principals, unless a new folder exists there. */
function* sweepPlaces(grants: Grants, removed: readonly (readonly [uri: string, folder: Folder])[]): Steps<void> {
  let count = 0;
  for (const [uri, { byPrincipal }] of removed) {
    for (const principal of byPrincipal.keys()) {
      if (!grants.folders.get(uri)?.byPrincipal.has(principal)) removePlace(grants, principal, uri);
      if (++count % sweptAtOnce === 0) yield;
    }
  }
}

interface SetMap<K> {
  get(key: K): Set<Principal> | undefined;
  set(key: K, value: Set<Principal>): unknown;
  delete(key: K): unknown;
}

function addTo<K>(map: SetMap<K>, key: K, member: Principal): void {
  const members = map.get(key);
  if (members === undefined) map.set(key, new Set([member]));
  else members.add(member);
}

/** Removes a member, and the set when it becomes empty. */
function removeFrom<K>(map: SetMap<K>, key: K, member: Principal): void {
  const members = map.get(key);
  if (members?.delete(member) && members.size === 0) map.delete(key);
}
