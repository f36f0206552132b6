// Storage of access-control entries and group memberships. All ids are strings; sets have no order. An object id is the URI
// of an object (`/buckets/food`); an entry maps (object id, permission name) to principals.
import type { ObjectUri } from '../core/objects/uris.ts';
import type { Principal, UserId } from '../core/permissions/principals.ts';
import type { Database, Transaction } from './database.ts';
import type { Requester } from './requester.ts';

/** Key of an entry: a permission on an object. */
export interface BoundPermission {
  readonly objectId: ObjectUri;
  readonly permission: string;
}

/** Key of entries on several objects; `*` in the pattern matches any text. */
export interface BoundPattern {
  readonly pattern: string;
  readonly permission: string;
}

/**
 * Reserves memory for many objects, given an upper limit of their number. An exception ends the read before the objects are in
 * memory.
 */
export type RequireRoomForObjects = (objects: number) => void;

/** Options of `getAccessibleObjects`. */
export interface AccessibleOptions {
  readonly bound?: readonly BoundPattern[];
  readonly withChildren?: boolean;
  readonly lists?: readonly string[] | undefined;
  readonly memberOf?: UserId | undefined;
  readonly limit?: number | undefined;
  readonly requireRoom?: RequireRoomForObjects | undefined;
}

export type ObjectPermissions = Readonly<Record<string, readonly Principal[]>>;

/** All entries of one object. */
export interface ObjectEntries {
  readonly objectId: ObjectUri;
  readonly permissions: ObjectPermissions;
}

/** A page of a scan over all data. */
export interface WalkPage<T> {
  readonly found: readonly T[];
  /** Continuation token of the backend; `undefined` at the end. */
  readonly next: string | undefined;
}

/** The principals of one user, or of `system.Authenticated`. */
export interface Memberships {
  readonly userId: Principal;
  readonly principals: readonly Principal[];
}

export interface PermissionReader {
  /** Returns the principals of the user and those of `system.Authenticated`; for unknown users only the latter. */
  getUserPrincipals(userId: UserId): Promise<ReadonlySet<Principal>>;

  /** Returns the union of the principals of all given entries. */
  getAuthorizedPrincipals(bound: readonly BoundPermission[]): Promise<ReadonlySet<Principal>>;

  /**
   * Whether any of the principals is in any of the entries; `false` for an empty list of entries.
   *
   * @param memberOf a user whose principals, as from `getUserPrincipals`, count too. Remote backends fetch both in one round
   * trip. Default: none
   */
  checkPermission(
    principals: readonly Principal[],
    bound: readonly BoundPermission[],
    memberOf?: UserId,
  ): Promise<boolean>;

  /**
   * Returns the objects on which one of the principals has one of the permissions: object id → permission names.
   *
   * @param options.bound patterns to match; absent: every entry of those principals; empty: no entry
   * @param options.withChildren whether `*` also matches `/`, and so finds descendants; default `true`
   * @param options.lists names of lists, such as `collections`: only objects of these are returned. Without patterns only. Objects
   *   of other lists take no memory. Default: all
   * @param options.memberOf a user whose principals count too, as with `checkPermission`
   * @param options.limit number of objects that is enough. When more exist, the result has at least this many of them, and
   *   may lack others, and permissions of those that it has. Default: all
   * @param options.requireRoom called when the first few thousand objects are not all, before the others are read
   */
  getAccessibleObjects(
    principals: readonly Principal[],
    options?: AccessibleOptions,
  ): Promise<ReadonlyMap<ObjectUri, ReadonlySet<string>>>;

  /** Returns the entries of an object; `{}` for none. */
  getObjectPermissions(objectId: ObjectUri): Promise<ObjectPermissions>;

  /** Returns the entries of several objects in the order of the ids, only the named ones when names are given. */
  getObjectsPermissions(
    objectIds: readonly ObjectUri[],
    permissions?: readonly string[],
  ): Promise<readonly ObjectPermissions[]>;

  /**
   * Returns a page of all objects with entries, each with all its entries, in an order of the backend. Unchanged objects appear
   * exactly once. An object that loses its last entry during the scan may appear without entries.
   *
   * @param from `next` of the previous page; `undefined` for the first page
   * @param limit approximate number of objects, at least 1; bounds the memory use. Pages before the end may be smaller or empty
   */
  entries(from: string | undefined, limit: number): Promise<WalkPage<ObjectEntries>>;

  /** Returns a page of all users with principals, each with all of them, as `entries` does for objects. */
  memberships(from: string | undefined, limit: number): Promise<WalkPage<Memberships>>;
}

/**
 * Writes inside one transaction; reads see its own writes. Writes take effect in the order of the calls, even if the caller
 * does not wait for each. The same order includes locks of the storage in this transaction: a read of entries after the lock
 * of a list sees the entries under that lock. A read sees all writes made before it. It may also see later writes, unless the
 * caller waits for its result first.
 */
export interface PermissionWriter extends PermissionReader {
  /** Adds a principal to the user, or to `system.Authenticated`. Idempotent. */
  addUserPrincipal(member: Principal, principal: Principal): Promise<void>;
  /** Removes a principal from the user; no error when it is absent. */
  removeUserPrincipal(member: Principal, principal: Principal): Promise<void>;
  /** Removes the principal from every user. */
  removePrincipal(principal: Principal): Promise<void>;
  /** Removes from every user all principals that start with the literal prefix. */
  removePrincipalsBelow(prefix: string): Promise<void>;

  /** Adds a principal to an entry. Idempotent. */
  addPrincipalToAce(objectId: ObjectUri, permission: string, principal: Principal): Promise<void>;
  /** Removes a principal from an entry; no error when it is absent. An entry without principals ceases to exist. */
  removePrincipalFromAce(objectId: ObjectUri, permission: string, principal: Principal): Promise<void>;
  /** Removes the principal from every entry of every object. */
  removePrincipalFromAces(principal: Principal): Promise<void>;

  /**
   * Adds principals to entries of several objects. Idempotent.
   *
   * @param options.isFresh asserts that none of these entries exists, so no lookup is needed. If one does exist, the unit of
   * work may fail with TransactionConflict and is retried without this option
   */
  addToAces(
    entries: readonly { readonly objectId: ObjectUri; readonly permissions: ObjectPermissions }[],
    options?: { readonly isFresh?: boolean },
  ): Promise<void>;

  /** Replaces the named entries. An empty list deletes an entry; other entries are unchanged. */
  replaceObjectPermissions(objectId: ObjectUri, permissions: ObjectPermissions): Promise<void>;

  /** Deletes all entries of these objects. */
  deleteObjectPermissions(objectIds: readonly ObjectUri[]): Promise<void>;
  /** Deletes all entries of every object below the URI (`<uri>/…`), and of no object whose URI only shares the prefix. */
  deletePermissionsBelow(uri: ObjectUri): Promise<void>;

  /** Deletes everything. */
  flush(): Promise<void>;
}

export interface PermissionBackend {
  readonly database: Database;
  /** Reads committed state, outside any unit of work. */
  readonly reader: PermissionReader;
  /** Returns a reader like `reader` whose long reads share turns with those of other parties. Absent: no read takes turns. */
  readonly readerFor?: (requester: Requester) => PermissionReader;
  /** Returns a reader and writer inside a transaction of `database`. */
  writer(transaction: Transaction): PermissionWriter;
}
