// Token buckets that all processes share, at the price of few calls to the cache. A bucket holds as many tokens as a limit
// allows requests, a request takes one, and tokens come back at an even rate. Its whole state is one moment: the one at
// which it will be full again. Each process moves that moment on by itself and hands over what it took when that is half a
// share of the limit. Only when it is a whole share does a request wait for the answer. So a client far below its limit
// costs no call at all, and no process is ever more than a share ahead of what the others know.
import { createHash } from 'node:crypto';
import type { CacheBackend } from '../../contracts/cache.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../contracts/logger.ts';

/** A share is this part of a limit. */
const shares = 10;
/** Beyond the time in which a bucket fills up, for processes whose clocks differ. */
const spareSeconds = 60;
/** A shared moment that is further ahead than so many capacities comes from a clock that was set back since. */
const maxCapacitiesAhead = 10;
const patienceMs = 1000;
const pauseMs = 5000;
const microsPerSecond = 1_000_000;

/** What is needed of a cache. */
export type MomentKeeper = Pick<CacheBackend, 'advance'>;

export interface BucketStoreOptions {
  /** Absent when this process is the only one. */
  readonly cache: MomentKeeper | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What the buckets of a process have in common: the cache that they are shared in, and whether it works at the moment. */
export class BucketStore {
  readonly #clock: Clock;
  readonly #cache: MomentKeeper | undefined;
  readonly #logger: Logger;
  #pausedUntil = 0;
  /** Latest time of the clock, and by how much it has stepped back so far, in milliseconds. */
  #latest = 0;
  #steppedBack = 0;

  constructor({ cache, clock, logger }: BucketStoreOptions) {
    this.#cache = cache;
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * Microseconds since 1970: whole numbers, which every cache adds exactly. They never step back with the clock: buckets
   * would stay empty until it has caught up.
   */
  get now(): number {
    const now = this.#clock.now();
    if (now < this.#latest) this.#steppedBack += this.#latest - now;
    this.#latest = now;
    return Math.floor((now + this.#steppedBack) * 1000);
  }

  /** Whether buckets can be shared now. */
  get isShared(): boolean {
    return this.#cache !== undefined && performance.now() >= this.#pausedUntil;
  }

  /** Moves a shared moment on; returns it as all processes know it, or `undefined` when the cache fails. */
  async advance(...args: Parameters<MomentKeeper['advance']>): Promise<number | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${patienceMs} ms`)), patienceMs);
    });
    try {
      return await Promise.race([this.#cache?.advance(...args), tooLate]);
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

export interface BucketOptions {
  /** Distinguishes limits and callers, of any length. */
  readonly key: string;
  /** Tokens of a full bucket. */
  readonly limit: number;
  /** Time in which an empty bucket fills up. */
  readonly seconds: number;
}

/** The bucket of one caller for one limit. All times are in microseconds. */
export class TokenBucket {
  readonly #store: BucketStore;
  readonly #options: BucketOptions;
  readonly #share: number;
  /** Time in which one token comes back. */
  readonly #tokenTime: number;
  /** Time in which all tokens come back. */
  readonly #capacity: number;
  /** Moment at which the bucket is full, by what all processes have handed over and by what was taken here. */
  #fullAt = 0;
  /** Tokens taken here and not yet known to be handed over. */
  #unsettled = 0;
  /** When the first of those was taken that are not being handed over. */
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

  /** Tokens that are left. */
  get remaining(): number {
    const now = this.#store.now;
    return Math.max(0, Math.floor((now + this.#capacity - Math.max(this.#fullAt, now)) / this.#tokenTime));
  }

  /** Whole seconds until the bucket is full again, at least one. */
  get secondsUntilFull(): number {
    return this.#secondsUntil(this.#fullAt);
  }

  /** Whole seconds until there is a token, at least one. */
  get secondsUntilToken(): number {
    return this.#secondsUntil(this.#fullAt - this.#capacity + this.#tokenTime);
  }

  /**
   * Takes a token; returns whether there was one.
   *
   * @param mayWait whether to wait for the cache when this process is a share ahead of what the others know
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

  /** Puts a token back that was taken. */
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
    // Other requests have waited too, and may have taken the next share already.
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
    // Tokens that were taken long ago have come back since: they count from when they were taken, and not from now.
    const since = this.#unsettledSince ?? this.#store.now;
    this.#unsettledSince = undefined;
    const name = createHash('sha256').update(key).digest('base64url').slice(0, 22);
    const shared = await this.#store.advance(`bucket:${name}`, amount * this.#tokenTime, since, seconds + spareSeconds);
    this.#unsettled -= amount;
    if (shared === undefined) return;
    // Written before the clocks were set back, and before this process was there: it would lock the caller out.
    if (shared > this.#store.now + maxCapacitiesAhead * this.#capacity + spareSeconds * microsPerSecond) return;
    // A cache that has evicted the moment begins anew; what this process knows must not shrink by that.
    this.#fullAt = Math.max(this.#fullAt, shared + this.#unsettled * this.#tokenTime);
  }
}
