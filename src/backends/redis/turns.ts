// Turns inside one process: of the units that want to write one list, one works at a time and the others wait in the order
// they came. The server would tell them apart by versions alone, but then all but one would have worked in vain.
import { TransactionConflict } from '../../contracts/errors.ts';

/** Whoever takes turns; compared by identity. */
export type Holder = object;

interface Waiter {
  readonly holder: Holder;
  readonly resume: () => void;
}

interface Turn {
  holder: Holder;
  readonly waiting: Waiter[];
}

export class Turns {
  readonly #turns = new Map<string, Turn>();
  /** Holder → the names it waits for. */
  readonly #wants = new Map<Holder, Set<string>>();

  /**
   * Waits for the turn.
   *
   * @throws TransactionConflict when those in front wait for the holder themselves
   */
  async take(name: string, holder: Holder): Promise<void> {
    const turn = this.#turns.get(name);
    if (turn === undefined) {
      this.#turns.set(name, { holder, waiting: [] });
      return;
    }
    if (turn.holder === holder) return;
    if (this.#wouldWaitForItself(turn, holder)) {
      throw new TransactionConflict('two units of work wait for each other');
    }
    const wants = this.#wants.get(holder);
    if (wants === undefined) this.#wants.set(holder, new Set([name]));
    else wants.add(name);
    await new Promise<void>((resume) => {
      turn.waiting.push({ holder, resume });
    });
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
    const wants = this.#wants.get(next.holder);
    if (wants?.delete(name) && wants.size === 0) this.#wants.delete(next.holder);
    next.resume();
  }

  /** Follows who waits for whom, through those that stand in line as well. */
  #wouldWaitForItself(turn: Turn, holder: Holder): boolean {
    const seen = new Set<Turn>();
    const open = [turn];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      for (const party of [next.holder, ...next.waiting.map((waiter) => waiter.holder)]) {
        if (party === holder) return true;
        for (const wanted of this.#wants.get(party) ?? []) {
          const further = this.#turns.get(wanted);
          if (further !== undefined) open.push(further);
        }
      }
    }
    return false;
  }
}
