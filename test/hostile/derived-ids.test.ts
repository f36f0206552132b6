// Ids of personal buckets and of users of the Basic policy are HMACs with the same secret, and clients choose the texts. On
// every backend, no client computes the id of a bucket that is not its own.
import { describe, expect, it, onTestFinished } from 'vitest';
import { definePlugin } from '../../src/http/plugin.ts';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

interface User {
  readonly id: string;
  readonly bucket: string;
}

function basic(user: string, password: string): { readonly Authorization: string } {
  return { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

async function identify(service: TestService, name: string, password: string): Promise<User | undefined> {
  const { body } = await service.request('GET', '/v1/', { headers: basic(name, password) });
  return (body as { user?: User }).user;
}

/** Credentials whose HMAC is that of the user id. */
function credentialsOf(userId: string): readonly [name: string, password: string] {
  const colon = userId.indexOf(':');
  return [userId.slice(0, colon), userId.slice(colon + 1)];
}

const settings = {
  includes: 'accounts default_bucket',
  'multiauth.policies': 'account basicauth',
  account_create_principals: 'system.Everyone',
  account_hash_cost: '10',
};

forEachBackend(({ name, start }) => {
  describe(name, () => {
    it('credentials that look like a user id do not show the id of the bucket of that user.', async () => {
      const service = await start({ settings });
      onTestFinished(() => service.close());
      await service.request('PUT', '/v1/accounts/zoe', { body: { data: { password: 'right' } } });
      const victims: readonly (readonly [name: string, password: string])[] = [
        ['zoe', 'right'],
        ['vic', 'secret'],
      ];
      for (const [victim, password] of victims) {
        const { id, bucket } = (await identify(service, victim, password))!;
        const [user, rest] = credentialsOf(id);
        const shown = await identify(service, user, rest);
        expect(shown?.id.split(':')[1]?.slice(0, 32)).not.toBe(bucket.replaceAll('-', ''));
        expect(shown).toBeUndefined();
        const headers = basic(user, rest);
        expect((await service.request('GET', '/v1/buckets/default', { headers })).status).toBe(401);
      }
    });
  });
});

describe('names of policies', () => {
  const badge = definePlugin({
    name: 'badge',
    setup: () => ({
      policies: {
        BadgePolicy: () => ({ name: 'Badge', challenge: 'Badge', authenticate: () => undefined }),
      },
    }),
  });

  it('are no users of the Basic policy, in the spelling of user ids.', async () => {
    const service = await startTestService({
      plugins: [badge],
      settings: {
        'multiauth.policies': 'Basics b.2',
        'multiauth.policy.Basics.use': 'BasicAuthAuthenticationPolicy',
        'multiauth.policy.b.2.use': 'BadgePolicy',
        'multiauth.policy.former.use': 'BearerPolicy',
      },
    });
    onTestFinished(() => service.close());
    for (const user of ['basics', 'b.2', 'Badge', 'former', 'account', 'accounts', 'basicauth', 'bearer', 'openid']) {
      expect([user, await identify(service, user, 'x')]).toEqual([user, undefined]);
    }
    for (const user of ['Basics', 'B.2', 'b', 'badge', 'Account', 'basicauth2', 'zoe']) {
      expect((await identify(service, user, 'x'))?.id).toMatch(/^basics:[0-9a-f]{64}$/);
    }
  });
});
