// Limits on failed logins, counted in the cache and so by all processes together. An attempt counts before it is
// checked, so that attempts made at once do not slip through, and is taken back when it turns out to be good.
//
// Whoever tries to guess must not be able to lock the owner out: addresses from which an account was used before have
// a count of their own with it, which attempts from elsewhere do not touch.
import type { CacheBackend } from '../../contracts/cache.ts';
import { addressGroup } from '../../http/address-group.ts';
import { digest } from './account-cache.ts';

export interface ThrottleOptions {
  readonly windowSeconds: number;
  /** 0: no limit. */
  readonly failuresPerAccount: number;
  readonly failuresPerAddress: number;
}

export interface Attempt {
  /** It was no failure after all. */
  takeBack(): Promise<void>;
  /** The account is used from this address. */
  succeed(): Promise<void>;
}

/** How long an address from which an account was used counts as its own. */
const familiarSeconds = 30 * 24 * 3600;

interface Counter {
  readonly key: string;
  readonly limit: number;
}

export class Throttle {
  readonly #cache: CacheBackend;
  readonly #secret: string;
  readonly #options: ThrottleOptions;

  constructor(cache: CacheBackend, secret: string, options: ThrottleOptions) {
    this.#cache = cache;
    this.#secret = secret;
    this.#options = options;
  }

  /** Begins an attempt, or tells after how many seconds there may be another one. */
  async begin(id: string, address: string | undefined): Promise<Attempt | { readonly retryAfterSeconds: number }> {
    const { windowSeconds } = this.#options;
    const place = address === undefined ? undefined : addressGroup(address);
    const familiar = this.#key('familiar', `${place ?? ''} ${id}`);
    const isFamiliar = place !== undefined && (await this.#cache.get(familiar)) === true;
    const counters = this.#counters(id, place, isFamiliar);
    const counted: Counter[] = [];
    const takeBack = async (): Promise<void> => {
      for (const { key } of counted.splice(0)) await this.#cache.increment(key, -1, windowSeconds);
    };
    for (const counter of counters) {
      counted.push(counter);
      if ((await this.#cache.increment(counter.key, 1, windowSeconds)) <= counter.limit) continue;
      await takeBack();
      return { retryAfterSeconds: Math.max(1, Math.ceil(await this.#cache.ttl(counter.key))) };
    }
    return {
      takeBack,
      succeed: async () => {
        await takeBack();
        if (place !== undefined && !isFamiliar) await this.#cache.set(familiar, true, familiarSeconds);
      },
    };
  }

  #counters(id: string, place: string | undefined, isFamiliar: boolean): readonly Counter[] {
    const { failuresPerAccount, failuresPerAddress } = this.#options;
    const ofAccount = isFamiliar ? this.#key('pair', `${place} ${id}`) : this.#key('account', id);
    const counters = [{ key: ofAccount, limit: failuresPerAccount }];
    if (place !== undefined && !isFamiliar) {
      counters.push({ key: this.#key('address', place), limit: failuresPerAddress });
    }
    return counters.filter(({ limit }) => limit > 0);
  }

  #key(use: string, text: string): string {
    return digest(this.#secret, `accounts:logins:${use}:${text}`);
  }
}
