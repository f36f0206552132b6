// Limits on failed logins, counted in the security state and so by all processes together. An attempt counts before it is
// checked, so that concurrent attempts do not slip through, and is taken back when it turns out to be good.
//
// A guesser must not be able to lock the owner out: each address from which an account was used before has a counter of
// its own with that account, which attempts from elsewhere do not touch. Its purpose is its own as well, so that entries
// made by strangers cannot fill it up.
import type { SecurityEntry, SecurityState } from '../../contracts/security-state.ts';
import { SecurityStateFull } from '../../contracts/errors.ts';
import { addressGroup, requesterOf } from '../../http/address-group.ts';
import { digest } from './account-cache.ts';

export interface ThrottleOptions {
  readonly windowSeconds: number;
  /** 0: no limit. */
  readonly failuresPerAccount: number;
  readonly failuresPerAddress: number;
  readonly knownAddressesPerAccount: number;
}

export interface Attempt {
  /** Ends an attempt that was no failure after all. */
  takeBack(): Promise<void>;
  /** Ends an attempt with the right password: the account is used from this address. */
  succeed(): Promise<void>;
}

/** How long an address counts as known after a login from it. */
const knownSeconds = 30 * 24 * 3600;

interface Counter {
  readonly entry: SecurityEntry;
  readonly limit: number;
}

export class Throttle {
  readonly #state: SecurityState;
  readonly #secret: string;
  readonly #options: ThrottleOptions;

  constructor(state: SecurityState, secret: string, options: ThrottleOptions) {
    this.#state = state;
    this.#secret = secret;
    this.#options = options;
  }

  /** Begins an attempt, or returns after how many seconds there may be another one. */
  async begin(id: string, address: string | undefined): Promise<Attempt | { readonly retryAfterSeconds: number }> {
    const place = address === undefined ? undefined : addressGroup(address);
    const known = this.#knownAddress(id, place ?? '');
    const isKnown = place !== undefined && (await this.#state.get(known)) !== undefined;
    const counted: SecurityEntry[] = [];
    const takeBack = async (): Promise<void> => {
      for (const entry of counted.splice(0)) await this.#state.decrement(entry);
    };
    for (const { entry, limit } of this.#counters(id, address, isKnown)) {
      const retryAfterSeconds = await this.#count(entry, limit);
      if (retryAfterSeconds === undefined) counted.push(entry);
      else {
        await takeBack();
        return { retryAfterSeconds };
      }
    }
    return {
      takeBack,
      succeed: async () => {
        await takeBack();
        if (place !== undefined && !isKnown) await this.#remember(known);
      },
    };
  }

  /** Counts a failure in advance; returns `undefined`, or the seconds until another one may be counted. */
  async #count(entry: SecurityEntry, limit: number): Promise<number | undefined> {
    const { windowSeconds } = this.#options;
    try {
      const secondsLeft = await this.#state.increment(entry, { limit, ttlSeconds: windowSeconds });
      return secondsLeft === undefined ? undefined : Math.max(1, Math.ceil(secondsLeft));
    } catch (error) {
      // An attempt that cannot be counted must not be checked.
      if (error instanceof SecurityStateFull) return error.retryAfterSeconds;
      throw error;
    }
  }

  /** Without room the address stays unknown, which only means the stricter limits of unknown addresses. */
  async #remember(known: SecurityEntry): Promise<void> {
    try {
      await this.#state.put(known, '1', knownSeconds);
    } catch (error) {
      if (!(error instanceof SecurityStateFull)) throw error;
    }
  }

  #counters(id: string, address: string | undefined, isKnown: boolean): readonly Counter[] {
    const { failuresPerAccount, failuresPerAddress } = this.#options;
    const place = address === undefined ? undefined : addressGroup(address);
    if (isKnown) {
      const key = this.#key('pair', `${place} ${id}`);
      const entry = { purpose: 'known-login', key, requester: this.#key('owner', id), isBoundElsewhere: true };
      return failuresPerAccount > 0 ? [{ entry, limit: failuresPerAccount }] : [];
    }
    const requester = requesterOf(address);
    const counters = [{ key: this.#key('account', id), limit: failuresPerAccount }];
    if (place !== undefined) counters.push({ key: this.#key('address', place), limit: failuresPerAddress });
    return counters
      .filter(({ limit }) => limit > 0)
      .map(({ key, limit }) => ({ entry: { purpose: 'login', key, requester }, limit }));
  }

  /** Known addresses are the share of the account: only its owner can add to them, and strangers cannot use up room. */
  #knownAddress(id: string, place: string): SecurityEntry {
    return {
      purpose: 'known-address',
      key: this.#key('familiar', `${place} ${id}`),
      requester: this.#key('owner', id),
      maxPerRequester: this.#options.knownAddressesPerAccount,
      isBoundElsewhere: true,
    };
  }

  #key(use: string, text: string): string {
    return digest(this.#secret, `accounts:logins:${use}:${text}`);
  }
}
