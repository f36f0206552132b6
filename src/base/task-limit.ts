// A limit on concurrent tasks, with a bounded queue.

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

export class TaskLimit {
  readonly #options: TaskLimitOptions;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(options: TaskLimitOptions) {
    this.#options = options;
  }

  /**
   * Runs the task as soon as the limit allows.
   *
   * @throws TooManyTasks at once when the queue is full; otherwise the error of the task
   */
  async run<T>(task: () => Promise<T>): Promise<T> {
    const { atOnce, waiting } = this.#options;
    if (this.#running < atOnce) this.#running++;
    else {
      if (this.#queue.length >= waiting) throw new TooManyTasks();
      // A finishing task hands over its place, so `#running` does not change.
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
