// A limit on tasks that run at the same time, with a queue that has an end.

export interface TaskLimitOptions {
  readonly atOnce: number;
  /** How many may wait; the next one is refused. */
  readonly waiting: number;
}

/** Thrown instead of running a task for which there is no room, not even to wait. */
export class TooManyTasks extends Error {
  constructor() {
    super('too many tasks are waiting');
    this.name = 'TooManyTasks';
  }
}

export class TaskLimit {
  readonly #options: TaskLimitOptions;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(options: TaskLimitOptions) {
    this.#options = options;
  }

  /**
   * Runs the task when its turn comes.
   *
   * @throws TooManyTasks at once when the queue is full; else what the task throws
   */
  async run<T>(task: () => Promise<T>): Promise<T> {
    const { atOnce, waiting } = this.#options;
    if (this.#running < atOnce) this.#running++;
    else {
      if (this.#queue.length >= waiting) throw new TooManyTasks();
      // Whoever leaves hands its place over.
      await new Promise<void>((resolve) => {
        this.#queue.push(resolve);
      });
    }
    try {
      return await task();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
