// Where objects, tombstones and the clocks of lists are kept. Same inputs, same results on every backend: the suite
// in `testing/` is the definition, and the query evaluator in `core/query` the reference for filters and sorting.
import type { JoinedEntries } from '../core/objects/page-text.ts';
import type { ListKey, StoredEntry, StoredObject, Tombstone } from '../core/objects/stored.ts';
import type { PageQuery, Selection } from '../core/query/ast.ts';
import type { Database, Transaction } from './database.ts';

export interface Page {
  /** Clock of the list in the same snapshot as the entries; `undefined` when it was never read nor written. */
  readonly timestamp: number | undefined;
  /**
   * The horizon of the list in that snapshot: the highest timestamp of a deletion that no tombstone tells of, be it that the
   * tombstone was forgotten or that there never was one. 0 when every deletion can still be told.
   */
  readonly horizon: number;
  /** At most `limit` entries in the order asked for. */
  readonly entries: readonly StoredEntry[];
  /** Whether more entries follow the last one. */
  readonly more: boolean;
}

/** A page as clients see it. */
export interface PageText extends Omit<Page, 'entries'>, JoinedEntries {}

/** A list and one of its objects, read under the right to the list's next timestamp. */
export interface LockedState {
  readonly timestamp: number | undefined;
  /** The live object, when there is one. */
  readonly object: StoredObject | undefined;
  /** What its deletion left, when it was deleted. */
  readonly tombstone: Tombstone | undefined;
}

/** What a list is given, but for the timestamp. */
export interface NewObject {
  readonly id: string;
  /** Compact JSON of the attributes, without `id` and `last_modified`. */
  readonly text: string;
}

/** Which tombstones are forgotten; see `purgeDeleted`. */
export interface PurgeOptions {
  readonly kind?: string;
  readonly parent?: string;
  readonly before?: number;
  readonly maxRetained?: number;
  readonly limit?: number;
}

/** How much there is of a kind, over all its lists. */
export interface KindCount {
  readonly objects: number;
  readonly tombstones: number;
}

/** A list as a whole: its clock and how much it holds. */
export interface ListState extends ListKey {
  readonly timestamp: number;
  /** See `Page.horizon`. */
  readonly horizon: number;
  /** How many live objects. */
  readonly live: number;
  /** How many tombstones. */
  readonly dead: number;
}

/** A part of a list as it shall be, whatever the time is. */
export interface Restoration {
  /** The clock moves on to this, or to the highest timestamp of the entries, but never back. */
  readonly clock: number;
  /** Live objects and tombstones, stored exactly as they are; every id and every timestamp once at most. */
  readonly entries: readonly StoredEntry[];
  /** The horizon of the list moves on to this, but never back. Default: it stays. */
  readonly horizon?: number | undefined;
  /** Ids of which neither object nor tombstone stays; none of those in `entries`. Default: none. */
  readonly gone?: readonly string[];
  /**
   * Whether the list has none of the ids, as when it is being filled, so that nobody looks; should one be there all the
   * same, the unit of work may fail with TransactionConflict, and is run again without saying so. Default: no.
   */
  readonly isFresh?: boolean;
}

export interface Deletion {
  readonly old: StoredObject;
  readonly tombstone: Tombstone;
}

export interface StorageReader {
  /** The live object, or `undefined`; tombstones are not found. */
  get(list: ListKey, id: string): Promise<StoredObject | undefined>;

  /** One page of a list, entries and clock from one snapshot. Memory used is bounded by the page. */
  listAll(list: ListKey, query: PageQuery): Promise<Page>;

  /**
   * The same page with its entries joined to one text, which a backend may find ready, or the database may make. It ends early
   * where that would be too long for one answer.
   */
  listText(list: ListKey, query: PageQuery): Promise<PageText>;

  /** How many entries are selected. Without filters and ids the answer takes the same time at any size. */
  countAll(list: ListKey, selection: Selection): Promise<number>;

  /**
   * How many live objects and tombstones there are of each kind; one of which there is neither may be absent. The answer
   * takes the same time at any size of the lists.
   */
  countKinds(): Promise<ReadonlyMap<string, KindCount>>;

  /** The clock of the list: its highest timestamp ever given, or `undefined` when never read nor written. */
  resourceTimestamp(list: ListKey): Promise<number | undefined>;

  /** The clock of every list of a kind that has one: parent → timestamp. */
  allResourceTimestamps(kind: string): Promise<ReadonlyMap<string, number>>;

  /** The parents of all lists of a kind that hold live objects, in no particular order. */
  listParents(kind: string): Promise<readonly string[]>;

  /**
   * One page of all lists that have a clock, of all kinds, those without contents too. In the order of their parents,
   * then of their kinds, both by code point: a parent comes before what lies below it.
   *
   * @param after continue after this list, which need not be there any more; `undefined`: from the first
   * @param limit lists wanted, at least 1; fewer come when there are no more
   */
  lists(after: ListKey | undefined, limit: number): Promise<readonly ListState[]>;
}

/**
 * Writes inside one transaction; reads see the transaction's own writes. Writes take effect in the order in which they are
 * made, also when nobody waits for one before making the next; those to many objects at once (`deleteAll` and what follows it)
 * are to be waited for. A read sees all writes that were made before it; whoever wants none of those that are made after it
 * waits for its answer.
 *
 * Timestamps: with R the clock of the list and `now` the time, a write without a given timestamp, or with one equal
 * to R, gets max(now, R + 1), which becomes the clock; a given timestamp above R becomes the clock too; one below R
 * is used as it is and leaves the clock alone. No two entries of a list, tombstones included, share a timestamp.
 * The right to the next timestamp of a list is held from the first locking call until the transaction ends, so
 * timestamps become visible in their own order.
 */
export interface StorageWriter extends StorageReader {
  /** Takes the right to the list's next timestamp and reads the object (when an id is given) under it. */
  lock(list: ListKey, id?: string): Promise<LockedState>;

  /**
   * Reads the live object, or `undefined`, and keeps it, and everything it lies in, from being deleted until the
   * transaction ends. Others may change it and hold it as well. So what is written below an object never outlives it.
   *
   * @param below a list at or below the URI of the object that the unit is going to write to; a backend whose deletions
   *   take such lists first may lock it instead of the object
   */
  lockShared(list: ListKey, id: string, below?: ListKey): Promise<StoredObject | undefined>;

  /** The clock of the list, created as `now` and stored when there is none yet; stable afterwards. */
  touch(list: ListKey): Promise<number>;

  /**
   * Stores a new object and removes the tombstone of that id.
   *
   * @param text compact JSON of the attributes, without `id` and `last_modified`
   * @param options.isFresh the id was drawn just now from so many that nobody has to look whether it is taken, by an object
   * or a tombstone; should it be, the unit of work may fail with TransactionConflict, and is run again with another one
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
   * Stores several new objects at once, each with a new timestamp of its own, ascending in the order given.
   *
   * @param objects under ids drawn just now, from so many that nobody looks whether an object or a tombstone has one; should
   * that be so, the unit of work may fail
   */
  createAll(list: ListKey, objects: readonly NewObject[]): Promise<readonly StoredObject[]>;

  /**
   * Replaces all attributes; creates when absent, removing the tombstone.
   *
   * @throws IntegrityError when `lastModified` is taken by another entry
   */
  update(list: ListKey, id: string, text: string, lastModified?: number): Promise<StoredObject>;

  /**
   * Replaces the live object by a tombstone.
   *
   * @param options.lastModified timestamp of the tombstone, by the rules above
   * @param options.keepTombstone `false`: nothing is kept, but the clock moves all the same, and the horizon to the
   *   timestamp that the tombstone would have; default `true`
   * @returns `undefined` when there is no live object
   * @throws IntegrityError when `lastModified` is taken by another entry
   */
  delete(
    list: ListKey,
    id: string,
    options?: { readonly lastModified?: number | undefined; readonly keepTombstone?: boolean },
  ): Promise<Deletion | undefined>;

  /**
   * Deletes one page of live objects; each gets its own new timestamp, ascending in the order of selection.
   * `includeDeleted` of the query is ignored: tombstones are never deleted again.
   */
  deleteAll(
    list: ListKey,
    query: PageQuery,
  ): Promise<{ readonly deletions: readonly Deletion[]; readonly more: boolean }>;

  /**
   * Removes everything whose parent is the URI or lies below it (`<uri>/…`), tombstones included, without leaving
   * tombstones, and nothing of a similarly named neighbour. Clocks stay; a list that lost live objects moves on to
   * max(now, R + 1). The horizon of a list that lost anything is its clock then.
   */
  deleteChildren(uri: string): Promise<void>;

  /**
   * Forgets tombstones, never live objects or clocks. The horizon of a list moves to the latest one it loses.
   *
   * @param options.kind only of this kind; default all
   * @param options.parent only of this list's parent (exact); default all
   * @param options.before only those with a timestamp below this one
   * @param options.maxRetained keep the newest so many of each list; excludes `before`
   * @param options.limit forget so many at most, the oldest of a list first; default all
   * @returns how many were forgotten
   */
  purgeDeleted(options?: PurgeOptions): Promise<number>;

  /** Keeps the newest `maxObjects` of the selected live objects; the others go without tombstones, and the horizon stays. */
  trimObjects(list: ListKey, selection: Selection, maxObjects: number): Promise<number>;

  /**
   * Makes part of a list what it was elsewhere: for copies, never for requests. Each entry takes the place of the object
   * or tombstone of its id and keeps its own timestamp, even one equal to the clock. Whatever else in the list has one of
   * these timestamps goes without a trace, so that the list still has each of them once. The list is created when absent.
   */
  restore(list: ListKey, restoration: Restoration): Promise<void>;

  /** Deletes all objects, tombstones and clocks; the schema stays. */
  flush(): Promise<void>;
}

export interface StorageBackend {
  readonly database: Database;
  /** Reads of committed state, outside any unit of work. */
  readonly reader: StorageReader;
  /** Reads and writes inside a transaction of `database`. */
  writer(transaction: Transaction): StorageWriter;
}
