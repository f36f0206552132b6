// Token buckets that all processes share with few calls to the cache. A bucket has as many tokens as a limit allows requests.
// A request takes one token, and tokens are refilled at a constant rate. The state of a bucket is one timestamp: the time at
// which it will be full again. Each process advances it locally, and reports the taken tokens to the cache when they reach half
// a share of the limit. Only at a whole share does a request wait for the cache. So a client far below its limit costs no call,
// and no process is more than a share ahead of the others.
import { createHash } from 'node:crypto';
import type { CacheBackend } from '../../contracts/cache.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../contracts/logger.ts';

/** Number of shares of a limit. */
const shares = 10;
/** Additional time to live of a bucket, for processes with different clocks. */
const spareSeconds = 60;
/** A shared timestamp further ahead than this many capacities comes from a clock that has been set back since. */
const maxCapacitiesAhead = 10;
const patienceMs = 1000;
const pauseMs = 5000;
const microsPerSecond = 1_000_000;

/** The used part of a cache. */
export type MomentKeeper = Pick<CacheBackend, 'advance'>;

export interface BucketStoreOptions {
  /** `undefined` for a single process. */
  readonly cache: MomentKeeper | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Shared state of the buckets of a process: the clock, and the cache with its availability. */
export class BucketStore {
  readonly #clock: Clock;
  readonly #cache: MomentKeeper | undefined;
  readonly #logger: Logger;
  #pausedUntil = 0;
  /** Latest time of the clock, and the sum of its steps back, in milliseconds. */
  #latest = 0;
  #steppedBack = 0;

  constructor({ cache, clock, logger }: BucketStoreOptions) {
    this.#cache = cache;
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * Microseconds since 1970, integers that every cache adds exactly. They never step back with the clock, after which buckets
   * would stay empty.
   */
  get now(): number {
    const now = this.#clock.now();
    if (now < this.#latest) this.#steppedBack += this.#latest - now;
    this.#latest = now;
    return Math.floor((now + this.#steppedBack) * 1000);
  }

  /** Whether the cache is available. */
  get isShared(): boolean {
    return this.#cache !== undefined && performance.now() >= this.#pausedUntil;
  }

  /** Advances a shared timestamp and returns it; `undefined` when the cache fails. */
  async advance(...args: Parameters<MomentKeeper['advance']>): Promise<number | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${patienceMs} ms`)), patienceMs);
    });
    try {
      return await Promise.race([this.#cache?.advance(...args), tooLate]);
    } catch (error) {
      // A failing cache must not make the service fail.
      if (performance.now() >= this.#pausedUntil) {
        this.#logger.warn({ err: error }, 'The cache fails: each process applies the rate limits separately');
      }
      this.#pausedUntil = performance.now() + pauseMs;
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}

export interface BucketOptions {
  /** Identifies limit and caller; of any length. */
  readonly key: string;
  /** Tokens of a full bucket. */
  readonly limit: number;
  /** Time to refill an empty bucket. */
  readonly seconds: number;
}

/** The bucket of one caller for one limit. All times are in microseconds. */
export class TokenBucket {
  readonly #store: BucketStore;
  readonly #options: BucketOptions;
  readonly #share: number;
  /** Time to refill one token. */
  readonly #tokenTime: number;
  /** Time to refill all tokens. */
  readonly #capacity: number;
  /** Time at which the bucket is full, by the reports of all processes and the tokens taken here. */
  #fullAt = 0;
  /** Tokens taken here whose report is not confirmed. */
  #unsettled = 0;
  /** Time at which the first token that is not being reported was taken. */
  #unsettledSince: number | undefined;
  #settling: Promise<void> | undefined;

  constructor(store: BucketStore, options: BucketOptions) {
    const { limit, seconds } = options;
    this.#store = store;
    this.#options = options;
    this.#share = Math.max(1, Math.ceil(limit / shares));
    this.#tokenTime = Math.max(1, Math.round((seconds * microsPerSecond) / limit));
    this.#capacity = this.#tokenTime * limit;
  }

  /** Number of available tokens. */
  get remaining(): number {
    const now = this.#store.now;
    return Math.max(0, Math.floor((now + this.#capacity - Math.max(this.#fullAt, now)) / this.#tokenTime));
  }

  /** Whole seconds until the bucket is full again, at least one. */
  get secondsUntilFull(): number {
    return this.#secondsUntil(this.#fullAt);
  }

  /** Whole seconds until a token is available, at least one. */
  get secondsUntilToken(): number {
    return this.#secondsUntil(this.#fullAt - this.#capacity + this.#tokenTime);
  }

  /**
   * Takes a token; returns whether one was available.
   *
   * @param mayWait whether to wait for the cache when this process is a share ahead of the others
   */
  take(mayWait: boolean): boolean | Promise<boolean> {
    if (this.remaining === 0) return false;
    if (mayWait && this.#isAhead) return this.#takeWhenSettled();
    const now = this.#store.now;
    this.#fullAt = Math.max(this.#fullAt, now) + this.#tokenTime;
    this.#unsettledSince ??= now;
    this.#unsettled++;
    if (this.#unsettled * 2 >= this.#share && this.#store.isShared) void this.#settle();
    return true;
  }

  /** Returns a taken token. */
  giveBack(): void {
    this.#unsettled--;
    this.#fullAt -= this.#tokenTime;
  }

  get #isAhead(): boolean {
    return this.#unsettled >= this.#share && this.#store.isShared;
  }

  #secondsUntil(moment: number): number {
    const seconds = Math.ceil((moment - this.#store.now) / microsPerSecond);
    return Math.min(this.#options.seconds, Math.max(1, seconds));
  }

  async #takeWhenSettled(): Promise<boolean> {
    // Other waiting requests may have taken the next share.
    while (this.remaining > 0 && this.#isAhead) await this.#settle();
    return this.take(false);
  }

  #settle(): Promise<void> {
    return (this.#settling ??= this.#handOver().finally(() => {
      this.#settling = undefined;
    }));
  }

  async #handOver(): Promise<void> {
    const { key, seconds } = this.#options;
    const amount = this.#unsettled;
    // Tokens are refilled from the time at which they were taken, not from now.
    const since = this.#unsettledSince ?? this.#store.now;
    this.#unsettledSince = undefined;
    const name = createHash('sha256').update(key).digest('base64url').slice(0, 22);
    const shared = await this.#store.advance(`bucket:${name}`, amount * this.#tokenTime, since, seconds + spareSeconds);
    this.#unsettled -= amount;
    if (shared === undefined) return;
    // Written before the clocks were set back and this process started: it would block the caller.
    if (shared > this.#store.now + maxCapacitiesAhead * this.#capacity + spareSeconds * microsPerSecond) return;
    // If the cache has evicted the timestamp, the local one still applies.
    this.#fullAt = Math.max(this.#fullAt, shared + this.#unsettled * this.#tokenTime);
  }
}
