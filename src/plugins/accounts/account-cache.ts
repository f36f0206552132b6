// Keys and values of entries about accounts in the cache and the security state. They are derived with the secret of the
// service, so that a reader of either learns neither names nor passwords.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey } from '../../settings/derived-keys.ts';
import type { Settings } from '../../settings/settings.ts';

/** Returns the secret from which all keys of this plugin are derived. */
export function accountsSecret(settings: Pick<Settings, 'get'>): string {
  return deriveKey(settings.get('userid_hmac_secret'), 'accounts').toString('hex');
}

/** Returns HMAC-SHA256(key, text) in hexadecimal. */
export function digest(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

/** Returns the key from which the cache keys of an account are derived. */
export function cacheSecret(secret: string, id: string): string {
  return digest(secret, `accounts:${id}:verified`);
}

/** Returns whether two digests are equal, in constant time. */
export function equalDigests(value: unknown, expected: string): boolean {
  return (
    typeof value === 'string' &&
    value.length === expected.length &&
    timingSafeEqual(Buffer.from(value), Buffer.from(expected))
  );
}
