// The place that storage and permission backends keep their data in, and its transactions. Backends of one database
// share one transaction, so that an object and its permissions are written together or not at all.
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

export interface Database {
  /** How its connections are used at the moment, where it keeps several or makes callers wait. */
  readonly poolState?: () => PoolState;
  /** What logs and heartbeats call it: `memory`, `sqlite`, `postgresql`, `redis`. */
  readonly name: string;
  /** What the suites may take for granted, and operators rely on. */
  readonly abilities: Abilities;
  /**
   * Whether the schema is changed by `coffer migrate` alone, so that the service does not start with another one than it
   * knows. Absent: the service brings the schema up to date when it starts.
   */
  readonly needsMigration?: boolean;
  /**
   * Whether every call may be a way to another machine and back, so that calls which do not depend on each other are made
   * together, even where one may turn out not to have been needed. Absent: it is not.
   */
  readonly isRemote?: boolean;
  /** Opens a transaction that may write. Waits for its turn where there is a single writer. */
  begin(): Promise<Transaction>;
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
  /** Lets go of files and connections, after open transactions have ended. */
  close(): Promise<void>;
}
