// Turns inside one process: of the units that want to write one list, one works at a time and the others wait in the order
// they came. The server would tell them apart by versions alone, but then all but one would have worked in vain.
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
   * Waits for the turn.
   *
   * @throws TransactionConflict when those in front wait for the holder themselves; BackendUnavailable when it takes
   *   too long
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

  /** Passes the turn on to whoever waited longest. */
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

/** The one who has the turn, and those who get it before the holder. */
function inFront(turn: Turn, holder: Holder): readonly Holder[] {
  const others = turn.waiting.map((waiter) => waiter.holder);
  const place = others.indexOf(holder);
  return [turn.holder, ...(place === -1 ? others : others.slice(0, place))].filter((other) => other !== holder);
}
