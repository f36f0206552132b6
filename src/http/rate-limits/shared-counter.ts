// A count that all processes share, at the price of few calls to the cache. Each process counts by itself and hands
// over what it counted when that is half a share of the limit; only when it is a whole share does a request wait for
// the answer. So who stays far below a limit costs no call at all, and no process is ever more than a share ahead of
// what the others know.
import { createHash } from 'node:crypto';
import type { CacheBackend } from '../../contracts/cache.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../contracts/logger.ts';

/** A share is this part of a limit. */
const shares = 10;
/** Beyond the end of a window, for processes whose clocks differ. */
const spareSeconds = 60;
const patienceMs = 1000;
const pauseMs = 5000;

/** What is needed of a cache. */
export type SumKeeper = Pick<CacheBackend, 'increment'>;

export interface CountingOptions {
  /** Absent when this process is the only one. */
  readonly cache: SumKeeper | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What counters of a process have in common: where they settle, and whether that works at the moment. */
export class Counting {
  readonly clock: Clock;
  readonly #cache: SumKeeper | undefined;
  readonly #logger: Logger;
  #pausedUntil = 0;

  constructor({ cache, clock, logger }: CountingOptions) {
    this.#cache = cache;
    this.clock = clock;
    this.#logger = logger;
  }

  /** Whether counts can be shared now. */
  get isShared(): boolean {
    return this.#cache !== undefined && performance.now() >= this.#pausedUntil;
  }

  /** Hands over a count; the sum of all processes, or `undefined` when the cache does not say. */
  async add(key: string, by: number, ttlSeconds: number): Promise<number | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${patienceMs} ms`)), patienceMs);
    });
    try {
      return await Promise.race([this.#cache?.increment(key, by, ttlSeconds), tooLate]);
    } catch (error) {
      // A cache that fails must not take the service with it.
      if (performance.now() >= this.#pausedUntil) {
        this.#logger.warn({ err: error }, 'The cache fails: each process counts for itself what rate limits allow');
      }
      this.#pausedUntil = performance.now() + pauseMs;
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}

export interface Window {
  /** Distinguishes limits and callers, of any length. */
  readonly key: string;
  readonly limit: number;
  readonly seconds: number;
  /** Number of the window since 1970. */
  readonly number: number;
}

/** The count of one caller in one window of time. */
export class SharedCounter {
  readonly #counting: Counting;
  readonly #window: Window;
  readonly #share: number;
  /** By all processes, as far as they have settled. */
  #known = 0;
  /** Counted here and not yet known to be settled. */
  #unsettled = 0;
  #settling: Promise<void> | undefined;

  constructor(counting: Counting, window: Window) {
    this.#counting = counting;
    this.#window = window;
    this.#share = Math.max(1, Math.ceil(window.limit / shares));
  }

  get number(): number {
    return this.#window.number;
  }

  get remaining(): number {
    return Math.max(0, this.#window.limit - this.#known - this.#unsettled);
  }

  /** Whole seconds until the window ends, at least one. */
  get secondsLeft(): number {
    const { number, seconds } = this.#window;
    const left = (number + 1) * seconds - this.#counting.clock.now() / 1000;
    return Math.min(seconds, Math.max(1, Math.ceil(left)));
  }

  /**
   * Counts one more, and tells whether the limit allows it; what it does not allow is not counted.
   *
   * @param mayWait whether to ask the others when this process is a share ahead of what they know
   */
  take(mayWait: boolean): boolean | Promise<boolean> {
    if (this.remaining === 0) return false;
    if (mayWait && this.#isAhead) return this.#takeWhenSettled();
    this.#unsettled++;
    if (this.#unsettled * 2 >= this.#share && this.#counting.isShared) void this.#settle();
    return true;
  }

  /** One that was taken does not count after all. */
  giveBack(): void {
    this.#unsettled--;
  }

  get #isAhead(): boolean {
    return this.#unsettled >= this.#share && this.#counting.isShared;
  }

  async #takeWhenSettled(): Promise<boolean> {
    // Others have waited too, and may be ahead again.
    while (this.remaining > 0 && this.#isAhead) await this.#settle();
    return this.take(false);
  }

  #settle(): Promise<void> {
    return (this.#settling ??= this.#handOver().finally(() => {
      this.#settling = undefined;
    }));
  }

  async #handOver(): Promise<void> {
    const { key, seconds, number } = this.#window;
    const amount = this.#unsettled;
    const name = createHash('sha256').update(key).digest('base64url').slice(0, 22);
    const sum = await this.#counting.add(`rate:${name}:${number}`, amount, seconds + spareSeconds);
    // A cache that has evicted the sum starts it anew; what this process knows of the window must not shrink by that.
    this.#known = Math.max(sum ?? 0, this.#known + amount);
    this.#unsettled -= amount;
  }
}
