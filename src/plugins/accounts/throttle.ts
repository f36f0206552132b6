// Limits on failed logins, counted in the security state, which all processes share. An attempt is counted before it is
// checked, so that concurrent attempts cannot exceed the limit, and taken back when it succeeds.
//
// Guessing must not lock the owner out. So each known address of an account has its own counter for that account, which
// attempts from other addresses do not change. These counters have a purpose of their own, which entries of unknown
// addresses cannot fill.
//
// Known addresses belong to one owner: a value that is replaced when the account is deleted or its password is reset is part
// of their keys.
import { randomUUID } from 'node:crypto';
import type { SecurityEntry, SecurityKey, SecurityState } from '../../contracts/security-state.ts';
import { SecurityStateFull } from '../../contracts/errors.ts';
import { addressGroup, requesterOf } from '../../http/address-group.ts';
import { digest } from './account-cache.ts';

export interface ThrottleOptions {
  readonly windowSeconds: number;
  /** Failures per account within the window; 0 means unlimited. */
  readonly failuresPerAccount: number;
  readonly failuresPerAddress: number;
  readonly knownAddressesPerAccount: number;
}

export interface Attempt {
  /** Whether the account knows the address. */
  readonly isKnown: boolean;
  /** Ends an attempt that does not count as a failure. */
  takeBack(): Promise<void>;
  /** Ends an attempt with the right password, and makes the address a known one of the account. */
  succeed(): Promise<void>;
}

/** Time for which an address is known after a login from it. */
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

  /** Time for which a failure counts. */
  get windowSeconds(): number {
    return this.#options.windowSeconds;
  }

  /** Begins an attempt, or returns the seconds until the next one is allowed. */
  async begin(id: string, address: string | undefined): Promise<Attempt | { readonly retryAfterSeconds: number }> {
    const place = address === undefined ? undefined : addressGroup(address);
    const owner = await this.#ownerOf(id);
    const known = this.#knownAddress(owner, place ?? '');
    const isKnown = place !== undefined && (await this.#state.get(known)) !== undefined;
    const counted: SecurityEntry[] = [];
    const takeBack = async (): Promise<void> => {
      for (const entry of counted.splice(0)) await this.#state.decrement(entry);
    };
    for (const { entry, limit } of this.#counters({ id, owner, isKnown }, address)) {
      const retryAfterSeconds = await this.#count(entry, limit);
      if (retryAfterSeconds === undefined) counted.push(entry);
      else {
        await takeBack();
        return { retryAfterSeconds };
      }
    }
    return {
      isKnown,
      takeBack,
      succeed: async () => {
        await takeBack();
        if (place !== undefined && !isKnown) await this.#remember(known);
      },
    };
  }

  /** Makes all addresses of an account unknown, for its next owner. */
  async forgetAddresses(id: string): Promise<void> {
    // At most one for each account. It lasts as long as any address that was known before.
    const entry = { ...this.#ownerKey(id), requester: undefined, isBoundElsewhere: true };
    await this.#state.put(entry, randomUUID(), knownSeconds);
  }

  /** Returns a text that identifies the owner of an account, not only its id. */
  async #ownerOf(id: string): Promise<string> {
    const value = await this.#state.get(this.#ownerKey(id));
    return value === undefined ? id : `${id} ${value}`;
  }

  #ownerKey(id: string): SecurityKey {
    return { purpose: 'account-owner', key: this.#key('owner-of', id) };
  }

  /** Counts a failure in advance. Returns `undefined`, or the seconds until the next attempt is allowed. */
  async #count(entry: SecurityEntry, limit: number): Promise<number | undefined> {
    const { windowSeconds } = this.#options;
    try {
      const secondsLeft = await this.#state.increment(entry, { limit, ttlSeconds: windowSeconds });
      return secondsLeft === undefined ? undefined : Math.max(1, Math.ceil(secondsLeft));
    } catch (error) {
      // An attempt that cannot be counted must not be checked, so it is refused.
      if (error instanceof SecurityStateFull) return error.retryAfterSeconds;
      throw error;
    }
  }

  /** Stores a known address. If the security state is full, the stricter limits of unknown addresses apply. */
  async #remember(known: SecurityEntry): Promise<void> {
    try {
      await this.#state.put(known, '1', knownSeconds);
    } catch (error) {
      if (!(error instanceof SecurityStateFull)) throw error;
    }
  }

  #counters(
    { id, owner, isKnown }: { readonly id: string; readonly owner: string; readonly isKnown: boolean },
    address: string | undefined,
  ): readonly Counter[] {
    const { failuresPerAccount, failuresPerAddress } = this.#options;
    const place = address === undefined ? undefined : addressGroup(address);
    if (isKnown) {
      const key = this.#key('pair', `${place} ${owner}`);
      const entry = { purpose: 'known-login', key, requester: this.#key('owner', owner), isBoundElsewhere: true };
      return failuresPerAccount > 0 ? [{ entry, limit: failuresPerAccount }] : [];
    }
    const requester = requesterOf(address);
    const counters = [{ key: this.#key('account', id), limit: failuresPerAccount }];
    if (place !== undefined) counters.push({ key: this.#key('address', place), limit: failuresPerAddress });
    return counters
      .filter(({ limit }) => limit > 0)
      .map(({ key, limit }) => ({ entry: { purpose: 'login', key, requester }, limit }));
  }

  /** Known addresses count against the share of the account, to which only its owner can add. */
  #knownAddress(owner: string, place: string): SecurityEntry {
    return {
      purpose: 'known-address',
      key: this.#key('familiar', `${place} ${owner}`),
      requester: this.#key('owner', owner),
      maxPerRequester: this.#options.knownAddressesPerAccount,
      isBoundElsewhere: true,
    };
  }

  #key(use: string, text: string): string {
    return digest(this.#secret, `accounts:logins:${use}:${text}`);
  }
}
