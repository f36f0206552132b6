// A limit on concurrent tasks, with a bounded queue. Parties take turns, and none can keep others out by filling the queue.
import { FairQueue } from './fair-queue.ts';

export interface TaskLimitOptions {
  readonly atOnce: number;
  /** Maximum number of waiting tasks; further ones are refused. */
  readonly waiting: number;
}

/** The queue is full. */
export class TooManyTasks extends Error {
  constructor() {
    super('too many tasks are waiting');
    this.name = 'TooManyTasks';
  }
}

interface Waiter {
  begin(): void;
  refuse(error: TooManyTasks): void;
}

export class TaskLimit {
  readonly #options: TaskLimitOptions;
  readonly #queue = new FairQueue<Waiter>();
  #running = 0;

  constructor(options: TaskLimitOptions) {
    this.#options = options;
  }

  /**
   * Runs the task as soon as the limit allows.
   *
   * @param party name of the party; all tasks without one belong together
   * @throws TooManyTasks when the queue is full and no party has more waiting tasks, or later, when it is full and this party
   *   has the most; otherwise the error of the task
   */
  async run<T>(task: () => Promise<T>, party?: string): Promise<T> {
    if (this.#running < this.#options.atOnce) this.#running++;
    // A finishing task hands over its place, so `#running` does not change.
    else await this.#wait(party);
    try {
      return await task();
    } finally {
      this.#queue.charge(party, 1);
      const next = this.#queue.shift();
      if (next === undefined) this.#running--;
      else next.begin();
    }
  }

  /** Whether a task of the party would begin or wait now. */
  accepts(party: string | undefined): boolean {
    const { atOnce, waiting } = this.#options;
    return this.#running < atOnce || this.#queue.length < waiting || this.#queue.canDisplace(party);
  }

  #wait(party: string | undefined): Promise<void> {
    if (this.#queue.length >= this.#options.waiting) {
      const displaced = this.#queue.displace(party);
      if (displaced === undefined) throw new TooManyTasks();
      displaced.refuse(new TooManyTasks());
    }
    return new Promise((begin, refuse) => {
      this.#queue.push(party, { begin, refuse });
    });
  }
}
