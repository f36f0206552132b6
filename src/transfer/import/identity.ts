// Checks whether user ids and ids of personal buckets stay the same. They are derived from secrets, which must be those of the
// source.
import { storedUserId } from '../../core/permissions/principals.ts';
import { basicUserId, parseBasic } from '../../http/authentication/basic.ts';
import { personalBucketId, personalBucketSecret } from '../../plugins/default-bucket/personal-bucket.ts';
import type { Settings } from '../../settings/settings.ts';
import { userIdSecret } from '../../settings/user-id-secret.ts';
import type { SourceRoot } from './source.ts';

/** Returns the differences with their remedies; empty without any, or when the source does not show enough. */
export function compareIdentity(
  { userId, bucketId }: SourceRoot,
  authorization: string | undefined,
  settings: Settings,
): readonly string[] {
  const warnings: string[] = [];
  const basic = parseBasic(authorization);
  if (basic !== undefined && userId !== undefined && /^[^:]+:[0-9a-f]{64}$/.test(userId)) {
    const own = basicUserId(userIdSecret(settings), basic);
    const isEmptySecret = userId.endsWith(`:${basicUserId('', basic)}`);
    if (isEmptySecret && !settings.get('userid_hmac_legacy_empty')) {
      warnings.push(
        `The source calls you ${userId}, which is derived with an empty secret: set userid_hmac_legacy_empty = true; ` +
          'otherwise users of Basic authentication lose access to their data.',
      );
    } else if (!userId.endsWith(`:${own}`)) {
      warnings.push(
        `The source calls you ${userId}, this configuration would call you …:${own}: userid_hmac_secret differs. ` +
          'Set it to the secret of the source; otherwise users of Basic authentication lose access to their data.',
      );
    }
    const name = userId.slice(0, userId.indexOf(':'));
    if (!settings.get('multiauth.policies').some((policy) => policy.toLowerCase() === name)) {
      warnings.push(`User ids of the source begin with ${name}:, but multiauth.policies has no policy of that name.`);
    }
  }
  if (bucketId !== undefined && userId !== undefined) {
    const own = personalBucketId(personalBucketSecret(settings), storedUserId(userId));
    if (own !== bucketId) {
      const isEmptySecret = personalBucketId('', storedUserId(userId)) === bucketId;
      warnings.push(
        `Your personal bucket is ${bucketId} at the source and would be ${own} here. ` +
          (isEmptySecret
            ? 'The source derives it with an empty secret: set default_bucket_hmac_legacy_empty = true.'
            : 'Give default_bucket_hmac_secret (or userid_hmac_secret, where the source has no other) the value of the source.'),
      );
    }
  }
  return warnings;
}
