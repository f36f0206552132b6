// Who of this process writes to which list, and who stands in line for it. Left to wait in the server, all of them would
// be woken by each commit, only to find that another one was first; so one waits there, and the others here.
import type { Inheritance, SharedTransaction } from './shared-transaction.ts';

/** A unit of work that may stand in line. */
export interface QueuedUnit {
  readonly transaction: SharedTransaction;
  /** It is the unit's turn, in its own transaction. */
  start(): void;
  /** It is the unit's turn, in a transaction that has the list. */
  join(transaction: SharedTransaction, inheritance: Inheritance): void;
}

export class ListQueue {
  readonly #taken = new Set<string>();
  readonly #waiting = new Map<string, QueuedUnit[]>();

  /** Gives the unit the turn of the list, or else has it wait; answers which. */
  enter(list: string, unit: QueuedUnit): boolean {
    if (!this.#taken.has(list)) {
      this.#give(list, unit);
      return true;
    }
    const line = this.#waiting.get(list);
    if (line === undefined) this.#waiting.set(list, [unit]);
    else line.push(unit);
    return false;
  }

  /** Takes the next unit out of a line for lists that the transaction has. */
  next({ turns }: SharedTransaction): QueuedUnit | undefined {
    for (const list of turns) {
      const unit = this.#shift(list);
      if (unit !== undefined) return unit;
    }
    return undefined;
  }

  /** The transaction ends: the next in line take their turns. */
  leave({ turns }: SharedTransaction): void {
    const lists = [...turns];
    turns.clear();
    for (const list of lists) {
      this.#taken.delete(list);
      const unit = this.#shift(list);
      if (unit === undefined) continue;
      this.#give(list, unit);
      unit.start();
    }
  }

  /** The unit waits no longer. */
  giveUp(list: string, unit: QueuedUnit): void {
    const line = this.#waiting.get(list);
    if (line?.includes(unit) !== true) return;
    line.splice(line.indexOf(unit), 1);
    if (line.length === 0) this.#waiting.delete(list);
  }

  #give(list: string, { transaction }: QueuedUnit): void {
    this.#taken.add(list);
    transaction.turns.add(list);
  }

  #shift(list: string): QueuedUnit | undefined {
    const line = this.#waiting.get(list);
    const unit = line?.shift();
    if (line?.length === 0) this.#waiting.delete(list);
    return unit;
  }
}
