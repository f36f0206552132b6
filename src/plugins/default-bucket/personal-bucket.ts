// The id of a personal bucket, derived from the user id, so that all processes and later versions compute the same one.
import { createHmac } from 'node:crypto';
import type { Settings } from '../../settings/settings.ts';
import { userIdSecret } from '../../settings/user-id-secret.ts';

/** Returns 32 hexadecimal digits of HMAC-SHA256(secret, user id), formatted as a UUID. */
export function personalBucketId(secret: string, userId: string): string {
  const digest = createHmac('sha256', secret).update(userId).digest('hex').slice(0, 32);
  return digest.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Returns the secret for the ids. The settings allow the secret of a migrated deployment, so that its ids stay valid. */
export function personalBucketSecret(settings: Pick<Settings, 'get'>): string {
  const own = settings.get('default_bucket_hmac_secret');
  if (own !== '') return own;
  return settings.get('default_bucket_hmac_legacy_empty') ? '' : userIdSecret(settings);
}
