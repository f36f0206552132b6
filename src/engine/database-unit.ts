// The unit of work over two backends: opens their transactions, commits or abandons them, and runs the tasks at the end.
import type { ConditionalWrite, Database, ExpectedObjects, Transaction } from '../contracts/database.ts';
import type { ChangeHint } from '../contracts/change-hints.ts';
import { leftNoTrace } from '../contracts/errors.ts';
import type { Logger } from '../contracts/logger.ts';
import type { Requester } from '../contracts/requester.ts';
import type { Action } from '../core/events/payload.ts';
import { compareLists } from '../core/objects/list-order.ts';
import type { ListKey } from '../core/objects/stored.ts';
import type { Change } from './events/event.ts';
import { notingWrites } from './commit-listener.ts';
import { EventQueue } from './events/queue.ts';
import { Subscribers } from './events/subscriber.ts';
import { OrderedWrites } from './timestamp-order.ts';
import { WorkAhead } from './work-ahead.ts';
import type { Fate, Reader, Stores, UnitOfWork, Writer } from './unit-of-work.ts';

export interface UnitOptions {
  /** Lists over which an earlier attempt at the same work conflicted; locked before all others. */
  readonly contended?: readonly ListKey[];
  /**
   * Whether the unit may commit together with other units, or by a single statement; default `false`. Such a unit may fail
   * through the fault of others, so the attempts after the first do without.
   */
  readonly allowsSharing?: boolean;
  /** Has what earlier attempts at the same work have done ahead; default nothing. */
  readonly attempts?: { readonly ahead: WorkAhead };
  /** Receivers of events; default none. */
  readonly subscribers?: Subscribers;
  /** The client of the request; default none. */
  readonly requester?: Requester | undefined;
}

export class DatabaseUnit implements UnitOfWork {
  readonly #stores: Stores;
  readonly #logger: Logger;
  readonly #contended: readonly ListKey[];
  readonly #subscribers: Subscribers;
  readonly #requester: Requester | undefined;
  readonly #allowsSharing: boolean;
  #attempts: UnitOptions['attempts'];
  // Created on first use: most requests only read and need none of these.
  #events: EventQueue | undefined;
  #transactions: Transaction[] | undefined;
  #reader: Reader | undefined;
  #writer: Writer | undefined;
  #ordered: OrderedWrites | undefined;
  #afterCommit: Task[] | undefined;
  #onAbandon: AbandonTask[] | undefined;
  #hints: ChangeHint[] | undefined;
  #isRollbackOnly = false;
  #hasSeveral = false;

  constructor(stores: Stores, logger: Logger, options: UnitOptions = {}) {
    const { contended = [], subscribers = Subscribers.none, allowsSharing = false, requester } = options;
    this.#stores = stores;
    this.#logger = logger;
    this.#contended = contended;
    this.#subscribers = subscribers;
    this.#allowsSharing = allowsSharing;
    this.#requester = requester;
    this.#attempts = options.attempts;
  }

  get reader(): Reader {
    return this.#writer ?? (this.#reader ??= this.#openReader());
  }

  #openReader(): Reader {
    const { storage, permission } = this.#stores;
    const requester = this.#requester;
    if (requester === undefined) return { storage: storage.reader, permission: permission.reader };
    return {
      storage: storage.readerFor?.(requester) ?? storage.reader,
      permission: permission.readerFor?.(requester) ?? permission.reader,
    };
  }

  /** Opens the transactions, storage first, and locks the contended lists. */
  async writer(): Promise<Writer> {
    if (this.#writer !== undefined) return this.#writer;
    const { storage, permission } = this.#stores;
    const ofStorage = await this.#begin(storage.database);
    const ofPermission = this.hasOneTransaction ? ofStorage : await this.#begin(permission.database);
    const { order } = this.#stores;
    const all = storage.writer(ofStorage);
    this.#ordered = order?.isUsed === true ? new OrderedWrites(order, all) : undefined;
    const writes = this.#ordered?.writer ?? all;
    const writer = {
      storage: this.#notesWrites ? notingWrites(writes, (hint) => (this.#hints ??= []).push(hint)) : writes,
      permission: permission.writer(ofPermission),
    };
    this.#writer = writer;
    const inOrder = this.#contended.toSorted(storage.database.compareLocks ?? compareLists);
    for (const list of inOrder) await writer.storage.lock(list);
    return writer;
  }

  get #notesWrites(): boolean {
    return this.#stores.commits?.isListening === true;
  }

  get isWriting(): boolean {
    return this.#writer !== undefined;
  }

  readerForWrite(): Reader | Promise<Reader> {
    return this.#hasSeveral && this.isRemote ? this.writer() : this.reader;
  }

  ahead<T>(key: string, work: () => Promise<T>): Promise<T> {
    this.#attempts ??= { ahead: new WorkAhead() };
    return this.#attempts.ahead.run(key, this.isWriting, work);
  }

  hasAhead(key: string): boolean {
    return this.#attempts?.ahead.has(key) === true;
  }

  get events(): EventQueue {
    return (this.#events ??= new EventQueue(this.#subscribers, this));
  }

  hasSubscribers(kind: string, action: Action): boolean {
    return this.#subscribers.wants(kind, action);
  }

  readsReplaced(kind: string): boolean {
    return this.#subscribers.readReplaced(kind);
  }

  get changes(): readonly Change[] {
    return this.#events?.changes ?? [];
  }

  /** Whether subscribers are to be called before the commit. */
  get hasEvents(): boolean {
    return this.#events?.isEmpty === false;
  }

  /** Whether the end has anything to commit, undo or run. */
  get hasConsequences(): boolean {
    return this.#transactions !== undefined || this.#afterCommit !== undefined || this.#onAbandon !== undefined;
  }

  afterCommit(task: Task): void {
    (this.#afterCommit ??= []).push(task);
  }

  onAbandon(task: AbandonTask): void {
    (this.#onAbandon ??= []).push(task);
  }

  get isRollbackOnly(): boolean {
    return this.#isRollbackOnly;
  }

  setRollbackOnly(): void {
    this.#isRollbackOnly = true;
  }

  expectSeveral(): void {
    this.#hasSeveral = true;
  }

  expect(objects: ExpectedObjects): void {
    for (const transaction of this.#transactions ?? []) transaction.expect?.(objects);
  }

  get isPrivate(): boolean {
    return !this.#stores.storage.database.abilities.durable;
  }

  get isRemote(): boolean {
    return this.#stores.storage.database.isRemote === true || this.#stores.permission.database.isRemote === true;
  }

  get hasOneTransaction(): boolean {
    return this.#stores.permission.database === this.#stores.storage.database;
  }

  canWriteConditionally(list: ListKey): boolean {
    const isPossible = this.#stores.storage.database.writeConditionally !== undefined && this.hasOneTransaction;
    const isFirst = this.#allowsSharing && !this.#hasSeveral && this.#writer === undefined;
    return isPossible && isFirst && this.#stores.order?.has(list) !== true;
  }

  async writeConditionally(write: ConditionalWrite): Promise<number | undefined> {
    try {
      const timestamp = await this.#stores.storage.database.writeConditionally!(write);
      if (timestamp !== undefined && this.#notesWrites) this.#stores.commits?.committed([{ list: write.list }]);
      return timestamp;
    } catch (error) {
      await this.abandon(fateOf(error));
      throw error;
    }
  }

  /**
   * Commits, or abandons everything when `keep` is false or `setRollbackOnly` was called.
   *
   * @throws TransactionConflict when the work must be run again from its start; BackendUnavailable, whose
   *   `isUndone` is set when nothing was written
   */
  async end(keep: boolean): Promise<void> {
    if (!keep || this.#isRollbackOnly) return this.abandon();
    const open = this.#transactions ?? [];
    let isPartlyCommitted = false;
    try {
      await this.#ordered?.settle();
      while (open.length > 0) {
        await open.shift()!.commit();
        isPartlyCommitted = true;
      }
    } catch (error) {
      await this.abandon(isPartlyCommitted ? 'unknown' : fateOf(error));
      throw error;
    }
    const tasks = this.#afterCommit;
    const hints = this.#hints;
    this.#reset();
    if (hints !== undefined) this.#stores.commits?.committed(hints);
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
    // The caller of the request, which is kept for longer, leads to this unit. Events may hold long texts.
    this.#events = undefined;
    this.#transactions = undefined;
    this.#writer = undefined;
    this.#ordered = undefined;
    this.#afterCommit = undefined;
    this.#onAbandon = undefined;
    this.#hints = undefined;
  }

  async #begin(database: Database): Promise<Transaction> {
    const isOneOfSeveral = !this.hasOneTransaction;
    const mayShare = this.#allowsSharing && !isOneOfSeveral;
    const transaction = await database.begin({ mayShare, isOneOfSeveral, party: this.#requester?.party });
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

function fateOf(error: unknown): Fate {
  return leftNoTrace(error) ? 'undone' : 'unknown';
}
