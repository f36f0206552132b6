// Which unit of this process writes to which list, and which units wait for it. In the server, each commit would wake all
// that wait, and all but one would wait again. So one unit waits in the server, and the others wait here.
import type { ListName } from '../../core/lists/list-key.ts';
import type { ExpectedObjectsOfUnit } from './expected-objects.ts';
import type { Inheritance, SharedTransaction } from './shared-transaction.ts';

/** A unit of work that may wait in a queue. */
export interface QueuedUnit {
  readonly transaction: SharedTransaction;
  /** Objects that it has announced. */
  readonly expected: ExpectedObjectsOfUnit | undefined;
  /** Called when the unit is next and uses its own transaction. */
  start(): void;
  /** Called when the unit is next and joins a transaction that has locked the list. */
  join(transaction: SharedTransaction, inheritance: Inheritance): void;
}

export class ListQueue {
  readonly #taken = new Set<ListName>();
  readonly #waiting = new Map<ListName, QueuedUnit[]>();

  /** Gives the list to the unit, or adds the unit to the queue. Returns whether the unit has the list. */
  enter(list: ListName, unit: QueuedUnit): boolean {
    if (!this.#taken.has(list)) {
      this.#give(list, unit);
      return true;
    }
    const queue = this.#waiting.get(list);
    if (queue === undefined) this.#waiting.set(list, [unit]);
    else queue.push(unit);
    return false;
  }

  /** Removes the next unit from the queue of a list that the transaction has. */
  next({ claimed }: SharedTransaction): QueuedUnit | undefined {
    for (const list of claimed) {
      const unit = this.#shift(list);
      if (unit !== undefined) return unit;
    }
    return undefined;
  }

  /** Returns the first units that wait for a list. */
  waitingFor(list: ListName, count: number): readonly QueuedUnit[] {
    return this.#waiting.get(list)?.slice(0, count) ?? [];
  }

  /** Releases the lists of a transaction that ends, and starts the next unit of each queue. */
  leave({ claimed }: SharedTransaction): void {
    const lists = [...claimed];
    claimed.clear();
    for (const list of lists) {
      this.#taken.delete(list);
      const unit = this.#shift(list);
      if (unit === undefined) continue;
      this.#give(list, unit);
      unit.start();
    }
  }

  /** Removes a unit that stops waiting. */
  giveUp(list: ListName, unit: QueuedUnit): void {
    const queue = this.#waiting.get(list);
    if (queue?.includes(unit) !== true) return;
    queue.splice(queue.indexOf(unit), 1);
    if (queue.length === 0) this.#waiting.delete(list);
  }

  #give(list: ListName, { transaction }: QueuedUnit): void {
    this.#taken.add(list);
    transaction.claimed.add(list);
  }

  #shift(list: ListName): QueuedUnit | undefined {
    const queue = this.#waiting.get(list);
    const unit = queue?.shift();
    if (queue?.length === 0) this.#waiting.delete(list);
    return unit;
  }
}
