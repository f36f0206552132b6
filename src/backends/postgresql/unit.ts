// A unit of work: a transaction, or a part of a shared one. Writes are sent without waiting for their results, which arrive
// in order. A failure is known at the latest when the commit returns.
import type { ExpectedObjects, Transaction } from '../../contracts/database.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { ListName } from '../../core/lists/list-key.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Timeouts } from './connection-pool.ts';
import type { Connection, Result, SqlValue, Statement } from './connection.ts';
import type { BackendName } from './errors.ts';
import type { ExpectedObjectsOfUnit } from './expected-objects.ts';
import type { QueuedUnit, ListQueue } from './list-queue.ts';
import { SharedTransaction, type Inheritance, type Sender } from './shared-transaction.ts';

export interface UnitOptions {
  readonly connection: Connection;
  /** First statement of each transaction, if any. */
  readonly opening: Statement | undefined;
  readonly queue: ListQueue;
  /** Maximum times; that of a lock is also the one in the queue of a list. */
  readonly timeouts: Timeouts;
  /** Whether it may share its transaction with others. */
  readonly mayShare: boolean;
  readonly onEnd: () => void;
}

/** The lists of a unit, and their state for the next unit. */
export interface ListsOfUnit {
  contended(): readonly ListKey[];
  /** Announced objects, which are read together when the first of them is needed. */
  readonly expected: ExpectedObjectsOfUnit;
  /** Returns the state that the next unit in the transaction may rely on. */
  leave(): Inheritance;
  /** @param since when the unit began to wait, as `performance.now()` */
  inherit(inheritance: Inheritance, since: number): void;
  /** Returns the statements that store the rows of lists that earlier units have changed. */
  settle(inheritance: Inheritance): readonly (readonly [Statement, readonly SqlValue[]])[];
}

interface Held {
  readonly backend: BackendName;
  readonly statement: Statement;
  readonly values: readonly SqlValue[];
  readonly known: (() => Result | undefined) | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
}

/** A wait for the end of the queue. */
interface Turn {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** The wait of a unit in the queue of a list. */
interface Waiting {
  readonly list: ListName;
  /** Statements to send at its end. */
  readonly held: Held[];
  readonly turns: Turn[];
  readonly timer: NodeJS.Timeout;
  /** Time of its start, as `performance.now()`. */
  readonly since: number;
}

export class PostgresUnit implements Transaction, QueuedUnit, Sender {
  readonly #options: UnitOptions;
  readonly #beforeCommit: (() => void)[] = [];
  readonly #holdBacks: (() => void)[] = [];
  readonly #afterCommit: (() => void)[] = [];
  #transaction: SharedTransaction;
  #lists: ListsOfUnit | undefined;
  #isFlushing = false;
  #hasEnded = false;
  #mayBeFollowed: boolean;
  /** State of the shared transaction when the unit joined it. */
  #inheritance: Inheritance | undefined;
  /** Present while the unit waits in a queue. */
  #queued: Waiting | undefined;

  constructor(options: UnitOptions) {
    this.#options = options;
    this.#transaction = new SharedTransaction(options.connection, options.opening, options.timeouts);
    this.#mayBeFollowed = options.mayShare;
  }

  get transaction(): SharedTransaction {
    return this.#transaction;
  }

  /** Whether it waits in a queue. */
  get isWaiting(): boolean {
    return this.#queued !== undefined;
  }

  /**
   * Runs a statement, which sees all writes sent before.
   *
   * @param known returns the result without a query once the unit has joined a transaction
   */
  async run(
    backend: BackendName,
    statement: Statement,
    values: readonly SqlValue[],
    known?: () => Result | undefined,
  ): Promise<Result> {
    this.#requireOpen();
    this.#flushKept();
    const failure = this.#transaction.failureOf(this);
    if (failure !== undefined) throw failure;
    if (this.#queued !== undefined) return this.#hold(backend, statement, values, known);
    // A read before the first lock or write needs no transaction.
    if (statement.isQuick !== true) this.#transaction.open();
    return this.#transaction.send(backend, statement, values, this);
  }

  /** Sends a statement without awaiting its result. */
  send(backend: BackendName, statement: Statement, values: readonly SqlValue[]): void {
    this.#requireOpen();
    this.#flushKept();
    if (this.#transaction.hasFailed) return;
    if (this.#queued !== undefined) this.#hold(backend, statement, values).catch(() => {});
    else {
      this.#transaction.open();
      this.#transaction.send(backend, statement, values, this).catch(() => {});
    }
  }

  /**
   * Waits for the list in the queue of this process, when the unit has locked nothing yet. Later statements are sent when
   * the unit is next.
   */
  enterQueue(list: ListName): void {
    const { mayShare, queue, timeouts } = this.#options;
    if (!mayShare || this.#transaction.isOpen || this.#queued !== undefined || queue.enter(list, this)) return;
    const timer = setTimeout(() => {
      const reason = 'a lock was not granted in time';
      const error = new BackendUnavailable('storage', `PostgreSQL: ${reason}; others write to the list`, {
        reason,
        isUndone: true,
      });
      this.#transaction.fail(error, this);
      this.#giveUp(error);
    }, timeouts.lockMs);
    this.#queued = { list, held: [], turns: [], timer, since: performance.now() };
  }

  start(): void {
    this.#transaction.open();
    this.#sendHeld();
  }

  join(transaction: SharedTransaction, inheritance: Inheritance): void {
    const own = this.#transaction;
    this.#transaction = transaction;
    this.#inheritance = inheritance;
    void own.rollback();
    transaction.addUnit();
    this.#lists?.inherit(inheritance, this.#queued?.since ?? Infinity);
    this.#sendHeld();
  }

  contended(): readonly ListKey[] {
    return this.#lists?.contended() ?? [];
  }

  expect(objects: ExpectedObjects): void {
    this.#lists?.expected.add(objects);
  }

  get expected(): ExpectedObjectsOfUnit | undefined {
    return this.#lists?.expected;
  }

  /** Returns what the units expect that wait for the list, as far as they may join the transaction. */
  expectedOfFollowers(list: ListName): readonly ExpectedObjectsOfUnit[] {
    if (!this.#mayBeFollowed) return [];
    const followers = this.#options.queue.waitingFor(list, this.#transaction.room);
    return followers.flatMap(({ expected }) => expected ?? []);
  }

  /** Resolves when the unit waits in no queue. Rejects when it gives up. */
  waitForTurn(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#queued === undefined) resolve();
      else this.#queued.turns.push({ resolve, reject });
    });
  }

  /** Registers the lists of the unit. */
  reportLists(lists: ListsOfUnit): void {
    this.#lists = lists;
  }

  /** Keeps other units out of the transaction, because the unit makes changes that `Inheritance` does not include. */
  refuseFollowers(): void {
    this.#mayBeFollowed = false;
  }

  /** Registers a function that sends held-back changes. It is called before any other statement is sent. */
  keepBack(flush: () => void): void {
    this.#holdBacks.push(flush);
  }

  /** Registers a function that sends the last statements before the commit. */
  beforeCommit(task: () => void): void {
    this.#beforeCommit.push(task);
  }

  /** Registers a task that runs once the unit is committed. */
  afterCommit(task: () => void): void {
    this.#afterCommit.push(task);
  }

  async commit(): Promise<void> {
    this.#requireOpen();
    this.#flushKept();
    try {
      const next = this.#findFollower();
      if (next === undefined) await this.#commit();
      else {
        this.#hasEnded = true;
        next.join(this.#transaction, this.#lists!.leave());
        await this.#transaction.requireCommitted(this);
      }
    } finally {
      this.#options.onEnd();
    }
    for (const task of this.#afterCommit) task();
  }

  async rollback(): Promise<void> {
    if (this.#hasEnded) return;
    this.#giveUp(new Error('the transaction has ended already'));
    this.#hasEnded = true;
    try {
      await this.#rollback();
    } finally {
      this.#options.onEnd();
    }
  }

  /** Returns a waiting unit that may join the transaction. */
  #findFollower(): QueuedUnit | undefined {
    if (!this.#mayBeFollowed || this.#transaction.room === 0) return undefined;
    return this.#options.queue.next(this.#transaction);
  }

  async #commit(): Promise<void> {
    this.#transaction.mergeUnits();
    for (const task of this.#beforeCommit) task();
    this.#flushKept();
    this.#hasEnded = true;
    if (!this.#transaction.isOpen) return this.#end();
    await this.#transaction.commit(() => this.#leaveQueues());
    await this.#transaction.requireCommitted(this);
  }

  async #rollback(): Promise<void> {
    const inheritance = this.#inheritance;
    if (inheritance === undefined || !(await this.#transaction.undoLast(this))) return this.#end();
    // Earlier units wait for the commit. No other unit joins: it could meet the failure of this one too.
    this.#transaction.mergeUnits();
    for (const [statement, values] of this.#lists!.settle(inheritance)) {
      this.#transaction.send('storage', statement, values, this).catch(() => {});
    }
    await this.#transaction.commit(() => this.#leaveQueues());
  }

  /** Ends the transaction, and keeps nothing. */
  #end(): Promise<void> {
    const ending = this.#transaction.rollback();
    this.#leaveQueues();
    return ending;
  }

  #leaveQueues(): void {
    this.#options.queue.leave(this.#transaction);
  }

  #hold(
    backend: BackendName,
    statement: Statement,
    values: readonly SqlValue[],
    known?: () => Result | undefined,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#queued!.held.push({ backend, statement, values, known, resolve, reject });
    });
  }

  #sendHeld(): void {
    const queued = this.#queued;
    if (queued === undefined) return;
    this.#queued = undefined;
    clearTimeout(queued.timer);
    for (const { backend, statement, values, known, resolve, reject } of queued.held) {
      const result = this.#inheritance === undefined ? undefined : known?.();
      if (result !== undefined) resolve(result);
      else this.#transaction.send(backend, statement, values, this).then(resolve, reject);
    }
    for (const { resolve } of queued.turns) resolve();
  }

  #giveUp(error: Error): void {
    const queued = this.#queued;
    if (queued === undefined) return;
    this.#queued = undefined;
    clearTimeout(queued.timer);
    this.#options.queue.giveUp(queued.list, this);
    for (const { reject } of [...queued.held, ...queued.turns]) reject(error);
  }

  /** Sends held-back changes in the order of their registration. The functions send nothing else. */
  #flushKept(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    for (const flush of this.#holdBacks) flush();
    this.#isFlushing = false;
  }

  #requireOpen(): void {
    if (this.#hasEnded) throw new Error('the transaction has ended already');
  }
}
