// What the plugin keeps in the cache: verified logins, activation keys, temporary passwords. Keys and values are derived
// with the secret of the service, so that whoever reads the cache learns neither names nor passwords.
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import type { CacheBackend } from '../../contracts/cache.ts';

export type OneTimeUse = 'validation-key' | 'reset-password';

/** hex(HMAC-SHA256(key, text)) */
export function digest(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

/** The cache key of one thing kept for an account. */
export function cacheKey(secret: string, id: string, use: OneTimeUse | 'verified'): string {
  return digest(secret, `accounts:${id}:${use}`);
}

/** Whether two digests are the same, in a time that does not depend on where they differ. */
export function equalDigests(value: unknown, expected: string): boolean {
  return (
    typeof value === 'string' &&
    value.length === expected.length &&
    timingSafeEqual(Buffer.from(value), Buffer.from(expected))
  );
}

/** Forgets what a change of the account ends: how it logged in, and with its deletion the key that would activate it. */
export async function forgetAccount(
  { cache, secret }: { readonly cache: CacheBackend; readonly secret: string },
  id: string,
  change: 'create' | 'update' | 'delete',
): Promise<void> {
  await cache.delete(cacheKey(secret, id, 'verified'));
  if (change !== 'create') await cache.delete(cacheKey(secret, id, 'reset-password'));
  if (change === 'delete') await cache.delete(cacheKey(secret, id, 'validation-key'));
}

/** A one-time text that was used up, and how to make it usable again when the request comes to nothing. */
export interface Taken {
  readonly giveBack: () => Promise<void>;
}

/** Texts sent to the owner of an account, each of which serves once. */
export class OneTimeTexts {
  readonly #cache: CacheBackend;
  readonly #secret: string;
  readonly #use: OneTimeUse;
  readonly #ttlSeconds: number;

  constructor(cache: CacheBackend, secret: string, use: OneTimeUse, ttlSeconds: number) {
    this.#cache = cache;
    this.#secret = secret;
    this.#use = use;
    this.#ttlSeconds = ttlSeconds;
  }

  /** Makes a new text; an earlier one for the account is no longer good. */
  async issue(id: string): Promise<string> {
    const text = randomUUID();
    const key = this.#key(id);
    await this.#cache.set(key, digest(key, text), this.#ttlSeconds);
    return text;
  }

  /** Takes back what was issued. */
  async revoke(id: string): Promise<void> {
    await this.#cache.delete(this.#key(id));
  }

  /** Uses the text up; of two who do so at once one succeeds. A wrong text leaves the right one usable. */
  async take(id: string, text: string): Promise<Taken | undefined> {
    const key = this.#key(id);
    const expected = digest(key, text);
    if (!equalDigests(await this.#cache.get(key), expected)) return undefined;
    const secondsLeft = await this.#cache.ttl(key);
    if (!equalDigests(await this.#cache.delete(key), expected)) return undefined;
    return { giveBack: () => this.#cache.set(key, expected, Math.max(secondsLeft, 1)) };
  }

  #key(id: string): string {
    return cacheKey(this.#secret, id, this.#use);
  }
}
