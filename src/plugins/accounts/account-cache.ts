// Keys and values of what the plugin keeps about accounts outside of their objects. They are derived with the secret of
// the service: a reader of the cache or of the security state learns neither names nor passwords.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** hex(HMAC-SHA256(key, text)) */
export function digest(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

/** What the cache keys of an account are derived from. */
export function cacheSecret(secret: string, id: string): string {
  return digest(secret, `accounts:${id}:verified`);
}

/** Whether two digests are the same, in a time that does not depend on where they differ. */
export function equalDigests(value: unknown, expected: string): boolean {
  return (
    typeof value === 'string' &&
    value.length === expected.length &&
    timingSafeEqual(Buffer.from(value), Buffer.from(expected))
  );
}
