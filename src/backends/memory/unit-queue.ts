// One writer at a time: units of work take turns in the order they asked, keep an undo log for rollback, and hold back
// outside readers only while they have uncommitted writes. This is what makes the memory backends transactional.
import type { Transaction } from '../../contracts/database.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';

/** An open turn. Changes are made in place; each records how to take it back. */
export class MemoryUnit implements Transaction {
  readonly #queue: UnitQueue;
  readonly #undo: (() => void)[] = [];
  #open = true;

  constructor(queue: UnitQueue) {
    this.#queue = queue;
  }

  /** Whether there are writes that others must not see yet. */
  get dirty(): boolean {
    return this.#undo.length > 0;
  }

  belongsTo(queue: UnitQueue): boolean {
    return this.#queue === queue;
  }

  /** Records how to undo a change that has just been made. */
  record(undo: () => void): void {
    this.#undo.push(undo);
  }

  /** Runs one operation of the unit, which sees the unit's own writes. */
  async run<T>(operation: () => T): Promise<T> {
    this.#requireOpen();
    return operation();
  }

  async commit(): Promise<void> {
    this.#requireOpen();
    this.#end();
  }

  async rollback(): Promise<void> {
    if (!this.#open) return;
    for (let undo = this.#undo.pop(); undo !== undefined; undo = this.#undo.pop()) undo();
    this.#end();
  }

  #requireOpen(): void {
    if (!this.#open) throw new Error('the transaction has ended already');
  }

  #end(): void {
    this.#open = false;
    this.#undo.length = 0;
    this.#queue.release();
  }
}

/** The turn to write and the readers that wait for it to be clean again. */
export class UnitQueue {
  #current: MemoryUnit | undefined;
  #closed = false;
  readonly #waiting: ((unit: MemoryUnit) => void)[] = [];
  readonly #readers: (() => void)[] = [];
  readonly #closers: (() => void)[] = [];

  /** Waits for the turn. */
  begin(): Promise<MemoryUnit> {
    if (this.#closed) return Promise.reject(new BackendUnavailable('storage', 'the memory database is closed'));
    return new Promise((resolve) => {
      if (this.#current === undefined) resolve((this.#current = new MemoryUnit(this)));
      else this.#waiting.push(resolve);
    });
  }

  /** Runs a read of committed state, at once unless the current unit has uncommitted writes. */
  read<T>(operation: () => T): Promise<T> {
    if (!this.#current?.dirty) return attempt(operation);
    return new Promise((resolve) => {
      this.#readers.push(() => {
        resolve(attempt(operation));
      });
    });
  }

  /** Ends the current turn: waiting readers first, all in this very step, then the next unit. */
  release(): void {
    this.#current = undefined;
    for (const read of this.#readers.splice(0)) read();
    const next = this.#waiting.shift();
    if (next !== undefined) next((this.#current = new MemoryUnit(this)));
    else for (const close of this.#closers.splice(0)) close();
  }

  /** Refuses new units and waits until those that asked before have ended. */
  close(): Promise<void> {
    this.#closed = true;
    return new Promise((resolve) => {
      if (this.#current === undefined) resolve();
      else this.#closers.push(resolve);
    });
  }
}

/** Runs the operation now; what it throws becomes a rejection. */
async function attempt<T>(operation: () => T): Promise<T> {
  return operation();
}
