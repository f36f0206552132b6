// A limit on concurrent tasks of several parties. A free place goes to the party that has used the least time. A task that
// takes long makes room for other parties, but not for further tasks of its own.
import { FairQueue } from './fair-queue.ts';

export interface FairTurnsOptions {
  readonly atOnce: number;
  /** Duration in milliseconds from which a task is late and gives its place to another party. Absent: tasks keep their places. */
  readonly lateMs?: number;
  /** Maximum number of late tasks without a place; default 1. */
  readonly maxLate?: number;
  /** Returns the milliseconds since a fixed moment. */
  readonly now?: () => number;
}

/** A task in progress, which has a place until it is late. */
interface Turn {
  readonly party: string | undefined;
}

export class FairTurns {
  readonly #atOnce: number;
  readonly #lateMs: number | undefined;
  readonly #maxLate: number;
  readonly #now: () => number;
  readonly #queue = new FairQueue<() => void>();
  readonly #placed = new Set<Turn>();
  readonly #late = new Set<Turn>();
  /** Tasks that are late, but keep their places because `maxLate` others are. */
  readonly #overdue = new Set<Turn>();

  constructor({ atOnce, lateMs, maxLate = 1, now = (): number => performance.now() }: FairTurnsOptions) {
    this.#atOnce = atOnce;
    this.#lateMs = lateMs;
    this.#maxLate = maxLate;
    this.#now = now;
  }

  /**
   * Runs the task as soon as the limit allows.
   *
   * @param party name of the party; all callers without a name (`undefined`) are one party
   */
  async run<T>(party: string | undefined, task: () => Promise<T>): Promise<T> {
    const turn: Turn = { party };
    // While a place is free, only tasks of parties with late ones wait.
    if (this.#placed.size < this.#atOnce && this.#mayBegin(party)) this.#placed.add(turn);
    else await this.#await(turn);
    const timer = this.#lateMs === undefined ? undefined : setTimeout(() => this.#delay(turn), this.#lateMs);
    const startedAt = this.#now();
    try {
      return await task();
    } finally {
      clearTimeout(timer);
      this.#queue.charge(party, this.#now() - startedAt);
      for (const turns of [this.#placed, this.#late, this.#overdue]) turns.delete(turn);
      this.#fill();
    }
  }

  #await(turn: Turn): Promise<void> {
    return new Promise((resolve) => {
      this.#queue.push(turn.party, () => {
        this.#placed.add(turn);
        resolve();
      });
    });
  }

  #delay(turn: Turn): void {
    this.#overdue.add(turn);
    this.#fill();
  }

  /** Takes their places from late tasks, as far as allowed, and fills all free ones. */
  #fill(): void {
    for (const turn of this.#overdue) {
      if (this.#late.size >= this.#maxLate) break;
      this.#overdue.delete(turn);
      this.#placed.delete(turn);
      this.#late.add(turn);
    }
    while (this.#placed.size < this.#atOnce) {
      const begin = this.#queue.shift((party) => this.#mayBegin(party));
      if (begin === undefined) return;
      begin();
    }
  }

  /** Whether the party has fewer tasks in progress than there are places. */
  #mayBegin(party: string | undefined): boolean {
    if (this.#late.size === 0) return true;
    let count = 0;
    for (const turns of [this.#placed, this.#late]) for (const turn of turns) if (turn.party === party) count++;
    return count < this.#atOnce;
  }
}
