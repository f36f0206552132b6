// A bounded queue of background tasks that responses do not wait for, and that a stop can drain.
import { setTimeout as wait } from 'node:timers/promises';
import { TaskLimit } from '../../base/task-limit.ts';
import type { Logger } from '../../contracts/logger.ts';

export interface BackgroundQueueOptions {
  readonly atOnce: number;
  readonly waiting: number;
  readonly logger: Logger;
  /** Log message for a task that fails. */
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

  /** Queues the task. Returns `false` if the queue is full and the task is dropped. */
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

  /** Waits until the queue is empty, or for the given time. Returns the number of dropped tasks. */
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
    // Tasks may add further tasks.
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }
}
