// The single writer of a database file. The next user is the one whose units have run for the shortest time; units of one
// user run in the order of their calls. Each unit can be rolled back alone. One COMMIT and one flush make the units of a group
// durable, and then their requests are answered.
import type { Transaction } from '../../contracts/database.ts';
import { FairQueue } from '../../base/fair-queue.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { PoolState } from '../../contracts/observer.ts';
import { CommitGroup } from './commit-group.ts';
import type { Connection } from './connection.ts';
import { isBusy, isDiskError, translateError, type BackendName } from './errors.ts';
import { LongUnits } from './long-units.ts';
import type { Changes } from './read-cache.ts';
import { endsOfFirst, endsOfLater, type UnitEnds } from './unit-ends.ts';

export interface WriterQueueOptions {
  /** Number of units after which a group is committed although more are waiting. */
  readonly maxGroupUnits?: number;
  /** Time since its BEGIN after which a group is committed although more are waiting. */
  readonly maxGroupMilliseconds?: number;
  /** Time of a unit from which the units before the next one of its user are committed without it; default 10. */
  readonly longUnitMs?: number;
  /** Time for which BEGIN is retried while another process has the write lock of the file. */
  readonly busyTimeoutMs?: number;
}

/** Functions that are called around each COMMIT. */
export interface CommitHooks {
  /** Called directly before it. */
  readonly before?: () => void;
  /** Called directly after it, while no transaction is open. Never throws. */
  readonly done?: () => void;
  /** Makes it durable when COMMIT itself does not. The next group is committed after that. */
  readonly flush?: (() => Promise<void>) | undefined;
  /** Called when the group is durable or lost, but not after a failed flush, whose outcome is unknown. Never throws. */
  readonly settled?: (changes: Changes) => void;
  /** Called with each driver error of a unit or a commit. */
  readonly failed?: (error: unknown) => void;
}

/**
 * `background` work runs when nothing else waits, or after `turnsBeforeBackground` other units. It can be repeated, so it
 * is answered when it is committed, and need not be durable then.
 */
export type Priority = 'normal' | 'background';
const turnsBeforeBackground = 50;
/**
 * Total time of COMMIT after which background work is flushed by itself. Otherwise the next unit would wait for all of it.
 */
const longestUnflushedMs = 10;
const firstRetryMs = 5;
const longestRetryMs = 100;

export interface TurnOptions {
  readonly priority?: Priority;
  readonly party?: string | undefined;
  /** Whether the unit is the last one of its group; default `false`. */
  readonly isLast?: boolean | undefined;
}

interface Waiter {
  readonly priority: Priority;
  readonly party: string | undefined;
  readonly isLast: boolean;
  readonly resolve: (unit: WriterUnit) => void;
  readonly reject: (error: unknown) => void;
}

/** The open unit. It cannot be used after `commit` or `rollback`. */
export class WriterUnit implements Transaction {
  readonly #queue: WriterQueue;
  readonly #group: CommitGroup;
  readonly #connection: Connection;
  readonly #ends: UnitEnds;
  readonly #release: () => void;
  #open = true;

  constructor(queue: WriterQueue, group: CommitGroup, connection: Connection, ends: UnitEnds, release: () => void) {
    this.#queue = queue;
    this.#group = group;
    this.#connection = connection;
    this.#ends = ends;
    this.#release = release;
  }

  belongsTo(queue: WriterQueue): boolean {
    return this.#queue === queue;
  }

  /** The changes of the group, to which the unit adds its own before it makes them. */
  get changes(): Changes {
    return this.#group.changes;
  }

  /** Duration of the COMMIT of its group without the flush; known once `commit` has resolved. */
  get commitMs(): number {
    return this.#group.commitMs;
  }

  /** Runs one operation on the writer connection, as part of this unit. */
  run<T>(backend: BackendName, operation: (connection: Connection) => T): T {
    if (!this.#open) throw new Error('the transaction has ended already');
    if (this.#group.failure !== undefined) throw this.#group.failure;
    try {
      return operation(this.#connection);
    } catch (error) {
      this.#queue.noteFailure(error);
      // On some errors (disk full, input/output) SQLite has undone the whole transaction, including earlier units.
      if (!this.#connection.inTransaction) throw this.#group.fail(error, true);
      throw translateError(error, backend);
    }
  }

  async commit(): Promise<void> {
    if (!this.#open) throw new Error('the transaction has ended already');
    this.#end(this.#ends.commit);
    return this.#group.outcome;
  }

  /** Resolves with the group, because the unit may have seen what earlier units of the group wrote. */
  async rollback(): Promise<void> {
    if (!this.#open) return;
    this.#end(this.#ends.rollback);
    await this.#group.outcome.catch(() => undefined);
  }

  #end(statements: readonly string[]): void {
    this.#open = false;
    if (this.#group.failure === undefined) {
      try {
        for (const sql of statements) this.#connection.run(sql);
      } catch (error) {
        this.#queue.noteFailure(error);
        this.#group.fail(error, true);
      }
    }
    this.#release();
  }
}

export class WriterQueue {
  readonly #connection: Connection;
  readonly #options: Required<WriterQueueOptions>;
  readonly #hooks: CommitHooks;
  readonly #waiting = new FairQueue<Waiter>();
  readonly #background: Waiter[] = [];
  #turnsSinceBackground = 0;
  readonly #longUnits: LongUnits;
  #current: WriterUnit | undefined;
  #group: CommitGroup | undefined;
  /** Set while BEGIN is being retried. */
  #retry: NodeJS.Timeout | undefined;
  #commit: NodeJS.Immediate | undefined;
  #isFlushing = false;
  /** Total time of COMMIT since the last flush. */
  #unflushedMs = 0;
  /** Set for good when a flush has failed: SQLite relies on pages that may not be on the disk. */
  #broken: BackendUnavailable | undefined;
  /** Task that waits for the end of the group. */
  #task: (() => Promise<void>) | undefined;
  #isPaused = false;
  #closed = false;
  readonly #closers: (() => void)[] = [];

  constructor(connection: Connection, options: WriterQueueOptions = {}, hooks: CommitHooks = {}) {
    this.#connection = connection;
    this.#hooks = hooks;
    this.#options = {
      maxGroupUnits: options.maxGroupUnits ?? 100,
      maxGroupMilliseconds: options.maxGroupMilliseconds ?? 20,
      longUnitMs: options.longUnitMs ?? 10,
      busyTimeoutMs: options.busyTimeoutMs ?? 5000,
    };
    this.#longUnits = new LongUnits(this.#options.longUnitMs);
  }

  /**
   * Waits until no other unit writes, and opens one.
   *
   * @param options.party the party of the requester: the one whose units have run for the shortest time is next
   * @throws BackendUnavailable when another process keeps the file locked, the disk has failed, or the queue is closed
   */
  begin({ priority = 'normal', party, isLast = false }: TurnOptions = {}): Promise<WriterUnit> {
    if (this.#closed) return Promise.reject(new BackendUnavailable('storage', 'the SQLite database is closed'));
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    return new Promise((resolve, reject) => {
      const waiter = { priority, party, isLast, resolve, reject };
      if (priority === 'background') this.#background.push(waiter);
      else this.#waiting.push(party, waiter);
      this.#advance();
    });
  }

  /** Reports an error of the driver. */
  noteFailure(error: unknown): void {
    this.#hooks.failed?.(error);
  }

  /** One unit writes at a time; others wait. */
  get state(): PoolState {
    return { limit: 1, open: 1, idle: this.#current === undefined ? 1 : 0, waiting: this.#waiting.length };
  }

  /**
   * Ends the group, and runs the task before another one begins. One task at a time.
   *
   * @throws the error of the task
   */
  whileIdle(task: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#task = () => task().then(resolve, reject);
      this.#advance();
    });
  }

  /** Refuses new units, and waits until those that called before are committed. */
  close(): Promise<void> {
    this.#closed = true;
    return new Promise((resolve) => {
      this.#closers.push(resolve);
      this.#advance();
    });
  }

  /** Does the next step, unless a unit is open. */
  #advance(): void {
    if (this.#current !== undefined || this.#retry !== undefined || this.#isPaused) return;
    if (this.#group !== undefined && this.#isComplete(this.#group)) {
      // The last unit may have taken long, and so may the commit. Requests run between the two.
      if (!this.#isFlushing) this.#endGroupNextTurn();
    } else if (this.#task !== undefined) {
      if (!this.#isFlushing) this.#pauseFor(this.#task);
    } else if (this.#hasWaiters()) {
      if (this.#group !== undefined) this.#grant(this.#group);
      else this.#openGroup();
    } else if (this.#isFlushing) {
      // Units that arrive meanwhile join the next group, which is committed when the flush has ended.
    } else if (this.#group === undefined) {
      for (const close of this.#closers.splice(0)) close();
    } else {
      // Requests that arrive in this turn of the event loop still join the group.
      this.#endGroupNextTurn();
    }
  }

  #endGroupNextTurn(): void {
    this.#commit ??= setImmediate(() => {
      this.#commit = undefined;
      if (this.#current !== undefined || this.#group === undefined || this.#isFlushing) return;
      this.#endGroup(this.#group);
      this.#advance();
    });
  }

  #pauseFor(task: () => Promise<void>): void {
    this.#task = undefined;
    this.#isPaused = true;
    void task().then(() => {
      this.#isPaused = false;
      this.#advance();
    });
  }

  #hasWaiters(): boolean {
    return this.#waiting.length > 0 || this.#background.length > 0;
  }

  #nextWaiter(): Waiter {
    const ofBackground =
      this.#waiting.length === 0 ||
      (this.#background.length > 0 && this.#turnsSinceBackground >= turnsBeforeBackground);
    this.#turnsSinceBackground = ofBackground ? 0 : this.#turnsSinceBackground + 1;
    return (ofBackground ? this.#background : this.#waiting).shift()!;
  }

  #grant(group: CommitGroup): void {
    const isFirst = group.units === 0;
    try {
      if (!isFirst) this.#connection.run('SAVEPOINT unit');
    } catch (error) {
      // Thrown before any unit could begin. The group ends here, and the waiting units start another one.
      this.noteFailure(error);
      this.#nextWaiter().reject(group.fail(error, true));
      this.#advance();
      return;
    }
    group.units++;
    const { priority, party, isLast, resolve } = this.#nextWaiter();
    group.isClosed = isLast;
    const grantedAt = performance.now();
    const unit = new WriterUnit(this, group, this.#connection, isFirst ? endsOfFirst : endsOfLater, () => {
      this.#current = undefined;
      if (priority === 'normal') {
        const tookMs = performance.now() - grantedAt;
        this.#waiting.charge(party, tookMs);
        this.#longUnits.note(party, tookMs);
      }
      this.#advance();
    });
    this.#current = unit;
    if (priority === 'normal') group.mustLast = true;
    resolve(unit);
  }

  #openGroup(attempt = 0, startedAt: number = performance.now()): void {
    try {
      // A transaction that could not be rolled back when it ended.
      if (this.#connection.inTransaction) this.#connection.run('ROLLBACK');
      this.#connection.run('BEGIN IMMEDIATE');
    } catch (error) {
      this.noteFailure(error);
      if (isBusy(error) && performance.now() - startedAt < this.#options.busyTimeoutMs) {
        const delay = Math.min(firstRetryMs * 2 ** attempt, longestRetryMs);
        this.#retry = setTimeout(() => {
          this.#retry = undefined;
          // The waiting units may have been refused meanwhile, because a flush has failed.
          if (this.#hasWaiters()) this.#openGroup(attempt + 1, startedAt);
          else this.#advance();
        }, delay);
        return;
      }
      // All of them have waited for this lock. Separate waits of each would only prolong the outage.
      this.#refuseAll(translateError(error, 'storage'));
      this.#advance();
      return;
    }
    this.#group = new CommitGroup(performance.now());
    this.#grant(this.#group);
  }

  #refuseAll(error: unknown): void {
    for (const { reject } of [...this.#waiting.clear(), ...this.#background.splice(0)]) reject(error);
  }

  #isComplete(group: CommitGroup): boolean {
    return (
      !group.takesUnits ||
      this.#task !== undefined ||
      group.units >= this.#options.maxGroupUnits ||
      (group.units > 0 && this.#longUnits.isNextOf(this.#waiting)) ||
      // Until the flush has ended, a longer group delays nothing.
      (!this.#isFlushing && performance.now() - group.startedAt >= this.#options.maxGroupMilliseconds)
    );
  }

  #endGroup(group: CommitGroup): void {
    this.#group = undefined;
    try {
      if (group.failure === undefined) {
        this.#hooks.before?.();
        const startedAt = performance.now();
        this.#connection.run('COMMIT');
        group.commitMs = performance.now() - startedAt;
        this.#hooks.done?.();
      }
    } catch (error) {
      this.noteFailure(error);
      group.fail(error, !isDiskError(error));
    }
    if (group.failure !== undefined) this.#rollBack();
    this.#unflushedMs += group.commitMs;
    const isFlushDue = group.mustLast || this.#unflushedMs >= longestUnflushedMs;
    if (group.failure !== undefined || !isFlushDue || this.#hooks.flush === undefined) this.#settle(group);
    else this.#flushThrough(group, this.#hooks.flush);
  }

  #flushThrough(group: CommitGroup, flush: () => Promise<void>): void {
    this.#isFlushing = true;
    this.#unflushedMs = 0;
    void flush()
      .then(
        () => this.#settle(group),
        (error: unknown) => this.#break(group, error),
      )
      .finally(() => {
        this.#isFlushing = false;
        this.#advance();
      });
  }

  #settle(group: CommitGroup): void {
    group.succeed();
    this.#hooks.settled?.(group.changes);
  }

  /** Fails for good. The commit cannot be undone; the next start finds out what the disk has. */
  #break(group: CommitGroup, error: unknown): void {
    this.#broken = group.fail(error, false);
    // The next group may have seen writes that are lost.
    this.#group?.fail(this.#broken, false);
    this.#refuseAll(this.#broken);
  }

  #rollBack(): void {
    try {
      if (this.#connection.inTransaction) this.#connection.run('ROLLBACK');
    } catch {
      // The next BEGIN tries again.
    }
  }
}
