// A unit of work: a transaction, or a part of one that others are in as well. Writes are sent without waiting for their
// answers, which come in order; whatever goes wrong is known at the latest when the commit is answered.
import type { Transaction } from '../../contracts/database.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Connection, Result, SqlValue, Statement } from './connection.ts';
import type { BackendName } from './errors.ts';
import type { QueuedUnit, ListQueue } from './list-queue.ts';
import { SharedTransaction, type Inheritance, type Sender } from './shared-transaction.ts';

/** Units that share a transaction, at most: those behind it wait as long as it is open. */
const maxUnits = 8;

export interface UnitOptions {
  readonly connection: Connection;
  /** What a transaction has to say first. */
  readonly opening: Statement | undefined;
  readonly queue: ListQueue;
  /** How long it may stand in line. */
  readonly lockMs: number;
  /** Whether it may share its transaction with others. */
  readonly mayShare: boolean;
  readonly onEnd: () => void;
}

/** The lists of a unit, which know what it leaves to others. */
export interface ListsOfUnit {
  contended(): readonly ListKey[];
  /** What the next unit in the transaction may take for granted. */
  leave(): Inheritance;
  inherit(inheritance: Inheritance): void;
  /** The statements that store rows of lists that were changed by the units before. */
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

export class PostgresUnit implements Transaction, QueuedUnit, Sender {
  readonly #options: UnitOptions;
  readonly #beforeCommit: (() => void)[] = [];
  readonly #kept: (() => void)[] = [];
  readonly #afterCommit: (() => void)[] = [];
  #transaction: SharedTransaction;
  #lists: ListsOfUnit | undefined;
  #isFlushing = false;
  #hasEnded = false;
  #mayBeFollowed: boolean;
  /** What was there when it joined a transaction. */
  #inheritance: Inheritance | undefined;
  /** While it stands in line: for which list, and what it has to send. */
  #line: { readonly list: string; readonly held: Held[]; readonly timer: NodeJS.Timeout } | undefined;

  constructor(options: UnitOptions) {
    this.#options = options;
    this.#transaction = new SharedTransaction(options.connection, options.opening);
    this.#mayBeFollowed = options.mayShare;
  }

  get transaction(): SharedTransaction {
    return this.#transaction;
  }

  /**
   * Runs a statement, which sees everything that was sent before.
   *
   * @param known what need not be asked for once a transaction is joined
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
    if (this.#line !== undefined) return this.#hold(backend, statement, values, known);
    // What is read before anything is locked or written may as well be read outside.
    if (statement.isQuick !== true) this.#transaction.open();
    return this.#transaction.send(backend, statement, values, this);
  }

  /** Sends a statement whose answer nobody needs. */
  send(backend: BackendName, statement: Statement, values: readonly SqlValue[]): void {
    this.#requireOpen();
    this.#flushKept();
    if (this.#transaction.hasFailed) return;
    if (this.#line !== undefined) this.#hold(backend, statement, values).catch(() => {});
    else {
      this.#transaction.open();
      this.#transaction.send(backend, statement, values, this).catch(() => {});
    }
  }

  /**
   * The unit is about to lock the list. As long as it has locked nothing it may wait for others of this process here; all
   * that it sends from now on follows when it is its turn.
   */
  enterQueue(list: string): void {
    const { mayShare, queue, lockMs } = this.#options;
    if (!mayShare || this.#transaction.isOpen || this.#line !== undefined || queue.enter(list, this)) return;
    const timer = setTimeout(() => {
      const reason = 'a lock was not given in time';
      const error = new BackendUnavailable('storage', `PostgreSQL: ${reason}; others write to the list`, { reason });
      this.#transaction.fail(error, this);
      this.#giveUp(error);
    }, lockMs);
    this.#line = { list, held: [], timer };
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
    transaction.goOn();
    this.#lists?.inherit(inheritance);
    this.#sendHeld();
  }

  contended(): readonly ListKey[] {
    return this.#lists?.contended() ?? [];
  }

  /** Introduces its lists. */
  reportLists(lists: ListsOfUnit): void {
    this.#lists = lists;
  }

  /** Lets no other unit go on in its transaction, because the unit changes what followers could not take into account. */
  refuseFollowers(): void {
    this.#mayBeFollowed = false;
  }

  /** Registers a function that sends changes held back, and is called before any other statement is sent. */
  keepBack(flush: () => void): void {
    this.#kept.push(flush);
  }

  /** Registers what is still to be sent when the transaction commits. */
  beforeCommit(task: () => void): void {
    this.#beforeCommit.push(task);
  }

  /** Registers what to do once the commit is known to have happened. */
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

  /** Who goes on in the transaction, if anybody may, and waits for it. */
  #findFollower(): QueuedUnit | undefined {
    const { units, hasFailed } = this.#transaction;
    if (!this.#mayBeFollowed || hasFailed || units >= maxUnits) return undefined;
    return this.#options.queue.next(this.#transaction);
  }

  async #commit(): Promise<void> {
    this.#transaction.unite();
    for (const task of this.#beforeCommit) task();
    this.#flushKept();
    this.#hasEnded = true;
    if (!this.#transaction.isOpen) return this.#end();
    await this.#transaction.commit(() => this.#leaveLines());
    await this.#transaction.requireCommitted(this);
  }

  async #rollback(): Promise<void> {
    const inheritance = this.#inheritance;
    if (inheritance === undefined || !(await this.#transaction.undoLast(this))) return this.#end();
    // Those before it wait for the commit. Nobody else joins: what it was refused the next one would be refused as well.
    this.#transaction.unite();
    for (const [statement, values] of this.#lists!.settle(inheritance)) {
      this.#transaction.send('storage', statement, values, this).catch(() => {});
    }
    await this.#transaction.commit(() => this.#leaveLines());
  }

  /** Ends the transaction with nothing kept. */
  #end(): Promise<void> {
    const ending = this.#transaction.rollback();
    this.#leaveLines();
    return ending;
  }

  #leaveLines(): void {
    this.#options.queue.leave(this.#transaction);
  }

  #hold(
    backend: BackendName,
    statement: Statement,
    values: readonly SqlValue[],
    known?: () => Result | undefined,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#line!.held.push({ backend, statement, values, known, resolve, reject });
    });
  }

  #sendHeld(): void {
    const line = this.#line;
    if (line === undefined) return;
    this.#line = undefined;
    clearTimeout(line.timer);
    for (const { backend, statement, values, known, resolve, reject } of line.held) {
      const result = this.#inheritance === undefined ? undefined : known?.();
      if (result !== undefined) resolve(result);
      else this.#transaction.send(backend, statement, values, this).then(resolve, reject);
    }
  }

  #giveUp(error: Error): void {
    const line = this.#line;
    if (line === undefined) return;
    this.#line = undefined;
    clearTimeout(line.timer);
    this.#options.queue.giveUp(line.list, this);
    for (const { reject } of line.held) reject(error);
  }

  /** What was kept back leaves in the order in which those who keep it were registered; they send nothing else. */
  #flushKept(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    for (const flush of this.#kept) flush();
    this.#isFlushing = false;
  }

  #requireOpen(): void {
    if (this.#hasEnded) throw new Error('the transaction has ended already');
  }
}
