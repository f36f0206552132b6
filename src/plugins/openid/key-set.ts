// The public keys of a provider. They are fetched again when no key verifies a token, because providers rotate keys, and
// after a maximum age, because providers revoke keys.
import {
  createLocalJWKSet,
  errors,
  jwtVerify,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose';
import type { Clock } from '../../base/clock.ts';
import { ExactNumber, isJsonObject, setKey, type JsonValue, type MutableJsonObject } from '../../base/json.ts';
import type { RemoteServer } from '../../http/authentication/remote-server.ts';
import { SharedAttempt } from './shared-attempt.ts';

const maxAgeMs = 600_000;

/**
 * Limits of fetches for unknown keys, because clients can invent key ids and signatures: a burst, and one more per interval. A real
 * key rotation needs one fetch.
 */
const maxFetchBurst = 5;
const fetchIntervalMs = 10_000;

/** Maximum number of keys that are tried for a token that names none. */
const maxKeysTried = 8;

interface Keys {
  readonly find: JWTVerifyGetKey;
  /** As the provider sent them. */
  readonly text: string;
  readonly fetchedAt: number;
}

export class KeySet {
  readonly #server: RemoteServer;
  readonly #clock: Clock;
  #keys: Keys | undefined;
  readonly #fetching: SharedAttempt<Keys>;
  #fetchBudget = maxFetchBurst;
  #budgetAt: number;

  constructor(server: RemoteServer, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
    this.#fetching = new SharedAttempt(clock);
    this.#budgetAt = clock.now();
  }

  /**
   * Requires a token to fit the options and to be signed by a key of the set. Keys come only from this URL, whatever the token
   * contains.
   *
   * @throws BackendUnavailable without keys; errors of `jwtVerify`
   */
  async verify(url: string, token: string, options: JWTVerifyOptions): Promise<void> {
    const age = this.#keys === undefined ? Infinity : Math.abs(this.#clock.now() - this.#keys.fetchedAt);
    const keys = this.#keys === undefined || age > maxAgeMs ? await this.#fetch(url) : this.#keys;
    try {
      await verifyWith(keys, token, options);
    } catch (error) {
      if (!isOfUnknownKey(error)) throw error;
      const newer = await this.#findNewer(url, keys);
      if (newer === undefined) throw error;
      await verifyWith(newer, token, options);
    }
  }

  /** Returns keys that were fetched later, if the budget allows a fetch and they are different. */
  async #findNewer(url: string, used: Keys): Promise<Keys | undefined> {
    if (this.#keys === used) {
      // Concurrent requests share a fetch and its place in the budget.
      if (!this.#fetching.isUnderWay && !this.#takeFetch()) return undefined;
      await this.#fetch(url);
    }
    return this.#keys?.text === used.text ? undefined : this.#keys;
  }

  #fetch(url: string): Promise<Keys> {
    return this.#fetching.run(() => this.#load(url));
  }

  async #load(url: string): Promise<Keys> {
    const answer = await this.#server.call(url);
    if (answer.status !== 200) throw this.#server.unavailable(url, `it answered ${answer.status}`);
    const document = toPlainJson(this.#server.readObject(url, answer)) as JSONWebKeySet;
    try {
      this.#keys = { find: createLocalJWKSet(document), text: answer.text, fetchedAt: this.#clock.now() };
      return this.#keys;
    } catch (error) {
      if (error instanceof errors.JWKSInvalid)
        throw this.#server.unavailable(url, 'the response contains no keys', error);
      throw error;
    }
  }

  /** Takes one fetch from the budget. Returns `false` if it is used up. */
  #takeFetch(): boolean {
    const now = this.#clock.now();
    const intervals = Math.floor(Math.max(0, now - this.#budgetAt) / fetchIntervalMs);
    if (intervals > 0) {
      this.#fetchBudget = Math.min(maxFetchBurst, this.#fetchBudget + intervals);
      this.#budgetAt = now;
    }
    if (this.#fetchBudget === 0) return false;
    this.#fetchBudget--;
    return true;
  }
}

/** Verifies with the key that the token names, or with each key that fits. Providers may publish keys without ids. */
async function verifyWith({ find }: Keys, token: string, options: JWTVerifyOptions): Promise<void> {
  try {
    await jwtVerify(token, find, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let failure: unknown = error;
    let tried = 0;
    for await (const key of error) {
      try {
        await jwtVerify(token, key, options);
        return;
      } catch (cause) {
        if (!isOfUnknownKey(cause)) throw cause;
        failure = cause;
      }
      if (++tried === maxKeysTried) break;
    }
    throw failure;
  }
}

/** Whether a newer key may verify the token. Without key ids, or with an id that is used again, only the signature shows it. */
function isOfUnknownKey(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
}

/** Converts exact numbers to doubles, for libraries that accept only plain JSON. */
function toPlainJson(value: JsonValue): unknown {
  if (value instanceof ExactNumber) return value.valueOf();
  if (Array.isArray(value)) return value.map(toPlainJson);
  if (!isJsonObject(value)) return value;
  const plain: MutableJsonObject = {};
  for (const key of Object.keys(value)) {
    setKey(plain, key, toPlainJson(value[key]!) as JsonValue);
  }
  return plain;
}
