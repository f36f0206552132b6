// Queues of units of one process that write the same list: one works at a time, the others wait in the order of their
// calls. The server would detect the conflict by versions, but then all but one would have worked in vain.
import type { Holder, LockWaits } from './lock-waits.ts';

interface Waiter {
  readonly holder: Holder;
  readonly resume: () => void;
}

interface Turn {
  holder: Holder;
  readonly waiting: Waiter[];
}

export class ListQueue {
  readonly #waits: LockWaits;
  readonly #turns = new Map<string, Turn>();

  constructor(waits: LockWaits) {
    this.#waits = waits;
  }

  /**
   * Waits until the holder has the list.
   *
   * @throws TransactionConflict when a holder in front waits for this one; BackendUnavailable when the wait takes too long
   */
  async take(name: string, holder: Holder): Promise<void> {
    const turn = this.#turns.get(name);
    if (turn === undefined) {
      this.#turns.set(name, { holder, waiting: [] });
      return;
    }
    if (turn.holder === holder) return;
    await this.#waits.wait(
      holder,
      () => inFront(turn, holder),
      (resume) => {
        const waiter: Waiter = { holder, resume };
        turn.waiting.push(waiter);
        return () => void turn.waiting.splice(turn.waiting.indexOf(waiter), 1);
      },
    );
  }

  /** Gives the list to the holder that has waited longest. */
  release(name: string, holder: Holder): void {
    const turn = this.#turns.get(name);
    if (turn?.holder !== holder) return;
    const next = turn.waiting.shift();
    if (next === undefined) {
      this.#turns.delete(name);
      return;
    }
    turn.holder = next.holder;
    next.resume();
  }
}

/** Returns the holder of the list, and those that get it before the given one. */
function inFront(turn: Turn, holder: Holder): readonly Holder[] {
  const others = turn.waiting.map((waiter) => waiter.holder);
  const place = others.indexOf(holder);
  return [turn.holder, ...(place === -1 ? others : others.slice(0, place))].filter((other) => other !== holder);
}
