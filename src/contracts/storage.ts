// The storage contract: objects, tombstones and the state of lists. Equal inputs give equal results on every backend. The
// suite in `testing/` is the definition, and the query evaluator in `core/query` the reference for filters and sorting.
import type { ListState } from '../core/lists/list-state.ts';
import type { PurgeOptions } from '../core/lists/purge.ts';
import type { JoinedEntries } from '../core/objects/page-text.ts';
import type { ListKey, StoredEntry, StoredObject, Tombstone, IndexKeys } from '../core/objects/stored.ts';
import type { ListParent, ObjectUri } from '../core/objects/uris.ts';
import type { PageQuery, Selection } from '../core/query/ast.ts';
import type { WordSearch } from '../core/text/text-query.ts';
import type { Database, Transaction } from './database.ts';
import type { Requester } from './requester.ts';

export interface Page {
  /** Clock of the list in the snapshot of the entries; `undefined` when the list was never read nor written. */
  readonly timestamp: number | undefined;
  /**
   * Horizon of the list in that snapshot: the highest timestamp of a deletion without a tombstone, because it was purged or
   * never stored. 0 when every deletion still has its tombstone.
   */
  readonly horizon: number;
  /** At most `limit` entries in the order of the query. */
  readonly entries: readonly StoredEntry[];
  /** Whether more entries follow the last one. */
  readonly more: boolean;
}

/** A page as the text that clients receive. */
export interface PageText extends Omit<Page, 'entries'>, JoinedEntries {}

/** A list and one of its objects, read under the lock of the list. */
export interface LockedState {
  readonly timestamp: number | undefined;
  /** The live object; `undefined` when absent. */
  readonly object: StoredObject | undefined;
  /** The tombstone; `undefined` when the object was not deleted. */
  readonly tombstone: Tombstone | undefined;
}

/** A new object, before it gets its timestamp. */
export interface NewObject {
  readonly id: string;
  /** Compact JSON of the attributes, without `id` and `last_modified`. */
  readonly text: string;
  readonly keys?: IndexKeys | undefined;
}

/** An object that is stored already, and its keys. */
export interface KeyedObject {
  readonly id: string;
  readonly lastModified: number;
  readonly keys: IndexKeys;
}

/** Numbers of objects and tombstones of a kind, over all its lists. */
export interface KindCount {
  readonly objects: number;
  readonly tombstones: number;
}

/** A list that has a clock, without its contents. */
export interface ListSummary extends ListKey, Omit<ListState, 'clock'> {
  /** The clock. */
  readonly timestamp: number;
}

/** A part of a list as it is in another store. */
export interface Restoration {
  /** The clock moves on to this timestamp, or to the highest one of the entries, never back. */
  readonly clock: number;
  /** Live objects and tombstones, stored exactly as they are. Every id and every timestamp occurs at most once. */
  readonly entries: readonly StoredEntry[];
  /** The horizon moves on to this timestamp, never back. Default: it stays. */
  readonly horizon?: number | undefined;
  /** Ids whose object or tombstone is removed; none of those in `entries`. Default: none. */
  readonly gone?: readonly string[];
  /**
   * Whether the list has none of the ids, as when it is being filled, so that the backend need not look. When it has one all
   * the same, the unit of work may fail with TransactionConflict, and is retried without this. Default: no.
   */
  readonly isFresh?: boolean;
}

export interface Deletion {
  readonly old: StoredObject;
  readonly tombstone: Tombstone;
}

/** One page of deletions. */
export interface DeletedPage {
  readonly deletions: readonly Deletion[];
  /** Whether more objects are selected. */
  readonly more: boolean;
}

export interface CreateOptions {
  /**
   * Whether the id is new and random, so that the backend need not look for an object or tombstone that has it. When one has,
   * the unit of work may fail with TransactionConflict, and is retried with another id. Default: no.
   */
  readonly isFresh?: boolean;
  readonly keys?: IndexKeys | undefined;
}

export interface DeleteOptions {
  /** Timestamp of the tombstone, by the rules of `StorageWriter`. Default: a new one. */
  readonly lastModified?: number | undefined;
  /**
   * Whether a tombstone is stored. Without one the clock moves all the same, and the horizon moves to the timestamp that the
   * tombstone would have. Default: yes.
   */
  readonly keepTombstone?: boolean;
}

/** Clocks of several lists, and how often the store was emptied. */
export interface ListClocks {
  /** One for each list, in the order asked for; `undefined` for a list that was never read nor written. */
  readonly clocks: readonly (number | undefined)[];
  /**
   * A number that grows with each flush of the store, and only then. It is never older than any of the clocks: a clock that
   * was read after a flush comes with the number of that flush. 0 in a store that was never flushed.
   */
  readonly flushes: number;
}

/** Objects that an index of words has found. */
export interface FoundWords {
  /** Clock of the list, not later than the objects; `undefined` when the list was never read nor written. */
  readonly timestamp: number | undefined;
  /** Ids in no particular order. */
  readonly ids: readonly string[];
  /** Whether there are more objects than the limit. */
  readonly more: boolean;
}

/**
 * Reserves memory for a long text, given an upper limit of its length in characters. An exception ends the read before the
 * text is in memory.
 */
export type RequireRoom = (chars: number) => void;

/** Needs of the caller of a read. */
export interface ReadNeeds {
  /**
   * Whether a transaction may leave a long text in the database, since the caller is probably going to replace it; default
   * `false`. It can be used until the object changes and the transaction ends, and throws afterwards.
   */
  readonly defersText?: boolean;
}

export interface StorageReader {
  /**
   * Returns the live object; `undefined` when absent or deleted.
   *
   * @param requireRoom called for a long text: before it is requested from a remote backend, or when it was read from a file.
   *   Many requests can wait for theirs, and all of them may arrive together.
   */
  get(list: ListKey, id: string, requireRoom?: RequireRoom, needs?: ReadNeeds): Promise<StoredObject | undefined>;

  /** Returns one page of a list, with entries and clock from one snapshot. Uses memory for the page only. */
  listAll(list: ListKey, query: PageQuery): Promise<Page>;

  /**
   * Returns the page of `listAll` with its entries joined to one text, which a backend may have cached, or the database may
   * join. The page ends early where the text would be too long for one answer.
   */
  listText(list: ListKey, query: PageQuery): Promise<PageText>;

  /** Returns the number of selected entries; in constant time without filters and ids. */
  countAll(list: ListKey, selection: Selection): Promise<number>;

  /**
   * Finds the live objects that were stored with all of the words, and with a word for each of the prefixes. At least one of
   * either is given. Only databases with the ability `textSearch` have words.
   *
   * @param limit maximum number of ids
   */
  findWords(list: ListKey, search: WordSearch, limit: number): Promise<FoundWords>;

  /** Returns the number of objects that `findWords` finds without a limit. */
  countWords(list: ListKey, search: WordSearch): Promise<number>;

  /**
   * Returns the numbers of live objects and tombstones of each kind. A kind that has neither may be absent. The time taken
   * does not depend on the sizes of the lists.
   */
  countKinds(): Promise<ReadonlyMap<string, KindCount>>;

  /** Returns the clock of the list; `undefined` when it was never read nor written. */
  resourceTimestamp(list: ListKey): Promise<number | undefined>;

  /**
   * Returns the clocks of several lists, and the number of flushes, in one round trip for some thousands of lists. A list may
   * be named more than once. Without lists the number of flushes alone is read.
   */
  clocks(lists: readonly ListKey[]): Promise<ListClocks>;

  /** Returns the parents of all lists of a kind that hold live objects, in no particular order. */
  listParents(kind: string): Promise<readonly ListParent[]>;

  /**
   * Returns one page of all lists that have a clock, of all kinds, including empty ones. They are ordered by parent, then by
   * kind, both by code point, so a parent comes before the lists below it.
   *
   * @param after list after which the page begins, which need not exist any more; `undefined`: the page begins with the first
   * @param limit maximum number of lists, at least 1; fewer are returned only when no more exist
   */
  lists(after: ListKey | undefined, limit: number): Promise<readonly ListSummary[]>;
}

/**
 * Writes inside one transaction. Reads see the transaction's own writes.
 *
 * Writes take effect in the order of the calls, even when the caller does not await one before the next. The caller awaits
 * writes to many objects (`deleteAll` and the methods below it). A read sees all writes called before it. To keep later
 * writes out, the caller awaits the read first.
 *
 * Timestamps: R is the clock of the list and `now` the time. A write without a given timestamp, or with one equal to R, gets
 * max(now, R + 1), which becomes the clock. A given timestamp above R becomes the clock too. One below R is used as it is
 * and leaves the clock alone. No two entries of a list, tombstones included, share a timestamp. A transaction keeps the lock
 * of a list from its first locking call until it ends, so timestamps become visible in their own order.
 *
 * The last timestamp is `Number.MAX_SAFE_INTEGER`. A write that needs a later one throws IntegrityError and changes nothing;
 * so does a write to several objects that needs more timestamps than the list has left. The unit of work may go on.
 *
 * `core/lists/list-state.ts` computes all of this: timestamps, clocks, horizons and counts.
 *
 * Objects are stored with their keys in the declared indexes of their list, which reads name in `Selection.indexes`. Writes
 * without keys are for lists without indexes. `core/index` computes keys and ranges of them.
 */
export interface StorageWriter extends StorageReader {
  /** Locks the list, and reads the object under the lock when an id is given. */
  lock(list: ListKey, id?: string, needs?: ReadNeeds): Promise<LockedState>;

  /**
   * Reads the live object, or `undefined`, and keeps the object and its parents from being deleted until the transaction
   * ends. Other transactions may change it and lock it in the same way. So nothing written below an object outlives it.
   *
   * With `below`, the object is the committed one while the transaction has the lock of that list, as if it were read after
   * `lock(below)`. So a transaction that changes the object and touches the list comes completely before this one, which then
   * sees the change, or completely after it. Writers rely on this for what the object declares about the list: each object
   * that is stored after a declaration of indexes has their keys. A backend may also accept the read at first, and let the
   * commit fail with TransactionConflict.
   *
   * @param below the list at or below the URI of the object that the unit is going to write to. A backend whose deletions lock
   *   such lists first may lock it, and create it, instead of the object
   */
  lockShared(list: ListKey, id: string, below?: ListKey): Promise<StoredObject | undefined>;

  /**
   * Locks the list and returns its clock. Creates it as `now`, and stores it, when the list has none. A transaction that changes
   * an object on which writers to a list below rely touches that list, as `lockShared` describes.
   *
   * @param to timestamp to which the clock moves on, never back
   */
  touch(list: ListKey, to?: number): Promise<number>;

  /**
   * Stores a new object and removes the tombstone of that id.
   *
   * @param text compact JSON of the attributes, without `id` and `last_modified`
   * @throws UnicityError when a live object has the id; IntegrityError when `lastModified` is taken by another entry
   */
  create(
    list: ListKey,
    id: string,
    text: string,
    lastModified?: number,
    options?: CreateOptions,
  ): Promise<StoredObject>;

  /**
   * Stores several new objects at once. Their new timestamps ascend in the order given.
   *
   * @param objects objects with new random ids: the backend does not look for objects or tombstones that have them. When one
   *   has, the unit of work may fail
   */
  createAll(list: ListKey, objects: readonly NewObject[]): Promise<readonly StoredObject[]>;

  /**
   * Replaces all attributes. Creates the object, and removes its tombstone, when it is absent.
   *
   * @throws IntegrityError when `lastModified` is taken by another entry
   */
  update(list: ListKey, id: string, text: string, lastModified?: number, keys?: IndexKeys): Promise<StoredObject>;

  /**
   * Replaces the live object by a tombstone.
   *
   * @returns `undefined` when no live object has the id
   * @throws IntegrityError when `lastModified` is taken by another entry
   */
  delete(list: ListKey, id: string, options?: DeleteOptions): Promise<Deletion | undefined>;

  /**
   * Deletes one page of live objects. Their new timestamps ascend in the order of the page. `includeDeleted` of the query is
   * ignored: tombstones are never deleted again.
   */
  deleteAll(list: ListKey, query: PageQuery): Promise<DeletedPage>;

  /**
   * Removes everything whose parent is the URI or lies below it (`<uri>/…`), tombstones included, and leaves no tombstones.
   * Neighbours with a similar name stay. Clocks stay, except that the clock of a list that lost live objects becomes
   * max(now, R + 1), or the last timestamp when none is left. The horizon of a list that lost anything becomes its clock.
   */
  deleteChildren(uri: ObjectUri): Promise<void>;

  /**
   * Deletes tombstones, never live objects or clocks. The horizon of a list moves on to the latest tombstone that it loses.
   *
   * @param options.kind only tombstones of this kind; default all
   * @param options.parent only tombstones of lists with exactly this parent; default all
   * @param options.before only tombstones with a timestamp below this one
   * @param options.maxRetained number of tombstones that each list keeps, the newest; excludes `before`
   * @param options.limit maximum number of tombstones to delete, the oldest of a list first; default all
   * @returns the number of deleted tombstones
   */
  purgeDeleted(options?: PurgeOptions): Promise<number>;

  /** Keeps the newest `maxObjects` of the selected live objects. The others leave no tombstones, and the horizon stays. */
  trimObjects(list: ListKey, selection: Selection, maxObjects: number): Promise<number>;

  /**
   * Makes a part of a list what it is in another store: for copies, never for requests. Each entry replaces the object or
   * tombstone of its id and keeps its own timestamp, even one equal to the clock. Other entries that have one of these
   * timestamps are removed and leave no tombstones. The list is created when absent.
   */
  restore(list: ListKey, restoration: Restoration): Promise<void>;

  /**
   * Sets the keys of live objects in declared indexes, and changes nothing else. Objects that do not exist, or have another
   * timestamp, are left out.
   */
  setKeys(list: ListKey, objects: readonly KeyedObject[]): Promise<void>;

  /** Deletes all objects, tombstones and clocks, and counts the flush. The schema stays. */
  flush(): Promise<void>;
}

export interface StorageBackend {
  readonly database: Database;
  /** Reads committed state, outside any unit of work. */
  readonly reader: StorageReader;
  /** Returns a reader like `reader` whose long reads share turns with those of other parties. Absent: no read takes turns. */
  readonly readerFor?: (requester: Requester) => StorageReader;
  /** Returns reads and writes inside a transaction of `database`. */
  writer(transaction: Transaction): StorageWriter;
}
