// Schedules the processing of outboxes: after a commit of this process, when a retry is due, and all of them at
// intervals, for deliveries of other or dead processes. Limits concurrency, and processes each outbox once at a time.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../contracts/logger.ts';
import type { ListParent } from '../core/objects/uris.ts';
import type { RemainingWork } from './outbox-worker.ts';

export interface OutboxSchedulerOptions {
  /** Name of the listener, for logs. */
  readonly name: string;
  readonly concurrency: number;
  readonly pollMs: number;
  /** Maximum time that a stop waits for running deliveries before it aborts them. */
  readonly stopMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly findOutboxes: () => Promise<readonly ListParent[]>;
  readonly process: (outbox: ListParent, stop: AbortSignal) => Promise<RemainingWork>;
}

/** Delay after an error of the storage backend. */
const storageRetryMs = 1000;
/** Maximum delay of a timer of Node.js. */
const maxTimerMs = 2 ** 31 - 1;

export class OutboxScheduler {
  readonly #options: OutboxSchedulerOptions;
  readonly #stop = new AbortController();
  /** Outboxes to process, in this order. */
  readonly #ready = new Set<ListParent>();
  readonly #busy = new Map<ListParent, Promise<void>>();
  /** Outboxes that got deliveries while they were processed. */
  readonly #rescheduled = new Set<ListParent>();
  /** Timers of outboxes whose first delivery is not due yet. */
  readonly #waiting = new Map<ListParent, NodeJS.Timeout>();
  #poll: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #isRunning = false;

  constructor(options: OutboxSchedulerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#isRunning = true;
    this.#pollOutboxes();
  }

  /** Schedules an outbox that got a delivery. */
  wake(outbox: ListParent): void {
    if (!this.#isRunning || this.#waiting.has(outbox)) return;
    if (this.#busy.has(outbox)) this.#rescheduled.add(outbox);
    else this.#ready.add(outbox);
    this.#startReady();
  }

  /** Waits for running deliveries, and aborts them after a timeout. Others stay in their outboxes. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    clearTimeout(this.#poll);
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    const abortTimer = setTimeout(() => this.#stop.abort(), this.#options.stopMs);
    await Promise.all([this.#polling, ...this.#busy.values()]);
    clearTimeout(abortTimer);
  }

  #pollOutboxes(): void {
    const { findOutboxes, pollMs, name, logger } = this.#options;
    const look = async (): Promise<void> => {
      try {
        for (const outbox of await findOutboxes()) if (!this.#busy.has(outbox)) this.wake(outbox);
      } catch (error) {
        logger.warn({ err: error, listener: name }, 'The outboxes of a webhook could not be listed');
      }
      if (!this.#isRunning) return;
      // The random part prevents several processes from polling at the same time.
      this.#poll = setTimeout(() => this.#pollOutboxes(), pollMs * (0.75 + Math.random() * 0.5));
      this.#poll.unref();
    };
    this.#polling = look();
  }

  #startReady(): void {
    for (const outbox of this.#ready) {
      if (!this.#isRunning || this.#busy.size >= this.#options.concurrency) return;
      this.#ready.delete(outbox);
      this.#busy.set(outbox, this.#process(outbox));
    }
  }

  async #process(outbox: ListParent): Promise<void> {
    const { process, clock, name, logger } = this.#options;
    let remaining: RemainingWork;
    try {
      remaining = await process(outbox, this.#stop.signal);
    } catch (error) {
      logger.warn({ err: error, listener: name, outbox }, 'An outbox of a webhook could not be processed');
      remaining = clock.now() + storageRetryMs;
    }
    this.#busy.delete(outbox);
    const isWokenAgain = this.#rescheduled.delete(outbox);
    if (typeof remaining === 'number') this.#wait(outbox, remaining);
    else if (remaining === 'more' || isWokenAgain) this.#ready.add(outbox);
    this.#startReady();
  }

  #wait(outbox: ListParent, until: number): void {
    if (!this.#isRunning) return;
    const milliseconds = Math.min(Math.max(until - this.#options.clock.now(), 1), maxTimerMs);
    const timer = setTimeout(() => {
      this.#waiting.delete(outbox);
      this.wake(outbox);
    }, milliseconds);
    timer.unref();
    this.#waiting.set(outbox, timer);
  }
}
