// The public keys of a provider. They are fetched again when a token names an unknown key, because providers rotate
// keys, and after a maximum age, because providers revoke keys.
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../base/clock.ts';
import { ExactNumber, isJsonObject, setKey, type JsonValue, type MutableJsonObject } from '../../base/json.ts';
import type { RemoteServer } from '../../http/authentication/remote-server.ts';
import { SharedAttempt } from './shared-attempt.ts';

const maxAgeMs = 600_000;

/**
 * Limits of fetches for unknown keys, because clients can invent key ids: a burst, and one more per interval. A real
 * key rotation needs one fetch.
 */
const maxFetchBurst = 5;
const fetchIntervalMs = 10_000;

export class KeySet {
  readonly #server: RemoteServer;
  readonly #clock: Clock;
  #keys: { readonly find: JWTVerifyGetKey; readonly fetchedAt: number } | undefined;
  readonly #fetching: SharedAttempt<JWTVerifyGetKey>;
  #fetchBudget = maxFetchBurst;
  #budgetAt: number;

  constructor(server: RemoteServer, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
    this.#fetching = new SharedAttempt(clock);
    this.#budgetAt = clock.now();
  }

  /** Returns the key lookup for `jwtVerify`. Keys come only from this URL, whatever the token contains. */
  finder(url: string): JWTVerifyGetKey {
    return async (header, token) => {
      const age = this.#keys === undefined ? Infinity : Math.abs(this.#clock.now() - this.#keys.fetchedAt);
      const find = this.#keys === undefined || age > maxAgeMs ? await this.#fetch(url) : this.#keys.find;
      try {
        return await find(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || !this.#takeFetch()) throw error;
        return (await this.#fetch(url))(header, token);
      }
    };
  }

  #fetch(url: string): Promise<JWTVerifyGetKey> {
    return this.#fetching.run(() => this.#load(url));
  }

  async #load(url: string): Promise<JWTVerifyGetKey> {
    const answer = await this.#server.call(url);
    if (answer.status !== 200) throw this.#server.unavailable(url, `it answered ${answer.status}`);
    const document = toPlainJson(this.#server.readObject(url, answer)) as JSONWebKeySet;
    try {
      const find = createLocalJWKSet(document);
      this.#keys = { find, fetchedAt: this.#clock.now() };
      return find;
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
