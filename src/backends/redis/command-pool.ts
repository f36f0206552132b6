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

const busy = 'all places of the connection pool are taken';

interface Waiting {
  readonly start: () => void;
}

export class CommandPool {
  readonly #options: CommandPoolOptions;
  readonly #waiting = new Set<Waiting>();
  #underWay = 0;

  constructor(options: CommandPoolOptions) {
    this.#options = options;
  }

  /** How the places are used at the moment. */
  get state(): PoolState {
    return { limit: this.#options.size, open: this.#underWay, idle: 0, waiting: this.#waiting.size };
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
    if (this.#waiting.size >= maxBacklog) {
      throw new BackendUnavailable(backend, `Redis: ${busy}, and enough commands wait for one`, { reason: busy });
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        const message = `Redis: ${busy}, and none became free in time; ${backend}_pool_size and ${backend}_pool_timeout are the limits`;
        reject(new BackendUnavailable(backend, message, { reason: busy }));
      }, timeoutMs);
      const waiting: Waiting = {
        start() {
          clearTimeout(timer);
          // Sent right here: a later command must not overtake this one.
          resolve(command());
        },
      };
      this.#waiting.add(waiting);
    });
  }

  /** Hands the place of a command that has ended to the one that waits longest. */
  end(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#underWay--;
      return;
    }
    this.#waiting.delete(next);
    next.start();
  }
}
