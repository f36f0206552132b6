// The unit of work of one outer request. Reading goes to committed state until something asks to write; from then
// on everything, reads included, happens inside one transaction over storage and permissions.
import type { Database, ConditionalWrite, Transaction } from '../contracts/database.ts';
import { TransactionConflict } from '../contracts/errors.ts';
import type { Logger } from '../contracts/logger.ts';
import type { PermissionBackend, PermissionReader, PermissionWriter } from '../contracts/permission.ts';
import { compareLists } from '../core/objects/list-order.ts';
import type { ListKey } from '../core/objects/stored.ts';
import type { StorageBackend, StorageReader, StorageWriter } from '../contracts/storage.ts';
import type { Action } from '../core/events/payload.ts';
import { EventQueue } from './events/queue.ts';
import { Subscribers } from './events/subscriber.ts';
import type { Change } from './kind.ts';

export interface Stores {
  readonly storage: StorageBackend;
  readonly permission: PermissionBackend;
}

export interface Reader {
  readonly storage: StorageReader;
  readonly permission: PermissionReader;
}

export interface Writer extends Reader {
  readonly storage: StorageWriter;
  readonly permission: PermissionWriter;
}

/** Whether writes that were given up left no trace, or a commit failed so that nobody knows. */
export type Fate = 'undone' | 'unknown';

export interface UnitOfWorkOptions {
  /** Lists over which an earlier attempt at the same work lost a race; locked before all others. */
  readonly contended?: readonly ListKey[];
  /**
   * Whether writes may be done by `writeConditionally`, or in a transaction that others share; default `false`: in one of its own.
   * What fails so may be the fault of others.
   */
  readonly mayWriteConditionally?: boolean;
  /** Who hears of what happens; default nobody. */
  readonly subscribers?: Subscribers;
  /** Whom the work is for, as far as that is known when it begins to write; default nobody in particular. */
  readonly user?: { readonly userId: string | undefined };
}

export class UnitOfWork {
  readonly #stores: Stores;
  readonly #logger: Logger;
  readonly #contended: readonly ListKey[];
  readonly #subscribers: Subscribers;
  readonly #user: UnitOfWorkOptions['user'];
  // Most requests only read: for them nothing of this is made.
  #events: EventQueue | undefined;
  #transactions: Transaction[] | undefined;
  #writer: Writer | undefined;
  #afterCommit: Task[] | undefined;
  #onAbandon: AbandonTask[] | undefined;
  #isRollbackOnly = false;
  #mayWriteConditionally: boolean;
  #isShared = false;
  readonly #mayShare: boolean;

  constructor(stores: Stores, logger: Logger, options: UnitOfWorkOptions = {}) {
    const { contended = [], subscribers = Subscribers.none, mayWriteConditionally = false, user } = options;
    this.#user = user;
    this.#mayWriteConditionally = mayWriteConditionally;
    this.#mayShare = mayWriteConditionally;
    this.#stores = stores;
    this.#logger = logger;
    this.#contended = contended;
    this.#subscribers = subscribers;
  }

  /** What happened so far, for those who want to hear of it. */
  get events(): EventQueue {
    return (this.#events ??= new EventQueue(this.#subscribers));
  }

  /** What was changed so far, of what somebody wants to hear of all together when it ends; in order. */
  get changes(): readonly Change[] {
    return this.#events?.untold ?? [];
  }

  /** Whether anything happened that somebody wants to hear of. */
  get hasEvents(): boolean {
    return this.#events?.isEmpty === false;
  }

  /** Whether anybody listens to this; what nobody listens to need not be put together. */
  hears(kind: string, action: Action): boolean {
    return this.#subscribers.wants(kind, action);
  }

  /** Whether there is anything to commit, to undo, or to do at the end. */
  get hasConsequences(): boolean {
    return this.#transactions !== undefined || this.#afterCommit !== undefined || this.#onAbandon !== undefined;
  }

  /** Reads: the transaction's own view once there is one, else committed state. */
  get reader(): Reader {
    return this.#writer ?? { storage: this.#stores.storage.reader, permission: this.#stores.permission.reader };
  }

  /** Whether the transaction is open: whoever begins another one here waits for this one to end. */
  get isWriting(): boolean {
    return this.#writer !== undefined;
  }

  /** Whether the storage loses everything when the process ends; then it belongs to this process alone. */
  get isPrivate(): boolean {
    return !this.#stores.storage.database.abilities.durable;
  }

  /** Whether reads that may not be needed are better made together with others than later. */
  get isRemote(): boolean {
    return this.#stores.storage.database.isRemote === true || this.#stores.permission.database.isRemote === true;
  }

  /** Whether storage and permissions are written in one transaction. */
  get hasOneTransaction(): boolean {
    return this.#stores.permission.database === this.#stores.storage.database;
  }

  /** Tells that several requests are going to be done in this unit of work, so that none may commit by itself. */
  expectSeveral(): void {
    this.#mayWriteConditionally = false;
    this.#isShared = true;
  }

  /**
   * Whether a request that is going to write better asks everything inside the transaction: others will ask the same there
   * after it, and the answers are kept. Where a single writer has to be waited for, nobody without access may do so.
   */
  get asksInside(): boolean {
    return this.#isShared && this.isRemote;
  }

  /** Whether a write that is all that the request does may be done in one step, and is cheaper so. */
  get canWriteConditionally(): boolean {
    const { storage } = this.#stores;
    const isPossible = storage.database.writeConditionally !== undefined && this.hasOneTransaction;
    return this.#mayWriteConditionally && this.#writer === undefined && isPossible;
  }

  /**
   * Writes and commits in one step; nothing may be written after it.
   *
   * @returns the timestamp of what was written; `undefined`: nothing was, since something was not as expected
   */
  async writeConditionally(write: ConditionalWrite): Promise<number | undefined> {
    try {
      return await this.#stores.storage.database.writeConditionally!(write);
    } catch (error) {
      await this.abandon(error instanceof TransactionConflict ? 'undone' : 'unknown');
      throw error;
    }
  }

  /** Opens the transaction when there is none yet, storage first. */
  async writer(): Promise<Writer> {
    if (this.#writer !== undefined) return this.#writer;
    const { storage, permission } = this.#stores;
    const ofStorage = await this.#begin(storage.database);
    const ofPermission = permission.database === storage.database ? ofStorage : await this.#begin(permission.database);
    const writer = { storage: storage.writer(ofStorage), permission: permission.writer(ofPermission) };
    this.#writer = writer;
    for (const list of this.#contended.toSorted(compareLists)) await writer.storage.lock(list);
    return writer;
  }

  /** Runs once the writes are known to be committed; failures are logged and cannot change the response. */
  afterCommit(task: Task): void {
    (this.#afterCommit ??= []).push(task);
  }

  /**
   * Runs when nothing of this will be kept, to take back what was done outside of the transaction. When a commit failed,
   * some of it may have been kept all the same.
   */
  onAbandon(task: AbandonTask): void {
    (this.#onAbandon ??= []).push(task);
  }

  /** Whether nothing of this will be committed. */
  get isRollbackOnly(): boolean {
    return this.#isRollbackOnly;
  }

  /** From here on nothing will be committed, although the remaining entries of a batch are still answered. */
  setRollbackOnly(): void {
    this.#isRollbackOnly = true;
  }

  /**
   * Ends the unit of work.
   *
   * @throws TransactionConflict when it must be run again from its start; BackendUnavailable when nothing was written
   */
  async end(keep: boolean): Promise<void> {
    if (!keep || this.#isRollbackOnly) return this.abandon();
    const open = this.#transactions ?? [];
    while (open.length > 0) {
      const transaction = open.shift()!;
      try {
        await transaction.commit();
      } catch (error) {
        await this.abandon(error instanceof TransactionConflict ? 'undone' : 'unknown');
        throw error;
      }
    }
    const tasks = this.#afterCommit;
    this.#reset();
    if (tasks !== undefined) await this.#runAll(tasks);
  }

  /** Undoes everything. Never throws. */
  async abandon(fate: Fate = 'undone'): Promise<void> {
    const transactions = this.#transactions ?? [];
    const tasks = this.#onAbandon;
    this.#reset();
    for (const transaction of transactions.toReversed()) await transaction.rollback();
    await this.#runAll(tasks?.map((task) => () => task(fate)));
  }

  #reset(): void {
    this.#transactions = undefined;
    this.#writer = undefined;
    this.#afterCommit = undefined;
    this.#onAbandon = undefined;
  }

  async #begin(database: Database): Promise<Transaction> {
    const transaction = await database.begin({ mayShare: this.#mayShare, userId: this.#user?.userId });
    (this.#transactions ??= []).push(transaction);
    return transaction;
  }

  async #runAll(tasks: readonly Task[] = []): Promise<void> {
    for (const task of tasks) {
      try {
        await task();
      } catch (error) {
        this.#logger.error({ err: error }, 'A task after the end of a transaction failed');
      }
    }
  }
}

type Task = () => void | Promise<void>;
type AbandonTask = (fate: Fate) => void | Promise<void>;
