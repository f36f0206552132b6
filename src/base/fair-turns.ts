// A limit on concurrent tasks of several parties. A free place goes to the party that has used the least time. A task that
// takes long makes room for other parties.
import { FairQueue, groupOf } from './fair-queue.ts';

/** Number of waiting tasks up to which those wait on that are perhaps not awaited. */
const fewWaiting = 20;

export interface FairTurnsOptions {
  /** Number of places. */
  readonly atOnce: number;
  /** Maximum number of tasks of one party in progress; default: no limit of its own. */
  readonly ofParty?: number;
  /** Maximum number of tasks of all parties of a group in progress; default: no limit of its own. */
  readonly ofGroup?: number;
  /** Duration in milliseconds from which a task is late and gives its place to another one. Absent: tasks keep their places. */
  readonly lateMs?: number;
  /** Maximum number of late tasks without a place; default 1. */
  readonly maxLate?: number;
  /** Returns the milliseconds since a fixed moment. */
  readonly now?: () => number;
}

/** The party of a task that waits, and the end of its interest. */
export interface Waiting {
  /** Name of the party as in a `FairQueue`; all without a name (`undefined`) are one party. */
  readonly party: string | undefined;
  /**
   * Calls `abandon` when nothing waits for the task any longer, and returns what ends that. Absent: it is always awaited.
   *
   * @param abandon gets the error of the call. When it is not certain, a few tasks wait on all the same
   */
  whenGone?(abandon: (error: Error, isCertain: boolean) => void): () => void;
}

/** A task in progress, which has a place until it is late. */
interface Turn {
  readonly party: string | undefined;
}

export class FairTurns {
  readonly #options: Required<Omit<FairTurnsOptions, 'lateMs'>> & Pick<FairTurnsOptions, 'lateMs'>;
  readonly #queue = new FairQueue<() => void>();
  readonly #placed = new Set<Turn>();
  readonly #late = new Set<Turn>();
  /** Tasks that are late, but keep their places because `maxLate` others are. */
  readonly #overdue = new Set<Turn>();

  constructor(options: FairTurnsOptions) {
    this.#options = { ofParty: Infinity, ofGroup: Infinity, maxLate: 1, now: () => performance.now(), ...options };
  }

  /** Whether all places are taken. */
  get isFull(): boolean {
    return this.#placed.size >= this.#options.atOnce;
  }

  /** Number of tasks that wait for a place. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Runs the task as soon as the limits allow.
   *
   * @throws the error of the task, or with which it was abandoned before it began
   */
  async run<T>(waiting: Waiting, task: () => Promise<T>): Promise<T> {
    const leave = await this.enter(waiting);
    try {
      return await task();
    } finally {
      leave();
    }
  }

  /**
   * Begins a task as soon as the limits allow; returns what ends it.
   *
   * @throws the error with which it was abandoned
   */
  async enter(waiting: Waiting): Promise<() => void> {
    const { party } = waiting;
    const turn: Turn = { party };
    const { atOnce, lateMs, now } = this.#options;
    // While a place is free, only parties wait that have reached their own limit.
    if (this.#placed.size < atOnce && this.#mayBegin(party)) this.#placed.add(turn);
    else await this.#await(turn, waiting);
    const timer = lateMs === undefined ? undefined : setTimeout(() => this.#delay(turn), lateMs);
    const startedAt = now();
    return () => {
      clearTimeout(timer);
      this.#queue.charge(party, now() - startedAt);
      for (const turns of [this.#placed, this.#late, this.#overdue]) turns.delete(turn);
      this.#fill();
    };
  }

  #await(turn: Turn, waiting: Waiting): Promise<void> {
    return new Promise((resolve, reject) => {
      let stop = (): void => {};
      const begin = (): void => {
        stop();
        this.#placed.add(turn);
        resolve();
      };
      this.#queue.push(turn.party, begin);
      const abandon = (error: Error, isCertain: boolean): void => {
        if (!isCertain && this.#queue.length <= fewWaiting) return;
        stop();
        this.#queue.remove(turn.party, begin);
        reject(error);
      };
      stop = waiting.whenGone?.(abandon) ?? stop;
    });
  }

  #delay(turn: Turn): void {
    this.#overdue.add(turn);
    this.#fill();
  }

  /** Takes their places from late tasks, as far as allowed, and fills all free ones. */
  #fill(): void {
    const { atOnce, maxLate } = this.#options;
    for (const turn of this.#overdue) {
      if (this.#late.size >= maxLate) break;
      this.#overdue.delete(turn);
      this.#placed.delete(turn);
      this.#late.add(turn);
    }
    while (this.#placed.size < atOnce) {
      const begin = this.#queue.shift((party) => this.#mayBegin(party));
      if (begin === undefined) return;
      begin();
    }
  }

  #mayBegin(party: string | undefined): boolean {
    const { ofParty, ofGroup } = this.#options;
    if (this.#placed.size + this.#late.size < Math.min(ofParty, ofGroup)) return true;
    const group = groupOf(party);
    const ofSameGroup = [...this.#placed, ...this.#late].filter((turn) => groupOf(turn.party) === group);
    return ofSameGroup.length < ofGroup && ofSameGroup.filter((turn) => turn.party === party).length < ofParty;
  }
}
