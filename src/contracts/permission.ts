// Where access-control entries and group memberships are kept. All ids are plain strings; sets have no order.
// An object id is an object's URI (`/buckets/food`); an entry is (object id, permission name) → principals.
import type { Database, Transaction } from './database.ts';

/** One entry that would grant access: a permission on an object. */
export interface BoundPermission {
  readonly objectId: string;
  readonly permission: string;
}

/** Entries on several objects; `*` in the pattern stands for any text, everything else for itself. */
export interface BoundPattern {
  readonly pattern: string;
  readonly permission: string;
}

/** How to look for objects that somebody has access to. */
export interface AccessibleOptions {
  readonly bound?: readonly BoundPattern[];
  readonly withChildren?: boolean;
  readonly memberOf?: string | undefined;
  readonly limit?: number | undefined;
}

export type ObjectPermissions = Readonly<Record<string, readonly string[]>>;

/** All entries of one object. */
export interface ObjectEntries {
  readonly objectId: string;
  readonly permissions: ObjectPermissions;
}

/** A part of a walk over everything there is. */
export interface WalkPage<T> {
  readonly found: readonly T[];
  /** Where the walk goes on, a text of the backend's own; `undefined`: it has come to its end. */
  readonly next: string | undefined;
}

/** What one user, or `system.Authenticated`, was given. */
export interface Memberships {
  readonly userId: string;
  readonly principals: readonly string[];
}

export interface PermissionReader {
  /** Principals given to the user, and those given to `system.Authenticated`; empty for unknown users. */
  getUserPrincipals(userId: string): Promise<ReadonlySet<string>>;

  /** Principals of one entry; empty when unknown. */
  getObjectPermissionPrincipals(objectId: string, permission: string): Promise<ReadonlySet<string>>;

  /** Union of the principals over all pairs. */
  getAuthorizedPrincipals(bound: readonly BoundPermission[]): Promise<ReadonlySet<string>>;

  /**
   * Whether any of the principals is in any of the entries; `false` for an empty list of entries.
   *
   * @param memberOf a user whose principals, as `getUserPrincipals` gives them, count as well. Whoever has to ask another
   * machine asks for both at once. Default: nobody's
   */
  checkPermission(
    principals: readonly string[],
    bound: readonly BoundPermission[],
    memberOf?: string,
  ): Promise<boolean>;

  /**
   * The objects on which one of the principals has one of the permissions: object id → permission names.
   *
   * @param options.bound patterns to look at; absent: every entry of those principals; empty: nothing
   * @param options.withChildren `false`: `*` stands for text without `/`, so nothing deeper than the pattern is
   * found; default `true`
   * @param options.memberOf a user whose principals count as well, as with `checkPermission`
   * @param options.limit so many objects are enough: where there are more, any of them may be left out as long as so many
   * are found, and of those found, permissions. Default: all
   */
  getAccessibleObjects(
    principals: readonly string[],
    options?: AccessibleOptions,
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>>;

  /** The existing entries of an object, only the named ones when names are given; `{}` when there are none. */
  getObjectPermissions(objectId: string, permissions?: readonly string[]): Promise<ObjectPermissions>;

  /** The same for several objects, in the order of the ids. */
  getObjectsPermissions(
    objectIds: readonly string[],
    permissions?: readonly string[],
  ): Promise<readonly ObjectPermissions[]>;

  /**
   * Walks over all objects that have entries, each with all of them, in an order of the backend's own. What does not
   * change meanwhile comes exactly once. An object that loses its last entry at this moment may come with none.
   *
   * @param from `next` of the page before; `undefined`: from the start
   * @param limit about how many objects are wanted, at least 1; memory use is bounded by it. Fewer may come, and none,
   * before the end
   */
  entries(from: string | undefined, limit: number): Promise<WalkPage<ObjectEntries>>;

  /** The same over all users who have principals, each with all of their own. */
  memberships(from: string | undefined, limit: number): Promise<WalkPage<Memberships>>;
}

/**
 * Writes inside one transaction; reads see the transaction's own writes. Writes take effect in the order in which they are
 * made, also when nobody waits for one before making the next. Locks of the storage of the same transaction count among them,
 * so that entries asked for behind the lock of a list are those that stand under it. A read sees all writes that were made before
 * it; whoever wants none of those that are made after it waits for its answer.
 */
export interface PermissionWriter extends PermissionReader {
  /** Gives the user a principal. Idempotent. */
  addUserPrincipal(userId: string, principal: string): Promise<void>;
  /** Takes a principal from the user; no error when absent. */
  removeUserPrincipal(userId: string, principal: string): Promise<void>;
  /** Takes the principal from every user. */
  removePrincipal(principal: string): Promise<void>;
  /** Takes from every user all principals that start with the prefix, taken literally. */
  removePrincipalsBelow(prefix: string): Promise<void>;

  /** Idempotent. */
  addPrincipalToAce(objectId: string, permission: string, principal: string): Promise<void>;
  /** No error when absent; an entry left without principals is gone. */
  removePrincipalFromAce(objectId: string, permission: string, principal: string): Promise<void>;
  /** Takes the principal out of every entry of every object. */
  removePrincipalFromAces(principal: string): Promise<void>;

  /**
   * Adds principals to entries of several objects at once. Idempotent.
   *
   * @param options.isFresh none of these objects has any of these entries, so nobody looks; should one be there all the
   * same, the unit of work may fail with TransactionConflict, and is run again without saying so
   */
  addToAces(
    entries: readonly { readonly objectId: string; readonly permissions: ObjectPermissions }[],
    options?: { readonly isFresh?: boolean },
  ): Promise<void>;

  /** Replaces the named entries; an empty list deletes that entry, names not given are untouched. */
  replaceObjectPermissions(objectId: string, permissions: ObjectPermissions): Promise<void>;

  /** Deletes all entries of these objects. */
  deleteObjectPermissions(objectIds: readonly string[]): Promise<void>;
  /** Deletes all entries of every object below the URI (`<uri>/…`), nothing of a similarly named neighbour. */
  deletePermissionsBelow(uri: string): Promise<void>;

  /** Deletes everything. */
  flush(): Promise<void>;
}

export interface PermissionBackend {
  readonly database: Database;
  /** Reads of committed state, outside any unit of work. */
  readonly reader: PermissionReader;
  /** Reads and writes inside a transaction of `database`. */
  writer(transaction: Transaction): PermissionWriter;
}
