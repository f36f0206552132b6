// Runs one unit of work at a time. The next user is the one whose units have run for the shortest time; units of one user
// run in the order of their calls. A unit keeps an undo log for rollback. Readers outside it wait only while it has
// uncommitted writes. This makes the memory backends transactional.
import { FairQueue } from '../../base/fair-queue.ts';
import { pause, runWithPauses, type Steps, type Urgency } from '../../base/steps.ts';
import type { Transaction } from '../../contracts/database.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';

/** The open transaction. Changes are made in place, and each records how to undo it. */
export class MemoryUnit implements Transaction {
  readonly #queue: UnitQueue;
  readonly #undo: (() => void)[] = [];
  readonly #afterCommit: (() => void)[] = [];
  /** Settles with the operation that runs in steps. */
  #walking: Promise<void> | undefined;
  #open = true;

  constructor(queue: UnitQueue) {
    this.#queue = queue;
  }

  /** Whether the unit has uncommitted writes, which others must not see. */
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

  /** Adds a task that runs once the unit is committed. */
  afterCommit(task: () => void): void {
    this.#afterCommit.push(task);
  }

  /** Runs one operation of the unit, which sees the unit's own writes. */
  async run<T>(operation: () => T): Promise<T> {
    // Operations take effect in the order of the calls.
    while (this.#walking !== undefined) await this.#walking;
    this.#requireOpen();
    return operation();
  }

  /** Runs one operation of the unit in steps. The unit stays the only writer meanwhile. */
  async walk<T>(steps: Steps<T>): Promise<T> {
    while (this.#walking !== undefined) await this.#walking;
    this.#requireOpen();
    const walked = start(steps, 'urgent', (step) => {
      this.#requireOpen();
      return step();
    });
    if (!(walked instanceof Promise)) return walked;
    const finish = (): void => {
      this.#walking = undefined;
    };
    this.#walking = walked.then(finish, finish);
    return walked;
  }

  async commit(): Promise<void> {
    this.#requireOpen();
    this.#end();
    for (const task of this.#afterCommit) task();
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

/** Stands for all conditional writes in the queue, where parties have their names. */
const conditionalWriter = '';

interface Waiter {
  readonly party: string | undefined;
  readonly resolve: (unit: MemoryUnit) => void;
}

/** Units of work that wait to become the writer, and readers that wait for its commit. */
export class UnitQueue {
  #current: MemoryUnit | undefined;
  #closed = false;
  readonly #waiting = new FairQueue<Waiter>();
  #party: string | undefined;
  #grantedAt = 0;
  readonly #readers: (() => void)[] = [];
  readonly #closers: (() => void)[] = [];

  /**
   * Waits until no other unit is open, and opens one.
   *
   * @param party the party of the requester: the one whose units have run for the shortest time is next
   */
  begin(party?: string): Promise<MemoryUnit> {
    if (this.#closed) return Promise.reject(new BackendUnavailable('storage', 'the memory database is closed'));
    return new Promise((resolve) => {
      if (this.#current === undefined) this.#grant({ party, resolve });
      else this.#waiting.push(party, { party, resolve });
    });
  }

  /** Runs a whole unit of work in one step. All such units share one place in the queue. An error undoes everything. */
  async runAlone<T>(operation: (unit: MemoryUnit) => T): Promise<T> {
    const unit = await this.begin(conditionalWriter);
    try {
      const result = operation(unit);
      await unit.commit();
      return result;
    } catch (error) {
      await unit.rollback();
      throw error;
    }
  }

  /** Runs a read of committed state, at once unless the current unit has uncommitted writes. */
  read<T>(operation: () => T | Promise<T>): Promise<T> {
    if (!this.#current?.dirty) return attempt(operation);
    return new Promise((resolve) => {
      this.#readers.push(() => {
        resolve(attempt(operation));
      });
    });
  }

  /**
   * Runs a read of committed state in steps. The first step runs like any read. Writes may happen before each later one, so
   * these work on what the first step has copied.
   */
  walk<T>(steps: Steps<T>): Promise<T> {
    return this.read(() => start(steps, 'normal', (step) => step()));
  }

  /** Ends the current unit: runs all waiting readers in this step, then opens the next unit. */
  release(): void {
    this.#current = undefined;
    this.#waiting.charge(this.#party, performance.now() - this.#grantedAt);
    for (const read of this.#readers.splice(0)) read();
    const next = this.#waiting.shift();
    if (next !== undefined) this.#grant(next);
    else for (const close of this.#closers.splice(0)) close();
  }

  #grant({ party, resolve }: Waiter): void {
    this.#party = party;
    this.#grantedAt = performance.now();
    this.#current = new MemoryUnit(this);
    resolve(this.#current);
  }

  /** Refuses new units, and waits until those that called before have ended. */
  close(): Promise<void> {
    this.#closed = true;
    return new Promise((resolve) => {
      if (this.#current === undefined) resolve();
      else this.#closers.push(resolve);
    });
  }
}

/** Runs the operation now; an error becomes a rejection. */
async function attempt<T>(operation: () => T | Promise<T>): Promise<T> {
  return operation();
}

/** Runs the first step now. Most reads have no other, so they save the cost of a scheduled one. */
function start<T>(steps: Steps<T>, urgency: Urgency, runStep: <R>(step: () => R) => R): T | Promise<T> {
  const first = steps.next();
  return first.done === true ? first.value : pause(urgency).then(() => runWithPauses(steps, urgency, runStep));
}
