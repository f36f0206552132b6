// Which unit of this process writes to which list, and which units wait for it. In the server, each commit would wake all
// that wait, and all but one would wait again. So one unit waits in the server, and the others wait here.
import type { Inheritance, SharedTransaction } from './shared-transaction.ts';

/** A unit of work that may wait in a queue. */
export interface QueuedUnit {
  readonly transaction: SharedTransaction;
  /** Called when the unit is next and uses its own transaction. */
  start(): void;
  /** Called when the unit is next and joins a transaction that has locked the list. */
  join(transaction: SharedTransaction, inheritance: Inheritance): void;
}

export class ListQueue {
  readonly #taken = new Set<string>();
  readonly #waiting = new Map<string, QueuedUnit[]>();

  /** Gives the list to the unit, or adds the unit to the queue. Returns whether the unit has the list. */
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

  /** Removes the next unit from the queue of a list that the transaction has. */
  next({ turns }: SharedTransaction): QueuedUnit | undefined {
    for (const list of turns) {
      const unit = this.#shift(list);
      if (unit !== undefined) return unit;
    }
    return undefined;
  }

  /** Releases the lists of a transaction that ends, and starts the next unit of each queue. */
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

  /** Removes a unit that stops waiting. */
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
