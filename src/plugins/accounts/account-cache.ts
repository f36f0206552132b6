// Keys and values of account data in the cache and in the security state. They are derived from the secret of the
// service, so that readers of these stores learn neither names nor passwords.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Returns hex(HMAC-SHA256(key, text)). */
export function digest(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

/** Returns the secret from which the cache keys of an account are derived. */
export function cacheSecret(secret: string, id: string): string {
  return digest(secret, `accounts:${id}:verified`);
}

/** Compares two digests in constant time. */
export function equalDigests(value: unknown, expected: string): boolean {
  return (
    typeof value === 'string' &&
    value.length === expected.length &&
    timingSafeEqual(Buffer.from(value), Buffer.from(expected))
  );
}
