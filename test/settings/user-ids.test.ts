// User ids of deployments that had no secret, and what is said about them.
import { describe, expect, test } from 'vitest';
import { compareIdentity } from '../../src/transfer/import/identity.ts';
import { findRisks } from '../../src/maintenance/risks.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import { startTestService } from '../../src/testing/index.ts';
import { problemsOf } from './helpers.ts';

const legacy = { userid_hmac_secret: '', userid_hmac_legacy_empty: 'true' };
/** Computed by the HMAC-SHA256 of another library with an empty key. */
const alice = 'basicauth:dd653000b27585fd044995bd79dd92f3f04f2abc92c7d52bca4470fbb6a282fc';
const bucketOfAlice = 'ce49287f-90c9-8454-6ad0-470b36f7863b';
const authorization = `Basic ${Buffer.from('alice:wonder').toString('base64')}`;

async function userWith(settings: Readonly<Record<string, string>>): Promise<unknown> {
  const service = await startTestService({ settings: { includes: 'default_bucket', ...settings } });
  const { body } = await service.request('GET', '/v1/', { headers: { authorization } });
  await service.close();
  return (body as { readonly user: unknown }).user;
}

describe('userid_hmac_legacy_empty', () => {
  test('keeps the user ids and the ids of personal buckets of an empty secret.', async () => {
    expect(await userWith(legacy)).toMatchObject({ id: alice, bucket: bucketOfAlice });
  });

  test('keeps them when a secret is set for everything else.', async () => {
    const user = await userWith({ ...legacy, userid_hmac_secret: 'for everything else' });
    expect(user).toMatchObject({ id: alice, bucket: bucketOfAlice });
    const own = await userWith({ ...legacy, default_bucket_hmac_secret: 'of buckets' });
    expect(own).toMatchObject({ id: alice, bucket: expect.not.stringContaining(bucketOfAlice) });
  });

  test('is the only way to have Basic authentication without a secret, as the error says.', () => {
    for (const off of [{}, { userid_hmac_legacy_empty: 'false' }]) {
      const { message } = problemsOf(() => settingsOf({ ...off, 'multiauth.policies': 'basicauth' }));
      expect(message).toContain('userid_hmac_secret: must be set');
      expect(message).toContain('userid_hmac_legacy_empty = true keeps the user ids');
    }
    expect(settingsOf(legacy).get('userid_hmac_secret')).toBe('');
  });

  test('causes a warning, and a stronger one without any secret.', () => {
    const line = expect.stringMatching(/^INSECURE: userid_hmac_legacy_empty is true\..*Set userid_hmac_secret too/);
    expect(settingsOf(legacy).warnings).toContainEqual(line);
    const both = settingsOf({ ...legacy, userid_hmac_secret: 'x' }).warnings;
    expect(both).toContainEqual(expect.stringMatching(/^INSECURE: userid_hmac_legacy_empty is true/));
    expect(both).not.toContainEqual(line);
    expect(findRisks(settingsOf(legacy)).join()).not.toContain('is short');
  });

  test('does not allow tokens that are signed without a secret.', () => {
    const { message } = problemsOf(() => settingsOf({ ...legacy, pagination_token_signed: 'true' }));
    expect(message).toContain('userid_hmac_secret: must be set with pagination_token_signed');
  });

  test('is requested by the import when the source derives ids with an empty secret.', () => {
    const source = { product: 'kinto', userId: alice, bucketId: bucketOfAlice, isReadonly: false };
    const compare = (settings: Readonly<Record<string, string>>): readonly string[] =>
      compareIdentity({ ...source, capabilities: new Set() }, authorization, settingsOf(settings));
    expect(compare({ userid_hmac_secret: 'other' })).toEqual([
      expect.stringContaining('set userid_hmac_legacy_empty = true'),
      expect.stringContaining('default_bucket_hmac_legacy_empty = true'),
    ]);
    expect(compare(legacy)).toEqual([]);
  });
});
