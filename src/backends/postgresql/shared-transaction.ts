// A transaction on one connection. Units of work of this process that write to the same list go on in it one after the
// other, each behind a savepoint, and are committed together: none of them waits for the commit of the one before.
import { TransactionConflict } from '../../contracts/errors.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Connection, Result, Row, SqlValue, Statement } from './connection.ts';
import { isLockRefused, isLostConnection, translateError, type BackendName } from './errors.ts';

const begin: Statement = { text: 'BEGIN ISOLATION LEVEL READ COMMITTED' };
const commit: Statement = { text: 'COMMIT' };
const rollback: Statement = { text: 'ROLLBACK' };

/** What a unit leaves to the one that goes on in its transaction. */
export interface Inheritance {
  /** The rows of lists that are locked, as they will be after the writes so far. */
  readonly lists: readonly { readonly key: ListKey; readonly row: Row; readonly isChanged: boolean }[];
  /** Lists that the transaction has waited for. */
  readonly wanted: readonly ListKey[];
  /** Names of the lists that came into being with it. */
  readonly added: readonly string[];
  /** Names of the objects that stay as long as it has its lists. */
  readonly kept: readonly string[];
}

/** Who sends statements. */
export interface Sender {
  /** The lists that it has locked or waits for. */
  contended(): readonly ListKey[];
}

/** Sends what belongs to no unit. */
const nobody: Sender = { contended: () => [] };

export class SharedTransaction {
  /** Lists whose turn it has, by name. */
  readonly turns = new Set<string>();
  readonly #connection: Connection;
  readonly #opening: Statement | undefined;
  readonly #outcome: Promise<Error | undefined>;
  #tell!: (error: Error | undefined) => void;
  #isOpen = false;
  #isEnding = false;
  #units = 1;
  /** The first thing that went wrong, and whose statement it was; the server refuses everything after it. */
  #failure: { readonly error: Error; readonly by: Sender } | undefined;

  constructor(connection: Connection, opening: Statement | undefined) {
    this.#connection = connection;
    this.#opening = opening;
    this.#outcome = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  /** Whether anything was sent inside the transaction. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Units that have gone on in it, with the first. */
  get units(): number {
    return this.#units;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Why nothing of what the unit does can be kept any more. For the fault of another one it is run again by itself. */
  failureOf(unit: Sender): Error | undefined {
    if (this.#failure === undefined || this.#failure.by === unit || this.#units === 1) return this.#failure?.error;
    const { error } = this.#failure;
    return new TransactionConflict(`another unit of the transaction failed: ${error.message}`, { cause: error });
  }

  /**
   * Waits until all units in it are committed.
   *
   * @throws what has kept them from it
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

  /** Lets another unit go on. */
  goOn(): void {
    this.#units++;
    this.#sendQuietly({ text: `SAVEPOINT ${nameOf(this.#units)}` });
  }

  /** Everything is to be kept. Rows that one part has locked and another one changes cost the server more. */
  unite(): void {
    if (this.#units > 1) this.#sendQuietly({ text: `RELEASE SAVEPOINT ${nameOf(2)}` });
  }

  /** Nothing more is to be sent. */
  fail(error: Error, by: Sender): void {
    this.#failure ??= { error, by };
  }

  async send(backend: BackendName, statement: Statement, values: readonly SqlValue[], by: Sender): Promise<Result> {
    try {
      return await this.#connection.run(statement, values);
    } catch (error) {
      const translated = this.#translate(error, backend, statement, by);
      this.#failure ??= { error: translated, by };
      throw this.failureOf(by) ?? translated;
    }
  }

  /** Undoes what the last unit has done; answers whether that was possible. */
  async undoLast(last: Sender): Promise<boolean> {
    const isFaultOfAnother = (): boolean => this.#failure !== undefined && this.#failure.by !== last;
    if (isFaultOfAnother()) return false;
    try {
      await this.#connection.run({ text: `ROLLBACK TO SAVEPOINT ${nameOf(this.#units)}` });
    } catch {
      // The connection is gone, or there is no such savepoint, because a unit before had failed already.
      return false;
    }
    if (isFaultOfAnother()) return false;
    this.#failure = undefined;
    return true;
  }

  /**
   * Commits everything; never throws, for it is the units that are told. `onSent` is called once nobody can come before the
   * commit any more.
   */
  async commit(onSent: () => void): Promise<void> {
    this.#isEnding = true;
    const committing = this.#findFailure(this.#connection.run(commit));
    onSent();
    const failure = await committing;
    this.#connection.release();
    this.#tell(failure);
  }

  async #findFailure(committing: Promise<Result>): Promise<Error | undefined> {
    try {
      const { command } = await committing;
      if (this.#failure !== undefined) return this.#failure.error;
      return command === 'COMMIT' ? undefined : new TransactionConflict('PostgreSQL rolled the transaction back');
    } catch (error) {
      // What failed earlier says more. A connection lost here leaves it open whether the commit has happened, so it
      // must not be taken for a lost race and run again.
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
      // A connection that cannot roll back is closed, and the server rolls back by itself.
      isUsable = false;
    }
    this.#connection.release(isUsable);
    this.#tell(new TransactionConflict('another unit of the transaction failed', { cause: this.#failure?.error }));
  }

  #sendQuietly(statement: Statement): void {
    this.send('storage', statement, [], nobody).catch(() => {});
  }

  #translate(error: unknown, backend: BackendName, { failsOnLock = false }: Statement, by: Sender): Error {
    // Before the commit is sent nothing can have happened: a fresh connection may do better.
    if (isLostConnection(error) && !this.#isEnding) {
      return new TransactionConflict('the connection to PostgreSQL was lost', { cause: error });
    }
    const translated = translateError(error, backend, this.#connection.place);
    if (translated instanceof TransactionConflict || (failsOnLock && isLockRefused(error))) {
      return new TransactionConflict(translated.message, { cause: error, lists: by.contended() });
    }
    // Each of them is done again by itself, so that none fails for the fault of another.
    return this.#units === 1 ? translated : new TransactionConflict(translated.message, { cause: translated });
  }
}

/** Each unit has a savepoint of its own: going back to that of another one would lose what is taken for written. */
function nameOf(unit: number): string {
  return `coffer_unit_${unit}`;
}
