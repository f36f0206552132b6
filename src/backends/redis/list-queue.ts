// Queues of units of one process that write the same list: one works at a time, the others wait in the order of their
// calls. The server would detect the conflict by versions, but then all but one would have worked in vain.
import { TransactionConflict } from '../../contracts/errors.ts';
import type { Holder, LockWaits } from './lock-waits.ts';

interface Waiter {
  readonly holder: Holder;
  readonly resume: () => void;
}

interface Queue {
  holder: Holder;
  readonly waiting: Waiter[];
}

export class ListQueue {
  readonly #waits: LockWaits;
  readonly #queues = new Map<string, Queue>();

  constructor(waits: LockWaits) {
    this.#waits = waits;
  }

  /**
   * Waits until the holder has the list.
   *
   * @throws TransactionConflict when a holder in front waits for this one, or this one may not wait; BackendUnavailable when
   *   the wait takes too long
   */
  async take(name: string, holder: Holder, mayWait = true): Promise<void> {
    const queue = this.#queues.get(name);
    if (queue === undefined) {
      this.#queues.set(name, { holder, waiting: [] });
      return;
    }
    if (queue.holder === holder) return;
    if (!mayWait) throw new TransactionConflict('another unit of work holds an earlier list');
    await this.#waits.wait(
      holder,
      () => inFront(queue, holder),
      (resume) => {
        const waiter: Waiter = { holder, resume };
        queue.waiting.push(waiter);
        return () => void queue.waiting.splice(queue.waiting.indexOf(waiter), 1);
      },
    );
  }

  /** Whether another holder waits for the list. */
  isAwaited(name: string): boolean {
    return (this.#queues.get(name)?.waiting.length ?? 0) > 0;
  }

  /** Gives the list to the holder that has waited longest. */
  release(name: string, holder: Holder): void {
    const queue = this.#queues.get(name);
    if (queue?.holder !== holder) return;
    const next = queue.waiting.shift();
    if (next === undefined) {
      this.#queues.delete(name);
      return;
    }
    queue.holder = next.holder;
    next.resume();
  }
}

/** Returns the holder of the list, and those that get it before the given one. */
function inFront(queue: Queue, holder: Holder): readonly Holder[] {
  const others = queue.waiting.map((waiter) => waiter.holder);
  const place = others.indexOf(holder);
  return [queue.holder, ...(place === -1 ? others : others.slice(0, place))].filter((other) => other !== holder);
}
