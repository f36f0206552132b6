// A unit of work: one transaction on one connection. Writes are sent without waiting for their answers, which come in
// order; whatever goes wrong is known at the latest when the commit is answered.
import type { Transaction } from '../../contracts/database.ts';
import { TransactionConflict } from '../../contracts/errors.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Connection, Result, SqlValue, Statement } from './connection.ts';
import { isLockRefused, isLostConnection, translateError, type BackendName } from './errors.ts';

const begin: Statement = { text: 'BEGIN ISOLATION LEVEL READ COMMITTED' };

export class PostgresUnit implements Transaction {
  readonly #connection: Connection;
  readonly #opening: Statement | undefined;
  readonly #onEnd: () => void;
  readonly #beforeCommit: (() => void)[] = [];
  readonly #kept: (() => void)[] = [];
  #isFlushing = false;
  readonly #afterCommit: (() => void)[] = [];
  #contended: () => readonly ListKey[] = () => [];
  #state: 'new' | 'open' | 'ended' = 'new';
  /** The first thing that went wrong; the server refuses everything after it. */
  #failure: Error | undefined;

  constructor(connection: Connection, opening: Statement | undefined, onEnd: () => void) {
    this.#connection = connection;
    this.#opening = opening;
    this.#onEnd = onEnd;
  }

  /** Runs a statement, which sees everything that was sent before. */
  async run(backend: BackendName, statement: Statement, values: readonly SqlValue[]): Promise<Result> {
    this.#requireOpen();
    this.#flushKept();
    if (this.#failure !== undefined) throw this.#failure;
    this.#open();
    return this.#send(backend, statement, values);
  }

  /** Sends a statement whose answer nobody needs. */
  send(backend: BackendName, statement: Statement, values: readonly SqlValue[]): void {
    this.#requireOpen();
    this.#flushKept();
    if (this.#failure !== undefined) return;
    this.#open();
    this.#send(backend, statement, values).catch(() => {});
  }

  /** Tells how to find the lists that the unit has locked or waits for. */
  reportLists(find: () => readonly ListKey[]): void {
    this.#contended = find;
  }

  /** Registers somebody who keeps changes back, and is told to send them before anything else leaves. */
  keepBack(flush: () => void): void {
    this.#kept.push(flush);
  }

  /** Registers what is still to be sent when the unit commits. */
  beforeCommit(task: () => void): void {
    this.#beforeCommit.push(task);
  }

  /** Registers what to do once the commit is known to have happened. */
  afterCommit(task: () => void): void {
    this.#afterCommit.push(task);
  }

  async commit(): Promise<void> {
    this.#requireOpen();
    for (const task of this.#beforeCommit) task();
    this.#flushKept();
    const hasWork = this.#state === 'open';
    this.#state = 'ended';
    try {
      if (hasWork) await this.#commit();
    } finally {
      this.#connection.release();
      this.#onEnd();
    }
    for (const task of this.#afterCommit) task();
  }

  async rollback(): Promise<void> {
    if (this.#state === 'ended') return;
    const hasWork = this.#state === 'open';
    this.#state = 'ended';
    let isUsable = true;
    try {
      if (hasWork) await this.#connection.run({ text: 'ROLLBACK' });
    } catch {
      // A connection that cannot roll back is closed, and the server rolls back by itself.
      isUsable = false;
    }
    this.#connection.release(isUsable);
    this.#onEnd();
  }

  async #commit(): Promise<void> {
    let result: Result | undefined;
    try {
      result = await this.#connection.run({ text: 'COMMIT' });
    } catch (error) {
      // What failed earlier says more. A connection lost here leaves it open whether the commit has happened, so it
      // must not be taken for a lost race and run again.
      throw this.#failure ?? translateError(error, 'storage');
    }
    if (this.#failure !== undefined) throw this.#failure;
    if (result.command !== 'COMMIT') throw new TransactionConflict('PostgreSQL rolled the transaction back');
  }

  /** What was kept back leaves in the order in which those who keep it were registered; they send nothing else. */
  #flushKept(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    for (const flush of this.#kept) flush();
    this.#isFlushing = false;
  }

  #open(): void {
    if (this.#state !== 'new') return;
    this.#state = 'open';
    this.#send('storage', begin, []).catch(() => {});
    if (this.#opening !== undefined) this.#send('storage', this.#opening, []).catch(() => {});
  }

  async #send(backend: BackendName, statement: Statement, values: readonly SqlValue[]): Promise<Result> {
    try {
      return await this.#connection.run(statement, values);
    } catch (error) {
      // Before the commit is sent nothing can have happened: a fresh connection may do better.
      this.#failure ??= this.#translate(error, backend, statement);
      throw this.#failure;
    }
  }

  #translate(error: unknown, backend: BackendName, { isImpatient = false }: Statement): Error {
    // Before the commit is sent nothing can have happened: a fresh connection may do better.
    if (isLostConnection(error) && this.#state === 'open') {
      return new TransactionConflict('the connection to PostgreSQL was lost', { cause: error });
    }
    const translated = translateError(error, backend);
    if (!(translated instanceof TransactionConflict) && !(isImpatient && isLockRefused(error))) return translated;
    return new TransactionConflict(translated.message, { cause: error, lists: this.#contended() });
  }

  #requireOpen(): void {
    if (this.#state === 'ended') throw new Error('the transaction has ended already');
  }
}
