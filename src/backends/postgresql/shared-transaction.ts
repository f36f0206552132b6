// A transaction on one connection, shared by units of work of this process that write to the same list. They run one after
// another, each behind a savepoint, and are committed together, so none waits for the commit of the previous one.
import { TransactionConflict } from '../../contracts/errors.ts';
import type { ListName } from '../../core/lists/list-key.ts';
import type { ListKey, StoredObject } from '../../core/objects/stored.ts';
import type { Timeouts } from './connection-pool.ts';
import type { Connection, Result, SqlValue, Statement } from './connection.ts';
import {
  asTooMuchWork,
  isLockRefused,
  isLostConnection,
  isReported,
  translateError,
  type BackendName,
} from './errors.ts';
import type { KnownEntries } from './known-entries.ts';
import type { ListLock } from './list-lock.ts';

const begin: Statement = { text: 'BEGIN ISOLATION LEVEL READ COMMITTED' };
const commit: Statement = { text: 'COMMIT' };
const rollback: Statement = { text: 'ROLLBACK' };
const beginQuery: Statement = { text: 'SAVEPOINT coffer_query' };
const undoQuery: Statement = { text: 'ROLLBACK TO SAVEPOINT coffer_query' };
const endQuery: Statement = { text: 'RELEASE SAVEPOINT coffer_query' };

/** Maximum number of units that share a transaction, which keeps other units waiting. */
const maxUnits = 8;

/** Part of the maximum wait for a lock that the queries of a client have together while the transaction holds locks. */
const partOfQueries = 1 / 2;

/**
 * Part of that time from which the queries of a unit keep other units out. The queries of all units together then take less than
 * twice the time of one, which is the maximum wait for a lock.
 */
const partOfFollowed = 1 / maxUnits;

/** An object, and the lists under whose locks it was read. */
export interface KeptObject {
  readonly object: StoredObject;
  readonly belows: readonly ListName[];
}

/** State that a unit hands over to the next one in its transaction. */
export interface Inheritance {
  /** The locked lists, as they will be after the writes so far. */
  readonly lists: readonly ListLock[];
  /** Whether the transaction plans its statements for large tables. */
  readonly usesIndexes: boolean;
  /** Lists that the transaction has waited for. */
  readonly wanted: readonly ListKey[];
  /** Names of the lists that the transaction has created. */
  readonly added: readonly ListName[];
  /** Objects by name that were read under the locks of lists below them, which the transaction has. */
  readonly kept: ReadonlyMap<string, KeptObject>;
  /** Permission entries that were read under the locks. */
  readonly knownEntries: KnownEntries;
}

/** A sender of statements: a unit, or the transaction itself. */
export interface Sender {
  /** Returns the lists that it has locked or waits for. */
  contended(): readonly ListKey[];
}

interface Failure {
  readonly error: Error;
  readonly by: Sender;
  /** Whether the transaction may be committed nevertheless, because the result of the commit was lost as well. */
  readonly isOpen: boolean;
}

/** A statement with its sender. */
interface Sent {
  readonly backend: BackendName;
  readonly statement: Statement;
  readonly by: Sender;
}

/** Sends statements of the transaction itself. */
const noUnit: Sender = { contended: () => [] };

export class SharedTransaction {
  /** Names of the lists that it has claimed in the queue. */
  readonly claimed = new Set<ListName>();
  readonly #connection: Connection;
  readonly #opening: Statement | undefined;
  readonly #statementMs: number;
  /** Maximum time of the queries of a unit, for which other writers wait. */
  readonly #maxQueryMs: number;
  /** Time of the queries of the last unit. */
  #queryMs = 0;
  readonly #outcome: Promise<Error | undefined>;
  #settle!: (error: Error | undefined) => void;
  #isOpen = false;
  #isEnding = false;
  #units = 1;
  /** Number of statements that were sent. */
  #sent = 0;
  /** The first failure and its sender. The server refuses all later statements. */
  #failure: Failure | undefined;

  constructor(connection: Connection, opening: Statement | undefined, { statementMs, lockMs }: Timeouts) {
    this.#connection = connection;
    this.#opening = opening;
    this.#statementMs = statementMs;
    this.#maxQueryMs = Math.min(statementMs, lockMs * partOfQueries);
    this.#outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Whether a statement was sent in the transaction. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Number of units that may still join. */
  get room(): number {
    if (this.hasFailed || this.#queryMs >= this.#maxQueryMs * partOfFollowed) return 0;
    return maxUnits - this.#units;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Returns why the writes of the unit are lost; `undefined`: they are not. A unit that another one broke is retried. */
  failureOf(unit: Sender): Error | undefined {
    if (this.#failure === undefined) return undefined;
    const { error, by, isOpen } = this.#failure;
    if (by === unit || this.#units === 1 || isOpen) return error;
    return new TransactionConflict(`another unit of the transaction failed: ${error.message}`, { cause: error });
  }

  /**
   * Waits until all units in it are committed.
   *
   * @throws the failure that prevented the commit
   */
  async requireCommitted(unit: Sender): Promise<void> {
    const error = await this.#outcome;
    if (error !== undefined) throw this.failureOf(unit) ?? error;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#sendQuietly(begin);
    if (this.#opening !== undefined) this.#sendQuietly(this.#opening);
  }

  /** Starts the part of another unit. */
  addUnit(): void {
    this.#units++;
    this.#queryMs = 0;
    this.#sendQuietly({ text: `SAVEPOINT ${nameOf(this.#units)}` });
  }

  /** Merges the parts of all units. Rows that one part has locked and another one changes cost the server more. */
  mergeUnits(): void {
    if (this.#units > 1) this.#sendQuietly({ text: `RELEASE SAVEPOINT ${nameOf(2)}` });
  }

  /** Records a failure, after which no statement is sent. */
  fail(error: Error, by: Sender): void {
    this.#failure ??= { error, by, isOpen: false };
  }

  async send(backend: BackendName, statement: Statement, values: readonly SqlValue[], by: Sender): Promise<Result> {
    const number = ++this.#sent;
    try {
      return await (isQuery(statement) ? this.#runQuery(statement, values) : this.#connection.run(statement, values));
    } catch (error) {
      if (isQuery(statement) && number === this.#sent) {
        const refusal = await this.#undoQuery(statement, backend, error);
        if (refusal !== undefined) throw refusal;
      }
      const isOpen = this.#isEnding && !isReported(error);
      const translated = this.#translate(error, isOpen, { backend, statement, by });
      this.#failure ??= { error: translated, by, isOpen };
      throw this.failureOf(by) ?? translated;
    }
  }

  /** Runs a query of a client in the time that is left to its unit. All statements are sent at once. */
  async #runQuery(statement: Statement, values: readonly SqlValue[]): Promise<Result> {
    let startedAt: number | undefined;
    // Statements before it may wait for locks.
    const start = (): void => void (startedAt = performance.now());
    // If one of these fails, so does the query, whose error says why.
    this.#connection.run(beginQuery).catch(() => {});
    this.#connection.run(timeoutOf(Math.max(1, this.#maxQueryMs - this.#queryMs))).then(start, () => {});
    const running = this.#connection.run(statement, values);
    this.#connection.run(timeoutOf(this.#statementMs)).catch(() => {});
    this.#connection.run(endQuery).catch(() => {});
    try {
      return await running;
    } finally {
      if (startedAt !== undefined) this.#queryMs += performance.now() - startedAt;
    }
  }

  /**
   * Undoes a query of a client that took too long or that the server refuses, so that the transaction can go on. No statement may
   * have been sent after it, which would have failed too. Returns the error; `undefined` after other failures.
   */
  async #undoQuery({ scans }: Statement, backend: BackendName, error: unknown): Promise<Error | undefined> {
    if (this.hasFailed || !isReported(error)) return undefined;
    const refusal = asTooMuchWork(translateError(error, backend, this.#connection.place, true), scans, true);
    if (refusal === undefined) return undefined;
    const undoing = this.#connection.run(undoQuery);
    const ending = this.#connection.run(endQuery);
    const [undone] = await Promise.allSettled([undoing, ending]);
    return undone.status === 'fulfilled' ? refusal : undefined;
  }

  /** Undoes the part of the last unit; returns whether that was possible. */
  async undoLast(last: Sender): Promise<boolean> {
    const isFaultOfAnother = (): boolean => this.#failure !== undefined && this.#failure.by !== last;
    if (isFaultOfAnother()) return false;
    try {
      await this.#connection.run({ text: `ROLLBACK TO SAVEPOINT ${nameOf(this.#units)}` });
    } catch {
      // The connection is lost, or the savepoint does not exist because an earlier unit had failed.
      return false;
    }
    if (isFaultOfAnother()) return false;
    this.#failure = undefined;
    return true;
  }

  /**
   * Commits everything. Never throws: the units receive the outcome.
   *
   * @param onSent called when the commit has been sent, so that later statements come after it
   */
  async commit(onSent: () => void): Promise<void> {
    this.#isEnding = true;
    const committing = this.#findFailure(this.#connection.run(commit));
    onSent();
    const failure = await committing;
    this.#connection.release();
    this.#settle(failure);
  }

  async #findFailure(committing: Promise<Result>): Promise<Error | undefined> {
    try {
      const { command } = await committing;
      if (this.#failure !== undefined) return this.#failure.error;
      return command === 'COMMIT' ? undefined : new TransactionConflict('PostgreSQL rolled the transaction back');
    } catch (error) {
      // An earlier failure is more precise. When the connection is lost here, the commit may have happened, so the error is
      // not a conflict, and the units do not run again.
      return this.#failure?.error ?? translateError(error, 'storage', this.#connection.place);
    }
  }

  /** Undoes everything. Never throws. */
  async rollback(): Promise<void> {
    this.#isEnding = true;
    let isUsable = true;
    try {
      if (this.#isOpen) await this.#connection.run(rollback);
    } catch {
      // A connection that cannot roll back is closed. The server then rolls back.
      isUsable = false;
    }
    this.#connection.release(isUsable);
    this.#settle(new TransactionConflict('another unit of the transaction failed', { cause: this.#failure?.error }));
  }

  #sendQuietly(statement: Statement): void {
    this.send('storage', statement, [], noUnit).catch(() => {});
  }

  #translate(error: unknown, isOpen: boolean, { backend, statement, by }: Sent): Error {
    if (isLostConnection(error) && !isOpen) {
      // Before the commit is sent nothing is committed, so the unit can run again on a new connection.
      return new TransactionConflict('the connection to PostgreSQL was lost', { cause: error });
    }
    const failure = translateError(error, backend, this.#connection.place, isReported(error));
    if (isOpen) return failure;
    // The whole unit fails with the statement, and to run it again would not help.
    const translated = asTooMuchWork(failure, statement.scans, true) ?? failure;
    if (translated instanceof TransactionConflict || (statement.failsOnLock === true && isLockRefused(error))) {
      return new TransactionConflict(translated.message, { cause: error, lists: by.contended() });
    }
    // Each unit is retried by itself, so that none fails because of another.
    return this.#units === 1 ? translated : new TransactionConflict(translated.message, { cause: translated });
  }
}

/** Whether the statement is a query of a client that may scan a list. */
function isQuery({ scans }: Statement): boolean {
  return scans?.of === 'list' && scans.isOfClient === true;
}

function timeoutOf(milliseconds: number): Statement {
  return { text: `SET LOCAL statement_timeout = ${Math.ceil(milliseconds)}` };
}

/** Returns the name of a unit's savepoint. Each unit has its own, so a rollback never undoes the part of an earlier one. */
function nameOf(unit: number): string {
  return `coffer_unit_${unit}`;
}
