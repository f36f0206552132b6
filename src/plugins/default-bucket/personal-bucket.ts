// The id of the personal bucket of a user, derived from the user id, so that all processes and versions agree.
import { createHmac } from 'node:crypto';
import type { UserId } from '../../core/permissions/principals.ts';
import type { Settings } from '../../settings/settings.ts';
import { userIdSecret } from '../../settings/user-id-secret.ts';

/** Returns 32 hexadecimal digits of HMAC-SHA256(secret, user id), formatted as a UUID. */
export function personalBucketId(secret: string, userId: UserId): string {
  const digest = createHmac('sha256', secret).update(userId).digest('hex').slice(0, 32);
  return digest.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Returns the secret. Personal buckets of migrated deployments keep their ids, whichever secret Kinto used. */
export function personalBucketSecret(settings: Pick<Settings, 'get'>): string {
  const own = settings.get('default_bucket_hmac_secret');
  if (own !== '') return own;
  return settings.get('default_bucket_hmac_legacy_empty') ? '' : userIdSecret(settings);
}
