// Permission entries and group memberships. All ids are plain strings, and sets have no order. An object id is the URI of
// an object (`/buckets/food`). An entry maps (object id, permission name) to principals.
import type { Database, Transaction } from './database.ts';

/** The name of one entry: a permission on an object. */
export interface BoundPermission {
  readonly objectId: string;
  readonly permission: string;
}

/** The names of entries of several objects; `*` in the pattern matches any text, every other character itself. */
export interface BoundPattern {
  readonly pattern: string;
  readonly permission: string;
}

/** Options of the search for objects that a caller may access. */
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

/** A part of a walk over all entries or memberships. */
export interface WalkPage<T> {
  readonly found: readonly T[];
  /** Position at which the walk continues, a text of the backend's own; `undefined` at the end. */
  readonly next: string | undefined;
}

/** The principals that one user, or `system.Authenticated`, was given. */
export interface Memberships {
  readonly userId: string;
  readonly principals: readonly string[];
}

export interface PermissionReader {
  /** Returns the principals of the user and of `system.Authenticated`; for unknown users only the latter. */
  getUserPrincipals(userId: string): Promise<ReadonlySet<string>>;

  /** Returns the principals of one entry; empty when unknown. */
  getObjectPermissionPrincipals(objectId: string, permission: string): Promise<ReadonlySet<string>>;

  /** Returns the union of the principals of all these entries. */
  getAuthorizedPrincipals(bound: readonly BoundPermission[]): Promise<ReadonlySet<string>>;

  /**
   * Returns whether any of the principals is in any of the entries; `false` when `bound` is empty.
   *
   * @param memberOf a user whose principals, as `getUserPrincipals` returns them, count too. A backend on another machine
   *   reads both with one request. Default: no user
   */
  checkPermission(
    principals: readonly string[],
    bound: readonly BoundPermission[],
    memberOf?: string,
  ): Promise<boolean>;

  /**
   * Returns the objects on which one of the principals has one of the permissions: object id → permission names.
   *
   * @param options.bound patterns to look at; absent: every entry of those principals; empty: nothing
   * @param options.withChildren `false`: `*` matches text without `/`, so nothing deeper than the pattern is found. Default
   *   `true`
   * @param options.memberOf a user whose principals count too, as in `checkPermission`
   * @param options.limit number of objects that is enough. When more exist, any of them may be left out as long as this
   *   many are found, and permissions of those found too. Default: all
   */
  getAccessibleObjects(
    principals: readonly string[],
    options?: AccessibleOptions,
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>>;

  /** Returns the existing entries of an object, only the named ones when names are given; `{}` when it has none. */
  getObjectPermissions(objectId: string, permissions?: readonly string[]): Promise<ObjectPermissions>;

  /** Returns the entries of several objects, as `getObjectPermissions` does, in the order of the ids. */
  getObjectsPermissions(
    objectIds: readonly string[],
    permissions?: readonly string[],
  ): Promise<readonly ObjectPermissions[]>;

  /**
   * Walks over all objects that have entries, each with all of them, in an order of the backend's own. An object that does
   * not change during the walk is returned exactly once. An object that loses its last entry during the walk may be
   * returned without entries.
   *
   * @param from `next` of the previous page; `undefined`: the start
   * @param limit approximate number of objects, at least 1, which bounds the memory used. A page before the end may have
   *   fewer, or none
   */
  entries(from: string | undefined, limit: number): Promise<WalkPage<ObjectEntries>>;

  /** Walks, as `entries` does, over all users who have principals, each with all of their own. */
  memberships(from: string | undefined, limit: number): Promise<WalkPage<Memberships>>;
}

/**
 * Writes inside one transaction. Reads see the transaction's own writes.
 *
 * Writes take effect in the order of the calls, even when the caller does not await one before the next. Locks of the
 * storage of the same transaction take part in this order, so entries read after the lock of a list are read under it. A
 * read sees all writes called before it. To keep later writes out, the caller awaits the read first.
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
   * @param options.isFresh whether none of these objects has any of these entries, so that the backend need not look. When
   *   one has, the unit of work may fail with TransactionConflict, and is retried without this. Default: no
   */
  addToAces(
    entries: readonly { readonly objectId: string; readonly permissions: ObjectPermissions }[],
    options?: { readonly isFresh?: boolean },
  ): Promise<void>;

  /** Replaces the named entries. An empty list deletes the entry; other entries stay. */
  replaceObjectPermissions(objectId: string, permissions: ObjectPermissions): Promise<void>;

  /** Deletes all entries of these objects. */
  deleteObjectPermissions(objectIds: readonly string[]): Promise<void>;
  /** Deletes all entries of every object below the URI (`<uri>/…`). Neighbours with a similar name keep theirs. */
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
