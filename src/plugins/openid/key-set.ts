// The public keys of a provider. They are fetched again when a token names one that is not among them, since providers
// change keys, and from time to time, since they withdraw them.
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../base/clock.ts';
import { ExactNumber, isJsonObject, setKey, type JsonValue, type MutableJsonObject } from '../../base/json.ts';
import type { RemoteServer } from '../../http/authentication/remote-server.ts';

const maxAgeMs = 600_000;

/**
 * Anybody can make up names of keys. So many unknown ones in a row lead to a fetch, and one more for each interval; a
 * real change of keys needs one.
 */
const maxFetchBurst = 5;
const fetchIntervalMs = 10_000;

export class KeySet {
  readonly #server: RemoteServer;
  readonly #clock: Clock;
  #keys: { readonly find: JWTVerifyGetKey; readonly fetchedAt: number } | undefined;
  #fetching: Promise<JWTVerifyGetKey> | undefined;
  #spare = maxFetchBurst;
  #sparedAt: number;

  constructor(server: RemoteServer, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
    this.#sparedAt = clock.now();
  }

  /**
   * For `jwtVerify`: the key of a token, out of the set at this address; nothing that the token says leads elsewhere.
   */
  finder(url: string): JWTVerifyGetKey {
    return async (header, token) => {
      const age = this.#keys === undefined ? Infinity : Math.abs(this.#clock.now() - this.#keys.fetchedAt);
      const find = this.#keys === undefined || age > maxAgeMs ? await this.#fetch(url) : this.#keys.find;
      try {
        return await find(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || !this.#mayFetch()) throw error;
        return (await this.#fetch(url))(header, token);
      }
    };
  }

  #fetch(url: string): Promise<JWTVerifyGetKey> {
    this.#fetching ??= this.#load(url).finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
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
      if (error instanceof errors.JWKSInvalid) throw this.#server.unavailable(url, 'the answer holds no keys', error);
      throw error;
    }
  }

  #mayFetch(): boolean {
    const now = this.#clock.now();
    const intervals = Math.floor(Math.max(0, now - this.#sparedAt) / fetchIntervalMs);
    if (intervals > 0) {
      this.#spare = Math.min(maxFetchBurst, this.#spare + intervals);
      this.#sparedAt = now;
    }
    if (this.#spare === 0) return false;
    this.#spare--;
    return true;
  }
}

/** The value with every exact number as its nearest double, for libraries that know plain JSON only. */
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
