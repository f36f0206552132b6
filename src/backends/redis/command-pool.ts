// How many commands of a process may be under way at the same time. All of them travel over one connection, pipelined, so
// a place in this pool is what a connection is in the pool of a driver that waits for each answer. Commands start in the
// order in which they came: units of work rely on it.
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { PoolState } from '../../contracts/observer.ts';
import type { BackendName } from './errors.ts';

export interface CommandPoolOptions {
  /** Commands under way, at most. */
  readonly size: number;
  /** How long a command may wait for its place. */
  readonly timeoutMs: number;
  /** Commands that may wait; more are refused at once. */
  readonly maxBacklog: number;
}

/** Places of a pool unless set. */
export const defaultPoolSize = 50;

/** Places at the head of the queue that are given up together. */
const maxTaken = 1024;

const busy = 'all places of the connection pool are taken';

interface Waiting {
  /** By the monotonic clock. All wait for the same time, so that deadlines come in the order of the queue. */
  readonly deadline: number;
  readonly start: () => void;
  readonly refuse: () => void;
}

export class CommandPool {
  readonly #options: CommandPoolOptions;
  #underWay = 0;
  /** Those from `#first` on wait. */
  #queue: Waiting[] = [];
  #first = 0;
  /** One for all that wait: most get their place long before. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CommandPoolOptions) {
    this.#options = options;
  }

  /** How the places are used at the moment. */
  get state(): PoolState {
    return { limit: this.#options.size, open: this.#underWay, idle: 0, waiting: this.#waiting };
  }

  /**
   * Starts a command, now or when a place becomes free. Each command that was started has to be followed by `end`.
   *
   * @throws BackendUnavailable when too many commands wait, or this one has waited too long; it was not started then
   */
  start<T>(backend: BackendName, command: () => Promise<T>): Promise<T> {
    const { size, maxBacklog, timeoutMs } = this.#options;
    if (this.#underWay < size) {
      this.#underWay++;
      return command();
    }
    if (this.#waiting >= maxBacklog) throw refusal(backend, 'and enough commands wait for one');
    return new Promise((resolve, reject) => {
      this.#queue.push({
        deadline: performance.now() + timeoutMs,
        // Sent right there: a later command must not overtake this one.
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

  /** Hands the place of a command that has ended to the one that waits longest. */
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
