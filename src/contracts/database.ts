// The database of storage and permission backends, and its transactions. Backends of one database share a transaction, so an
// object and its permissions are written atomically.
import type { ListKey, StoredObject, IndexKeys } from '../core/objects/stored.ts';
import type { ObjectUri } from '../core/objects/uris.ts';
import type { Principal } from '../core/permissions/principals.ts';
import type { ChangeHints } from './change-hints.ts';
import type { BackendUnavailable } from './errors.ts';
import type { Logger } from './logger.ts';
import type { PoolState } from './observer.ts';

/** Objects of one list that a unit of work is going to write one after another. */
export interface ExpectedObjects {
  readonly list: ListKey;
  /** Ids of the objects, some of which may not exist. */
  readonly ids: readonly string[];
  /** URIs of their permission entries; empty for objects without entries. */
  readonly uris: readonly ObjectUri[];
}

/** An open transaction, for one unit of work only. It ends with `commit` or `rollback`. */
export interface Transaction {
  /**
   * Announces objects that the unit will read and write, as the entries of a batch do. It has no effect on any result, and
   * locks nothing. A backend may read the objects and their entries together once the unit has locked their list. Absent: a
   * backend to which a single read costs little.
   */
  expect?(objects: ExpectedObjects): void;
  /**
   * Makes the writes durable, as the settings of the backend promise, and visible to other transactions.
   *
   * @throws TransactionConflict when the unit of work must be retried; BackendUnavailable, whose
   *   `isUndone` is set when nothing was written
   */
  commit(): Promise<void>;
  /** Undoes all writes of the transaction. Never throws: a broken connection has rolled back already. */
  rollback(): Promise<void>;
}

export interface Abilities {
  /** Whether `rollback` undoes writes. */
  readonly rollback: boolean;
  /** Whether committed data outlives the process. */
  readonly durable: boolean;
  /** Whether writes below several parents become visible atomically. Those below one parent always do. */
  readonly atomicAcrossParents: boolean;
  /** Whether storage finds objects by words. */
  readonly textSearch: boolean;
}

/** A complete unit of work in a single write to one object and its entries, with all its conditions. */
export interface ConditionalWrite {
  readonly list: ListKey;
  readonly id: string;
  /** The parent object of the list, which must exist; `undefined` for lists at the root. */
  readonly holder:
    | {
        readonly list: ListKey;
        readonly id: string;
        /** Timestamp that it must have while the list is locked; absent: any. */
        readonly lastModified?: number | undefined;
      }
    | undefined;
  /**
   * The live object that must still exist as it was read; `undefined` means that none may exist. The timestamp alone is not
   * enough: a deleted object may have been created again with the same one.
   */
  readonly expected: Pick<StoredObject, 'lastModified' | 'text'> | undefined;
  /** Whether the id is newly generated, so that no lookup of a tombstone is needed. */
  readonly isFresh?: boolean;
  /** Compact JSON of the attributes; `undefined` deletes the object, which must exist, and leaves a tombstone. */
  readonly text: string | undefined;
  /** Requested timestamp; `undefined` for a new one. */
  readonly lastModified?: number | undefined;
  /** Keys in the declared indexes of the list; absent: it has none. */
  readonly keys?: IndexKeys | undefined;
  /** URI of the object's entries; `undefined` when it has none. A deletion deletes all entries. */
  readonly uri: ObjectUri | undefined;
  /** Entries of a new object. Must be empty for an existing object, which keeps its entries. */
  readonly entries: Readonly<Record<string, readonly Principal[]>>;
}

export interface BeginOptions {
  /**
   * Whether the unit of work may share a transaction with others that wait for each other. They commit together or fail
   * together with a TransactionConflict, after which each is retried without this option. Default: no.
   */
  readonly mayShare?: boolean;
  /**
   * Whether the unit of work has a transaction of another database too. Its commit must not wait for later units, because they
   * may wait for that other transaction. Default: no.
   */
  readonly isOneOfSeveral?: boolean;
  /**
   * Party of the requester. Where units wait for a writer lock, the party that has written for the shortest time is next, so
   * none waits for all writes of another one. Absent: units without a party count as one.
   */
  readonly party?: string | undefined;
}

export interface Database {
  /** Returns the current use of the connection pool; absent without a pool and without waiting callers. */
  readonly poolState?: () => PoolState;
  /** Name in logs and heartbeats: `memory`, `sqlite`, `postgresql`, `redis`. */
  readonly name: string;
  /** Guarantees that the contract suites test and operators rely on. */
  readonly abilities: Abilities;
  /**
   * Whether only `coffer migrate` changes the schema, so that the service does not start with a different version. Set at the
   * latest when `initializeSchema` has run. Absent: the service migrates the schema at its start.
   */
  readonly needsMigration?: boolean;
  /**
   * Whether each call may be a network round trip, so that independent calls are made concurrently even if one of them turns
   * out to be unnecessary. Absent: no.
   */
  readonly isRemote?: boolean;
  /** Compares lists by the order in which a unit that runs again locks those that it knows of. Absent: by `compareLists`. */
  readonly compareLocks?: (a: ListKey, b: ListKey) => number;
  /** Opens a transaction for reads and writes. Waits for the lock of a single writer. */
  begin(options?: BeginOptions): Promise<Transaction>;
  /**
   * Writes an object and its permissions in one step and commits, when all conditions hold. Otherwise nothing is written, and
   * the caller uses a transaction. Waits for locks and takes the next timestamp of the list as a transaction does. Absent when
   * a transaction costs no more.
   *
   * @returns the timestamp; `undefined` when a condition does not hold or the write needs more than one step
   * @throws TransactionConflict when nothing was written; BackendUnavailable when the outcome is unknown
   */
  writeConditionally?(write: ConditionalWrite): Promise<number | undefined>;
  /**
   * Creates or upgrades the schema of the backends of this database. Idempotent.
   *
   * @returns one line for each step; with `dryRun` the steps are only listed
   */
  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]>;
  /**
   * Refreshes the statistics of the query planner; called during bulk writes. Absent: query plans do not depend on statistics.
   */
  refreshStatistics?(): Promise<void>;
  /**
   * Returns the failure that has shown since the start that the database is damaged, may lose data, or is no longer where the
   * next start would look for it; `undefined` for none. Absent: the database server detects damage itself.
   */
  findDamage?(): BackendUnavailable | undefined | Promise<BackendUnavailable | undefined>;
  /**
   * Returns the size of the data on disk in bytes, with indexes and logs of the database's own. The time taken does not
   * depend on the number of objects. Absent: the database is in memory, or shares its memory with other data.
   */
  readSizeBytes?(): Promise<number>;
  /**
   * Copies one committed state into a new file that only its owner can read. Other calls go on meanwhile. Absent: the
   * database has its own tools.
   *
   * @param signal ends the copy early
   * @throws Error when the copy fails or ends early; the file is then incomplete or absent
   */
  copyTo?(file: string, signal: AbortSignal): Promise<void>;
  /**
   * Checks all data for damage; returns a line for each fault. May take long and block other calls. Absent: the database has
   * its own tools.
   */
  checkIntegrity?(): Promise<readonly string[]>;
  /**
   * Opens the exchange of hints about changes with the other processes that use the database. Nothing is connected before the
   * first hint is published or a listener is subscribed. Absent: the database belongs to one process, or its server carries no
   * messages (PostgreSQL behind a pooler in transaction mode).
   */
  readonly openHints?: (options: { readonly logger: Logger }) => ChangeHints;
  /** Closes files and connections after open transactions have ended. */
  close(): Promise<void>;
}
