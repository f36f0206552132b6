// The place that storage and permission backends keep their data in, and its transactions. Backends of one database
// share one transaction, so that an object and its permissions are written together or not at all.
import type { ListKey, StoredObject } from '../core/objects/stored.ts';
import type { ChangeHints } from './change-hints.ts';
import type { BackendUnavailable } from './errors.ts';
import type { Logger } from './logger.ts';
import type { PoolState } from './observer.ts';

/** An open transaction. Use it from one unit of work only; after `commit` or `rollback` it is spent. */
export interface Transaction {
  /**
   * Makes the writes durable, as the backend's settings promise, and visible to others.
   *
   * @throws TransactionConflict when the unit of work must be run again; BackendUnavailable when nothing was written.
   */
  commit(): Promise<void>;
  /** Undoes every write of the transaction. Never throws: a broken connection has rolled back already. */
  rollback(): Promise<void>;
}

export interface Abilities {
  /** Whether `rollback` really undoes writes. */
  readonly rollback: boolean;
  /** Whether committed data outlives the process. */
  readonly durable: boolean;
  /** Whether a unit that writes below several parents becomes visible in one step; within one parent it always does. */
  readonly atomicAcrossParents: boolean;
}

/** A write to one object and its entries that is a whole unit of work: everything it depends on is said beforehand. */
export interface ConditionalWrite {
  readonly list: ListKey;
  readonly id: string;
  /** The object that the list belongs to, which has to be there; `undefined` for lists at the root. */
  readonly holder: { readonly list: ListKey; readonly id: string } | undefined;
  /**
   * The live object that has to be there still, as it was read; `undefined`: there must be none. Its timestamp alone does not
   * tell: one that was deleted may have been created again with the same.
   */
  readonly expected: Pick<StoredObject, 'lastModified' | 'text'> | undefined;
  /** Whether the id was drawn just now, so that nobody has to look for what a deletion left. */
  readonly isFresh?: boolean;
  /** Compact JSON of the attributes; `undefined`: the object, which has to be there, is deleted and leaves a tombstone. */
  readonly text: string | undefined;
  /** Timestamp asked for; `undefined`: a new one. */
  readonly lastModified?: number | undefined;
  /** URI under which the object has entries; `undefined`: it has none. All of them go with a deletion. */
  readonly uri: string | undefined;
  /** Entries of a new object. One that is there keeps its own, and there have to be none here. */
  readonly entries: Readonly<Record<string, readonly string[]>>;
}

export interface BeginOptions {
  /**
   * Whether the unit of work may share its fate with others that wait for each other: they are committed together, or fail
   * together with a TransactionConflict, upon which each has to be run again without this. Absent: it may not.
   */
  readonly mayShare?: boolean;
  /**
   * The user that the unit is for. Where units wait for each other's turn, among users the one is next who has written for the
   * shortest time, so that nobody waits for all that somebody else wants. Absent: nobody in particular.
   */
  readonly userId?: string | undefined;
}

export interface Database {
  /** How its connections are used at the moment, where it keeps several or makes callers wait. */
  readonly poolState?: () => PoolState;
  /** What logs and heartbeats call it: `memory`, `sqlite`, `postgresql`, `redis`. */
  readonly name: string;
  /** What the suites may take for granted, and operators rely on. */
  readonly abilities: Abilities;
  /**
   * Whether the schema is changed by `coffer migrate` alone, so that the service does not start with another one than it
   * knows. Known at the latest when `initializeSchema` has looked. Absent: the service brings the schema up to date when it
   * starts.
   */
  readonly needsMigration?: boolean;
  /**
   * Whether every call may be a way to another machine and back, so that calls which do not depend on each other are made
   * together, even where one may turn out not to have been needed. Absent: it is not.
   */
  readonly isRemote?: boolean;
  /** Opens a transaction that may write. Waits for its turn where there is a single writer. */
  begin(options?: BeginOptions): Promise<Transaction>;
  /**
   * Does a write of storage and permissions in one step, when everything is as it expects, and commits it; otherwise
   * nothing is written, and the work has to be done in a transaction. It waits its turn, and takes the next timestamp of
   * its list, as a transaction would. Absent where a transaction costs no more.
   *
   * @returns the timestamp given; `undefined`: something was not as expected, or took more than one step
   * @throws TransactionConflict when nothing was written; BackendUnavailable when nobody knows
   */
  writeConditionally?(write: ConditionalWrite): Promise<number | undefined>;
  /**
   * Creates or upgrades what the backends of this database need. Idempotent.
   *
   * @returns one line for each step done, or to be done with `dryRun`.
   */
  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]>;
  /**
   * Lets the database look at how much it holds by now, on which the plans of its queries depend; called while a lot is
   * written at once. Absent: its plans depend on no such thing.
   */
  refreshStatistics?(): Promise<void>;
  /**
   * Returns the failure by which the database has learned since it was opened that a part of what it keeps is damaged;
   * `undefined`: none so far. Absent: the database looks after that itself.
   */
  findDamage?(): BackendUnavailable | undefined;
  /**
   * Looks for damage in everything that it keeps; returns a line for each fault. May take long, and keep others waiting.
   * Absent: the database has tools of its own.
   */
  checkIntegrity?(): Promise<readonly string[]>;
  /**
   * Opens the exchange of hints about changes with the other processes that use the database. Nothing is connected before the
   * first hint is published or a listener is subscribed. Absent: the database belongs to one process, or its server carries no
   * messages (PostgreSQL behind a pooler in transaction mode).
   */
  readonly openHints?: (options: { readonly logger: Logger }) => ChangeHints;
  /** Lets go of files and connections, after open transactions have ended. */
  close(): Promise<void>;
}
