// Storage of objects, tombstones and list clocks. All backends give the same results: the suite in `testing/` is the
// definition, and the query evaluator in `core/query` is the reference for filters and sorting.
import type { JoinedEntries } from '../core/objects/page-text.ts';
import type { ListKey, StoredEntry, StoredObject, Tombstone } from '../core/objects/stored.ts';
import type { PageQuery, Selection } from '../core/query/ast.ts';
import type { Database, Transaction } from './database.ts';

export interface Page {
  /** Clock of the list in the same snapshot as the entries; `undefined` when the list was never read or written. */
  readonly timestamp: number | undefined;
  /**
   * Horizon of the list in that snapshot: the highest timestamp of a deletion without a tombstone, because the tombstone was
   * purged or never existed. 0 when every deletion still has its tombstone.
   */
  readonly horizon: number;
  /** At most `limit` entries in the requested order. */
  readonly entries: readonly StoredEntry[];
  /** Whether more entries follow the last one. */
  readonly more: boolean;
}

/** A page with its entries joined to one text, in the form for clients. */
export interface PageText extends Omit<Page, 'entries'>, JoinedEntries {}

/** A locked list and one of its objects. */
export interface LockedState {
  readonly timestamp: number | undefined;
  /** The live object, when it exists. */
  readonly object: StoredObject | undefined;
  /** The tombstone, when the object was deleted. */
  readonly tombstone: Tombstone | undefined;
}

/** An object to create, without its timestamp. */
export interface NewObject {
  readonly id: string;
  /** Compact JSON of the attributes, without `id` and `last_modified`. */
  readonly text: string;
}

/** Selection of tombstones to purge; see `purgeDeleted`. */
export interface PurgeOptions {
  readonly kind?: string;
  readonly parent?: string;
  readonly before?: number;
  readonly maxRetained?: number;
  readonly limit?: number;
}

/** Number of objects and tombstones of a kind in all its lists. */
export interface KindCount {
  readonly objects: number;
  readonly tombstones: number;
}

/** Clock, horizon and counts of a list. */
export interface ListState extends ListKey {
  readonly timestamp: number;
  /** See `Page.horizon`. */
  readonly horizon: number;
  /** Number of live objects. */
  readonly live: number;
  /** Number of tombstones. */
  readonly dead: number;
}

/** The target state of a part of a list, independent of the current time. */
export interface Restoration {
  /** The clock advances to this, or to the highest timestamp of the entries; it never moves back. */
  readonly clock: number;
  /** Live objects and tombstones, stored unchanged; each id and each timestamp at most once. */
  readonly entries: readonly StoredEntry[];
  /** The horizon advances to this; it never moves back. Default: unchanged. */
  readonly horizon?: number | undefined;
  /** Ids whose objects and tombstones are removed; none of those in `entries`. Default: none. */
  readonly gone?: readonly string[];
  /**
   * Asserts that the list has none of the ids, as in an initial import, so no lookup is needed. If one does exist, the unit of
   * work may fail with TransactionConflict and is retried without this option. Default: no.
   */
  readonly isFresh?: boolean;
}

export interface Deletion {
  readonly old: StoredObject;
  readonly tombstone: Tombstone;
}

export interface StorageReader {
  /** Returns the live object, or `undefined`; tombstones are not found. */
  get(list: ListKey, id: string): Promise<StoredObject | undefined>;

  /** Returns one page of a list, with entries and clock from one snapshot. The page bounds the memory use. */
  listAll(list: ListKey, query: PageQuery): Promise<Page>;

  /**
   * Returns the page of `listAll` with its entries joined to one text, which a backend may cache or the database may produce.
   * The page ends early when the text would be too long for one response.
   */
  listText(list: ListKey, query: PageQuery): Promise<PageText>;

  /** Counts the selected entries. Without filters and ids the time does not depend on the size of the list. */
  countAll(list: ListKey, selection: Selection): Promise<number>;

  /**
   * Counts live objects and tombstones of each kind; kinds with neither may be absent. The time does not depend on the size of
   * the lists.
   */
  countKinds(): Promise<ReadonlyMap<string, KindCount>>;

  /** Returns the clock of the list, or `undefined` when it was never read or written. */
  resourceTimestamp(list: ListKey): Promise<number | undefined>;

  /** Returns the clocks of all lists of a kind that have one: parent → timestamp. */
  allResourceTimestamps(kind: string): Promise<ReadonlyMap<string, number>>;

  /** Returns the parents of all lists of a kind with live objects, in any order. */
  listParents(kind: string): Promise<readonly string[]>;

  /**
   * Returns one page of all lists with a clock, of all kinds, including empty ones. Ordered by parent, then by kind, both by
   * code point: a parent comes before its descendants.
   *
   * @param after the list to continue after, which may no longer exist; `undefined` for the first page
   * @param limit number of lists, at least 1; fewer at the end
   */
  lists(after: ListKey | undefined, limit: number): Promise<readonly ListState[]>;
}

/**
 * Writes inside one transaction; reads see its own writes. Writes take effect in the order of the calls, even if the caller
 * does not wait for each. The caller must wait for writes to many objects (`deleteAll` and the methods after it). A read sees
 * all writes made before it. It may also see later writes, unless the caller waits for its result first.
 *
 * Timestamps: R is the clock of the list and `now` the time. A write without a given timestamp, or with one equal to R, gets
 * max(now, R + 1), which becomes the clock. A given timestamp above R becomes the clock too; one below R is used as it is and
 * does not change the clock. No two entries of a list, including tombstones, share a timestamp. A list is locked from the
 * first locking call until the transaction ends, so its timestamps become visible in ascending order.
 */
export interface StorageWriter extends StorageReader {
  /** Locks the list, and reads the object with the id, if one is given, under the lock. */
  lock(list: ListKey, id?: string): Promise<LockedState>;

  /**
   * Returns the live object, or `undefined`, and prevents its deletion and that of its ancestors until the transaction ends.
   * Other transactions may change it and lock it shared too. So objects below it never outlive it.
   *
   * @param below a list at or below the URI of the object to which the unit will write; a backend whose deletions lock such
   *   lists first may lock it instead of the object
   */
  lockShared(list: ListKey, id: string, below?: ListKey): Promise<StoredObject | undefined>;

  /** Returns the clock of the list. A missing clock is created as `now` and stored. */
  touch(list: ListKey): Promise<number>;

  /**
   * Stores a new object and removes the tombstone of that id.
   *
   * @param text compact JSON of the attributes, without `id` and `last_modified`
   * @param options.isFresh asserts that the id is newly generated at random, so no lookup of an object or tombstone is needed.
   * If one does exist, the unit of work may fail with TransactionConflict and is retried with another id
   * @throws UnicityError when a live object has the id; IntegrityError when `lastModified` is taken by another entry
   */
  create(
    list: ListKey,
    id: string,
    text: string,
    lastModified?: number,
    options?: { readonly isFresh?: boolean },
  ): Promise<StoredObject>;

  /**
   * Stores several new objects, each with a new timestamp, ascending in the given order.
   *
   * @param objects objects with newly generated random ids, so no lookup of objects or tombstones is needed; if one does exist,
   * the unit of work may fail
   */
  createAll(list: ListKey, objects: readonly NewObject[]): Promise<readonly StoredObject[]>;

  /**
   * Replaces all attributes of an object, or creates it and removes its tombstone.
   *
   * @throws IntegrityError when `lastModified` is taken by another entry
   */
  update(list: ListKey, id: string, text: string, lastModified?: number): Promise<StoredObject>;

  /**
   * Replaces the live object by a tombstone.
   *
   * @param options.lastModified timestamp of the tombstone, by the rules above
   * @param options.keepTombstone `false`: no tombstone is stored. The clock advances all the same, and the horizon advances to
   *   the timestamp of the omitted tombstone. Default: `true`
   * @returns `undefined` when there is no live object
   * @throws IntegrityError when `lastModified` is taken by another entry
   */
  delete(
    list: ListKey,
    id: string,
    options?: { readonly lastModified?: number | undefined; readonly keepTombstone?: boolean },
  ): Promise<Deletion | undefined>;

  /**
   * Deletes one page of live objects; each gets a new timestamp, ascending in the order of selection.
   * `includeDeleted` of the query is ignored: tombstones are never deleted again.
   */
  deleteAll(
    list: ListKey,
    query: PageQuery,
  ): Promise<{ readonly deletions: readonly Deletion[]; readonly more: boolean }>;

  /**
   * Removes all objects and tombstones whose parent is the URI or lies below it (`<uri>/…`), without new tombstones. Parents that
   * only share the prefix are not affected. Clocks remain; the clock of a list that lost live objects advances to
   * max(now, R + 1). The horizon of a list that lost anything becomes its clock.
   */
  deleteChildren(uri: string): Promise<void>;

  /**
   * Purges tombstones, never live objects or clocks. The horizon of a list advances to its latest purged tombstone.
   *
   * @param options.kind only tombstones of this kind; default: all
   * @param options.parent only tombstones of lists with exactly this parent; default: all
   * @param options.before only tombstones with a timestamp below this one
   * @param options.maxRetained number of newest tombstones to keep per list; excludes `before`
   * @param options.limit maximum number to purge, the oldest of a list first; default: all
   * @returns the number of purged tombstones
   */
  purgeDeleted(options?: PurgeOptions): Promise<number>;

  /** Keeps the newest `maxObjects` of the selected live objects. Removes the others without tombstones; the horizon is unchanged. */
  trimObjects(list: ListKey, selection: Selection, maxObjects: number): Promise<number>;

  /**
   * Restores a part of a list from another place: for copies, never for requests. Each entry replaces the object or tombstone
   * of its id and keeps its timestamp, even one equal to the clock. Other entries of the list with one of these timestamps are
   * removed without a tombstone, so timestamps stay unique. The list is created when it is absent.
   */
  restore(list: ListKey, restoration: Restoration): Promise<void>;

  /** Deletes all objects, tombstones and clocks; the schema stays. */
  flush(): Promise<void>;
}

export interface StorageBackend {
  readonly database: Database;
  /** Reads committed state, outside any unit of work. */
  readonly reader: StorageReader;
  /** Returns a reader and writer inside a transaction of `database`. */
  writer(transaction: Transaction): StorageWriter;
}
