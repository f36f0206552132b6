// Work that no answer waits for: a few tasks at once, a limited number waiting, and an end that a stop can wait for.
import { setTimeout as wait } from 'node:timers/promises';
import { TaskLimit } from '../../base/task-limit.ts';
import type { Logger } from '../../contracts/logger.ts';

export interface BackgroundQueueOptions {
  readonly atOnce: number;
  readonly waiting: number;
  readonly logger: Logger;
  /** What is logged, with the error, about a task that failed. */
  readonly failure: string;
}

export class BackgroundQueue {
  readonly #options: BackgroundQueueOptions;
  readonly #limit: TaskLimit;
  readonly #pending = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: BackgroundQueueOptions) {
    this.#options = options;
    this.#limit = new TaskLimit(options);
  }

  /** Runs the task soon; `false` when so many wait that it is dropped. */
  add(task: () => Promise<void>): boolean {
    const { atOnce, waiting, logger, failure } = this.#options;
    if (this.#isClosed || this.#pending.size >= atOnce + waiting) return false;
    const running = this.#limit
      .run(async () => {
        if (!this.#isClosed) await task();
      })
      .catch((error: unknown) => logger.error({ err: error }, failure))
      .finally(() => this.#pending.delete(running));
    this.#pending.add(running);
    return true;
  }

  /** Resolves when nothing is left, or after that time; answers how many tasks were dropped then. */
  async close(timeoutMs: number): Promise<number> {
    const timer = new AbortController();
    const timeout = wait(timeoutMs, undefined, { signal: timer.signal });
    timeout.catch(() => {});
    await Promise.race([this.#drained(), timeout]);
    timer.abort();
    this.#isClosed = true;
    return this.#pending.size;
  }

  async #drained(): Promise<void> {
    // What is done may cause more to do.
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }
}
