// The database that storage and permission backends keep their data in, and its transactions. Backends of one database
// share a transaction, so an object and its permission entries are written together or not at all.
import type { ListKey, StoredObject } from '../core/objects/stored.ts';
import type { BackendUnavailable } from './errors.ts';
import type { PoolState } from './observer.ts';

/** An open transaction, used by one unit of work. After `commit` or `rollback` it cannot be used again. */
export interface Transaction {
  /**
   * Makes the writes visible to others, and as durable as the settings of the backend promise.
   *
   * @throws TransactionConflict when the unit of work must run again; BackendUnavailable when nothing was written
   */
  commit(): Promise<void>;
  /** Undoes every write of the transaction. Never throws: a broken connection has been rolled back already. */
  rollback(): Promise<void>;
}

export interface Abilities {
  /** Whether `rollback` undoes writes. */
  readonly rollback: boolean;
  /** Whether committed data outlives the process. */
  readonly durable: boolean;
  /** Whether writes below several parents become visible in one step. Writes below one parent always do. */
  readonly atomicAcrossParents: boolean;
}

/** A write to one object and its entries that is a whole unit of work. It states beforehand everything it depends on. */
export interface ConditionalWrite {
  readonly list: ListKey;
  readonly id: string;
  /** The object that the list belongs to, which must exist; `undefined` for lists at the root. */
  readonly holder: { readonly list: ListKey; readonly id: string } | undefined;
  /**
   * The live object as it was read, which must be unchanged; `undefined`: no live object may have the id. The timestamp
   * alone does not identify it: a deleted object may have been created again with the same timestamp.
   */
  readonly expected: Pick<StoredObject, 'lastModified' | 'text'> | undefined;
  /** Whether the id is new and random, so that the backend need not look for a tombstone. */
  readonly isFresh?: boolean;
  /** Compact JSON of the attributes; `undefined`: the object, which must exist, is deleted and leaves a tombstone. */
  readonly text: string | undefined;
  /** The timestamp to use; `undefined`: a new one. */
  readonly lastModified?: number | undefined;
  /** URI under which the object has entries; `undefined`: it has none. Deletion of the object deletes them all. */
  readonly uri: string | undefined;
  /** Entries of a new object. Empty when the object exists, which then keeps its own. */
  readonly entries: Readonly<Record<string, readonly string[]>>;
}

export interface BeginOptions {
  /**
   * Whether the unit of work may share a database transaction with others. They are committed together, or fail together
   * with a TransactionConflict. Each of them then runs again without this option. Absent: it may not.
   */
  readonly mayShare?: boolean;
  /**
   * The user that the unit is for. Where units wait for each other, the user whose units have run for the shortest time is
   * next, so one user cannot delay the others. Absent: all units without a user count as one user.
   */
  readonly userId?: string | undefined;
}

export interface Database {
  /** Returns the state of the connection pool. Absent: the database has no pool. */
  readonly poolState?: () => PoolState;
  /** Name of the database in logs and heartbeats: `memory`, `sqlite`, `postgresql`, `redis`. */
  readonly name: string;
  /** Guarantees that the contract suites test and operators rely on. */
  readonly abilities: Abilities;
  /**
   * Whether only `coffer migrate` changes the schema, so the service does not start with another version than its own.
   * Valid at the latest after `initializeSchema`. Absent: the service updates the schema when it starts.
   */
  readonly needsMigration?: boolean;
  /**
   * Whether a call may need a network round trip. Callers then make independent calls in parallel, even when one of them
   * may turn out to be unnecessary. Absent: no.
   */
  readonly isRemote?: boolean;
  /** Opens a transaction that may write. Waits for its turn when the database has a single writer. */
  begin(options?: BeginOptions): Promise<Transaction>;
  /**
   * Does a write of storage and permissions in one step and commits it, if everything is as it expects. Otherwise nothing
   * is written, and the caller uses a transaction. It waits for locks, and gets the next timestamp of its list, as a
   * transaction would. Absent where a transaction costs no more.
   *
   * @returns the timestamp of the write; `undefined`: the state differs, or the write needs more than one step
   * @throws TransactionConflict when nothing was written; BackendUnavailable when the outcome is unknown
   */
  writeConditionally?(write: ConditionalWrite): Promise<number | undefined>;
  /**
   * Creates or upgrades the schema of the backends of this database. Idempotent.
   *
   * @returns one line for each step that was done, or with `dryRun` would be done.
   */
  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]>;
  /**
   * Updates the statistics from which the database plans its queries. Called during bulk writes. Absent: the database needs
   * no such call.
   */
  refreshStatistics?(): Promise<void>;
  /**
   * Returns the failure by which the database found, since it was opened, that a part of its data is damaged; `undefined`:
   * none so far. Absent: the database does not report damage in this way.
   */
  findDamage?(): BackendUnavailable | undefined;
  /**
   * Looks for damage in all data, and returns a line for each fault. May take long and block other requests. Absent: the
   * database has tools of its own.
   */
  checkIntegrity?(): Promise<readonly string[]>;
  /** Closes files and connections after open transactions have ended. */
  close(): Promise<void>;
}
