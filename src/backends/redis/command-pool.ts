// Limits the commands of a process that are under way. All of them share one connection and are pipelined, so a place in
// this pool corresponds to a connection of other drivers. Commands start in the order of the calls, which units of work
// rely on.
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { PoolState } from '../../contracts/observer.ts';
import type { BackendName } from './errors.ts';

export interface CommandPoolOptions {
  /** Maximum number of commands under way. */
  readonly size: number;
  /** Maximum time that a command waits for its place. */
  readonly timeoutMs: number;
  /** Maximum number of waiting commands; more are refused at once. */
  readonly maxBacklog: number;
}

/** Default number of places. */
export const defaultPoolSize = 50;

/** Number of used places at the head of the queue that are freed together. */
const maxTaken = 1024;

const busy = 'all places of the command pool are in use';

interface Waiting {
  /** By the monotonic clock. All wait for the same time, so deadlines ascend in the queue. */
  readonly deadline: number;
  readonly start: () => void;
  readonly refuse: () => void;
}

export class CommandPool {
  readonly #options: CommandPoolOptions;
  #underWay = 0;
  /** The entries from `#first` on wait. */
  #queue: Waiting[] = [];
  #first = 0;
  /** One timer for all waiting commands: most of them start long before. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CommandPoolOptions) {
    this.#options = options;
  }

  /** Returns the current use of the places. */
  get state(): PoolState {
    return { limit: this.#options.size, open: this.#underWay, idle: 0, waiting: this.#waiting };
  }

  /**
   * Starts a command, now or when a place becomes free. The caller calls `end` after each started command.
   *
   * @throws BackendUnavailable when too many commands wait, or this one has waited too long; it was not started then
   */
  start<T>(backend: BackendName, command: () => Promise<T>): Promise<T> {
    const { size, maxBacklog, timeoutMs } = this.#options;
    if (this.#underWay < size) {
      this.#underWay++;
      return command();
    }
    if (this.#waiting >= maxBacklog) throw refusal(backend, 'and too many commands wait for one');
    return new Promise((resolve, reject) => {
      this.#queue.push({
        deadline: performance.now() + timeoutMs,
        // Started in this step, so that no later command overtakes it.
        start: () => resolve(command()),
        refuse() {
          reject(
            refusal(
              backend,
              `and none became free in time; ${backend}_pool_size and ${backend}_pool_timeout are the limits`,
            ),
          );
        },
      });
      this.#timer ??= this.#startTimer(timeoutMs);
    });
  }

  /** Gives the place of a finished command to the one that has waited longest. */
  end(): void {
    const next = this.#shift();
    if (next === undefined) this.#underWay--;
    else next.start();
  }

  get #waiting(): number {
    return this.#queue.length - this.#first;
  }

  #shift(): Waiting | undefined {
    const next = this.#queue[this.#first];
    if (next === undefined) return undefined;
    this.#first++;
    if (this.#first === this.#queue.length) {
      this.#queue = [];
      this.#first = 0;
      // A process that has ended its work would wait for it.
      clearTimeout(this.#timer);
      this.#timer = undefined;
    } else if (this.#first === maxTaken) {
      this.#queue = this.#queue.slice(maxTaken);
      this.#first = 0;
    }
    return next;
  }

  #startTimer(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#refuseLate(), delayMs);
  }

  #refuseLate(): void {
    const now = performance.now();
    for (;;) {
      const first = this.#queue[this.#first];
      if (first === undefined || first.deadline > now) {
        this.#timer = first === undefined ? undefined : this.#startTimer(Math.ceil(first.deadline - now));
        return;
      }
      this.#shift();
      first.refuse();
    }
  }
}

function refusal(backend: BackendName, why: string): BackendUnavailable {
  return new BackendUnavailable(backend, `Redis: ${busy}, ${why}`, { reason: busy });
}
