// Access-control entries and memberships, with an index for each way they are asked for, and the only code that
// changes them. Every change is made with the unit of work it belongs to and can be taken back by it.
import { folderOf, type ObjectPattern } from '../../core/permissions/object-pattern.ts';
import { AUTHENTICATED } from '../../core/permissions/principals.ts';
import { createTextMap, pairsWithPrefix, type OrderedMap } from './ordered-map.ts';
import type { MemoryUnit } from './unit-queue.ts';

/** permission → principals, of one object. */
export type ObjectEntries = ReadonlyMap<string, ReadonlySet<string>>;

/** object id → permissions, of one principal in one folder. */
type Granted = Map<string, Set<string>>;

const nobody: ReadonlySet<string> = new Set();

class Grants {
  readonly byObject = new Map<string, Map<string, Set<string>>>();
  /** folder → its objects that have entries. */
  readonly folders: OrderedMap<string, Set<string>> = createTextMap();
  /** principal → folder → what it is granted there. */
  readonly byPrincipal = new Map<string, OrderedMap<string, Granted>>();
  readonly principalsOf = new Map<string, Set<string>>();
  /** principal → users who have it. */
  readonly usersOf: OrderedMap<string, Set<string>> = createTextMap();
}

export class GrantTable {
  #grants = new Grants();

  entriesOf(objectId: string): ObjectEntries | undefined {
    return this.#grants.byObject.get(objectId);
  }

  principalsOf(userId: string): ReadonlySet<string> {
    return this.#grants.principalsOf.get(userId) ?? nobody;
  }

  /** What counts for the user: the principals given to the user, and those given to everybody who is authenticated. */
  givenTo(userId: string): readonly ReadonlySet<string>[] {
    return [userId, AUTHENTICATED].flatMap((user) => this.#grants.principalsOf.get(user) ?? []);
  }

  usersOf(principal: string): ReadonlySet<string> {
    return this.#grants.usersOf.get(principal) ?? nobody;
  }

  /** Ids of all objects that have entries. */
  objects(): Iterable<string> {
    return this.#grants.byObject.keys();
  }

  /** All users who have principals. */
  users(): Iterable<string> {
    return this.#grants.principalsOf.keys();
  }

  /** The principals held by anybody that start with the prefix. */
  principalsWithPrefix(prefix: string): readonly string[] {
    return pairsWithPrefix(this.#grants.usersOf, prefix).map(([principal]) => principal);
  }

  /** The objects with entries below the URI. */
  objectsBelow(uri: string): readonly string[] {
    return pairsWithPrefix(this.#grants.folders, `${uri}/`).flatMap(([, objects]) => [...objects]);
  }

  /** What the principal is granted on objects that match, or on all of them. */
  *grantedTo(principal: string, pattern?: ObjectPattern): Iterable<readonly [string, ReadonlySet<string>]> {
    const folders = this.#grants.byPrincipal.get(principal);
    if (folders === undefined) return;
    if (pattern === undefined) {
      for (const granted of folders.values()) yield* granted;
      return;
    }
    const { folder, flat } = pattern;
    const places = flat ? [folders.get(folder)] : pairsWithPrefix(folders, folder).map(([, granted]) => granted);
    for (const granted of places) {
      if (granted === undefined) continue;
      for (const pair of granted) if (pattern.matches(pair[0])) yield pair;
    }
  }

  grant(objectId: string, permission: string, principal: string, unit: MemoryUnit): void {
    if (this.#grants.byObject.get(objectId)?.get(permission)?.has(principal)) return;
    this.#grant(objectId, permission, principal);
    unit.record(() => this.#revoke(objectId, permission, principal));
  }

  revoke(objectId: string, permission: string, principal: string, unit: MemoryUnit): void {
    if (!this.#grants.byObject.get(objectId)?.get(permission)?.has(principal)) return;
    this.#revoke(objectId, permission, principal);
    unit.record(() => this.#grant(objectId, permission, principal));
  }

  admit(userId: string, principal: string, unit: MemoryUnit): void {
    if (this.principalsOf(userId).has(principal)) return;
    this.#admit(userId, principal);
    unit.record(() => this.#expel(userId, principal));
  }

  expel(userId: string, principal: string, unit: MemoryUnit): void {
    if (!this.principalsOf(userId).has(principal)) return;
    this.#expel(userId, principal);
    unit.record(() => this.#admit(userId, principal));
  }

  flush(unit: MemoryUnit): void {
    const grants = this.#grants;
    this.#grants = new Grants();
    unit.record(() => (this.#grants = grants));
  }

  #grant(objectId: string, permission: string, principal: string): void {
    const { byObject, folders, byPrincipal } = this.#grants;
    const folder = folderOf(objectId);
    let entries = byObject.get(objectId);
    if (entries === undefined) {
      byObject.set(objectId, (entries = new Map<string, Set<string>>()));
      addTo(folders, folder, objectId);
    }
    addTo(entries, permission, principal);
    let granted = byPrincipal.get(principal);
    if (granted === undefined) byPrincipal.set(principal, (granted = createTextMap<Granted>()));
    let here = granted.get(folder);
    if (here === undefined) granted.set(folder, (here = new Map<string, Set<string>>()));
    addTo(here, objectId, permission);
  }

  #revoke(objectId: string, permission: string, principal: string): void {
    const { byObject, folders, byPrincipal } = this.#grants;
    const folder = folderOf(objectId);
    const entries = byObject.get(objectId)!;
    removeFrom(entries, permission, principal);
    if (entries.size === 0) {
      byObject.delete(objectId);
      removeFrom(folders, folder, objectId);
    }
    const granted = byPrincipal.get(principal)!;
    const here = granted.get(folder)!;
    removeFrom(here, objectId, permission);
    if (here.size === 0) granted.delete(folder);
    if (granted.isEmpty) byPrincipal.delete(principal);
  }

  #admit(userId: string, principal: string): void {
    addTo(this.#grants.principalsOf, userId, principal);
    addTo(this.#grants.usersOf, principal, userId);
  }

  #expel(userId: string, principal: string): void {
    removeFrom(this.#grants.principalsOf, userId, principal);
    removeFrom(this.#grants.usersOf, principal, userId);
  }
}

interface SetMap {
  get(key: string): Set<string> | undefined;
  set(key: string, value: Set<string>): unknown;
  delete(key: string): unknown;
}

function addTo(map: SetMap, key: string, member: string): void {
  const members = map.get(key);
  if (members === undefined) map.set(key, new Set([member]));
  else members.add(member);
}

/** A set left empty goes, too. */
function removeFrom(map: SetMap, key: string, member: string): void {
  const members = map.get(key);
  if (members?.delete(member) && members.size === 0) map.delete(key);
}
