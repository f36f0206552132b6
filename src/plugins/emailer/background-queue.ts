// A bounded queue of background tasks that responses do not wait for, and that a stop can drain.
import { setTimeout as wait } from 'node:timers/promises';
import { TaskLimit, TooManyTasks } from '../../base/task-limit.ts';
import type { Logger } from '../../contracts/logger.ts';

export interface BackgroundQueueOptions {
  readonly atOnce: number;
  readonly waiting: number;
  readonly logger: Logger;
  /** Log message for a task that fails. */
  readonly failure: string;
  /** Log message for a task that is dropped after it was queued. */
  readonly dropped: string;
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

  /**
   * Queues the task of a party. A full queue drops the last task of the party with the most.
   *
   * @returns `false` when it drops this task
   */
  add(party: string | undefined, task: () => Promise<void>): boolean {
    if (this.#isClosed || !this.#limit.accepts(party)) return false;
    const running = this.#limit
      .run(async () => {
        if (!this.#isClosed) await task();
      }, party)
      .catch((error: unknown) => this.#report(error))
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

  #report(error: unknown): void {
    const { logger, failure, dropped } = this.#options;
    if (error instanceof TooManyTasks) logger.error(dropped);
    else logger.error({ err: error }, failure);
  }

  async #drained(): Promise<void> {
    // Tasks may add further tasks.
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }
}
