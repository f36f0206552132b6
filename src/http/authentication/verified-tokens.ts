// A cache of valid tokens, so that not every request calls the remote server. The keys are HMACs, so the cache does not reveal
// tokens.
import { createHmac } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { getKey, isJsonObject, type JsonValue } from '../../base/json.ts';
import type { Identity, PolicyContext } from '../../contracts/authentication.ts';
import type { CacheBackend } from '../../contracts/cache.ts';
import { deriveKey } from '../../settings/derived-keys.ts';

/** The user of a token and its expiry. */
export interface Verified extends Identity {
  /** Expiry in milliseconds since 1970; absent when the token has none. */
  readonly until?: number | undefined;
}

export class VerifiedTokens {
  readonly #cache: CacheBackend;
  readonly #clock: Clock;
  readonly #ttlSeconds: number;
  readonly #key: Buffer;
  /** Verifications in progress; concurrent requests with one token share one. */
  readonly #underWay = new Map<string, Promise<Verified | undefined>>();

  /** @param scope everything besides the token that decides its validity: policy, server, requirements */
  constructor({ cache, clock, secret }: PolicyContext, ttlSeconds: number, scope: readonly string[]) {
    this.#cache = cache;
    this.#clock = clock;
    this.#ttlSeconds = ttlSeconds;
    this.#key = createHmac('sha256', deriveKey(secret, 'verified tokens')).update(JSON.stringify(scope)).digest();
  }

  /** Returns the user of a token from the cache or from `verify`; `undefined` when it is invalid. */
  async find(token: string, verify: () => Promise<Verified | undefined>): Promise<Identity | undefined> {
    const key = `openid:verify:${createHmac('sha256', this.#key).update(token).digest('hex')}`;
    const known = readVerified(await this.#cache.get(key));
    if (known !== undefined) return this.#isGood(known) ? known : undefined;
    let verdict = this.#underWay.get(key);
    if (verdict === undefined) {
      verdict = this.#verify(key, verify).finally(() => this.#underWay.delete(key));
      this.#underWay.set(key, verdict);
    }
    return verdict;
  }

  async #verify(key: string, verify: () => Promise<Verified | undefined>): Promise<Verified | undefined> {
    const verified = await verify();
    if (verified === undefined || !this.#isGood(verified)) return undefined;
    const { id, profile = null, until = null } = verified;
    const leftSeconds = until === null ? this.#ttlSeconds : (until - this.#clock.now()) / 1000;
    const ttlSeconds = Math.min(this.#ttlSeconds, leftSeconds);
    if (ttlSeconds > 0) await this.#cache.set(key, { id, profile, until }, ttlSeconds);
    return verified;
  }

  #isGood({ until }: Verified): boolean {
    return until === undefined || until > this.#clock.now();
  }
}

function readVerified(value: JsonValue | undefined): Verified | undefined {
  if (!isJsonObject(value)) return undefined;
  const id = getKey(value, 'id');
  const profile = getKey(value, 'profile');
  const until = getKey(value, 'until');
  if (typeof id !== 'string') return undefined;
  return {
    id,
    ...(isJsonObject(profile) ? { profile } : {}),
    ...(typeof until === 'number' ? { until } : {}),
  };
}
