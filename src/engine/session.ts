// The unit of work of one outer request. Reading goes to committed state until something asks to write; from then
// on everything, reads included, happens inside one transaction over storage and permissions.
import type { Database, Transaction } from '../contracts/database.ts';
import { TransactionConflict } from '../contracts/errors.ts';
import type { Logger } from '../contracts/logger.ts';
import type { PermissionBackend, PermissionReader, PermissionWriter } from '../contracts/permission.ts';
import { compareLists } from '../core/objects/list-order.ts';
import type { ListKey } from '../core/objects/stored.ts';
import type { StorageBackend, StorageReader, StorageWriter } from '../contracts/storage.ts';
import { EventQueue } from './events/queue.ts';
import { Subscribers } from './events/subscriber.ts';

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

export interface SessionOptions {
  /** Lists over which an earlier attempt at the same work lost a race; locked before all others. */
  readonly contended?: readonly ListKey[];
  /** Who hears of what happens; default nobody. */
  readonly subscribers?: Subscribers;
}

export class Session {
  /** What happened so far, for those who want to hear of it. */
  readonly events: EventQueue;
  readonly #stores: Stores;
  readonly #logger: Logger;
  readonly #contended: readonly ListKey[];
  #transactions: Transaction[] = [];
  #writer: Writer | undefined;
  #afterCommit: Task[] = [];
  #onAbandon: AbandonTask[] = [];
  #doomed = false;

  constructor(stores: Stores, logger: Logger, { contended = [], subscribers = Subscribers.none }: SessionOptions = {}) {
    this.#stores = stores;
    this.#logger = logger;
    this.#contended = contended;
    this.events = new EventQueue(subscribers);
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
    this.#afterCommit.push(task);
  }

  /**
   * Runs when nothing of this will be kept, to take back what was done outside of the transaction. When a commit failed,
   * some of it may have been kept all the same.
   */
  onAbandon(task: AbandonTask): void {
    this.#onAbandon.push(task);
  }

  /** Whether nothing of this will be committed. */
  get isDoomed(): boolean {
    return this.#doomed;
  }

  /** From here on nothing will be committed, although the remaining entries of a batch are still answered. */
  doom(): void {
    this.#doomed = true;
  }

  /**
   * Ends the unit of work.
   *
   * @throws TransactionConflict when it must be run again from its start; BackendUnavailable when nothing was written
   */
  async end(keep: boolean): Promise<void> {
    if (!keep || this.#doomed) return this.abandon();
    while (this.#transactions.length > 0) {
      const transaction = this.#transactions[0]!;
      try {
        await transaction.commit();
      } catch (error) {
        this.#transactions.shift();
        await this.abandon(error instanceof TransactionConflict ? 'undone' : 'unknown');
        throw error;
      }
      this.#transactions.shift();
    }
    this.#writer = undefined;
    this.#onAbandon = [];
    await this.#runAll(this.#afterCommit.splice(0));
  }

  /** Undoes everything. Never throws. */
  async abandon(fate: Fate = 'undone'): Promise<void> {
    const transactions = this.#transactions.reverse();
    this.#transactions = [];
    this.#writer = undefined;
    this.#afterCommit = [];
    for (const transaction of transactions) await transaction.rollback();
    await this.#runAll(this.#onAbandon.splice(0).map((task) => () => task(fate)));
  }

  async #begin(database: Database): Promise<Transaction> {
    const transaction = await database.begin();
    this.#transactions.push(transaction);
    return transaction;
  }

  async #runAll(tasks: readonly Task[]): Promise<void> {
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
