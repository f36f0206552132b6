// Principals that name nothing, found in the permissions and groups of a service.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  describePrincipals,
  findUnknownPrincipals,
  type PrincipalFindings,
} from '../../src/maintenance/unknown-principals.ts';
import type { Stores } from '../../src/engine/unit-of-work.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import type { TestService } from '../../src/testing/index.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import { forEachBackend } from '../support/backends.ts';

const forms = { policies: new Set(['account', 'basicauth']), hasBasicIds: true, hasOthers: false };

describe('the forms of principals', () => {
  it('have the prefix of accounts whatever the name of their policy', () => {
    const settings = settingsOf({
      includes: 'accounts',
      userid_hmac_secret: 'secret',
      'multiauth.policies': 'accounts basicauth',
      'multiauth.policy.accounts.use': 'kinto.plugins.accounts.authentication.AccountsAuthenticationPolicy',
    });
    expect(describePrincipals(settings).forms.policies).toEqual(new Set(['account', 'basicauth']));
  });
});

forEachBackend((backend) => {
  describe(`principals on ${backend.name}`, () => {
    let service: TestService;
    let stores: Stores;

    beforeEach(async () => {
      const peek = definePlugin({
        name: 'peek',
        setup: (host) => {
          ({ stores } = host);
          return {};
        },
      });
      service = await backend.start({
        plugins: [peek],
        settings: {
          includes: 'accounts',
          account_hash_cost: '10',
          'multiauth.policies': 'account basicauth',
          account_create_principals: 'system.Everyone',
          bucket_create_principals: 'system.Authenticated',
        },
      });
      await put('/v1/accounts/ann', { data: { password: 'secret of ann' } });
    });
    afterEach(() => service.close());

    async function put(path: string, body: object, headers = {}): Promise<void> {
      const { status, text } = await service.request('PUT', path, { body, headers });
      expect([status, text]).toEqual([201, text]);
    }

    const asAnn = { Authorization: `Basic ${btoa('ann:secret of ann')}` };

    function find(
      options: { readonly maxObjects?: number; readonly isOver?: () => boolean } = {},
    ): Promise<PrincipalFindings> {
      const { storage, permission } = stores;
      const isOver = options.isOver ?? (() => false);
      const maxObjects = options.maxObjects ?? 100;
      return findUnknownPrincipals({
        storage: storage.reader,
        permission: permission.reader,
        forms,
        hasAccounts: true,
        maxObjects,
        isOver,
      });
    }

    it('are not reported when they name accounts, groups, Basic users or everyone', async () => {
      const read = [
        'system.Everyone',
        'account:ann',
        '/buckets/b/groups/g',
        `basicauth:${'a1'.repeat(32)}`,
        'plugin:x',
      ];
      await put('/v1/buckets/b', { permissions: { read } }, asAnn);
      await put('/v1/buckets/b/groups/g', { data: { members: ['account:ann', 'system.Authenticated'] } }, asAnn);
      expect(await find()).toEqual({ faults: [], doubtful: 0, objects: 5, isComplete: true });
    });

    it('are reported once each, with the place and the reason', async () => {
      const read = ['alice', 'account:bob', '/buckets/b/groups/gone', 'basicauth:x', 'ldap:x', 'system.Nobody', '/x'];
      await put('/v1/buckets/b', { permissions: { read, write: ['alice'] } }, asAnn);
      await put('/v1/buckets/b/groups/g', { data: { members: ['account:carol', 'alice'] } }, asAnn);
      const { faults, doubtful } = await find();
      expect(doubtful).toBe(8);
      const reasons = faults.map((fault) => fault.replace(/ in the permission \w+ of \/buckets\/b /, ' ')).sort();
      expect(reasons).toEqual([
        'the principal "/buckets/b/groups/gone" names a group that does not exist',
        'the principal "/x" is not the URI of a group (/buckets/…/groups/…)',
        'the principal "account:bob" names an account that does not exist',
        'the principal "account:carol" in the group /buckets/b/groups/g names an account that does not exist',
        'the principal "alice" has no prefix of an authentication policy (account:… or basicauth:…)',
        'the principal "basicauth:x" is not a Basic user id (basicauth: and 64 hexadecimal digits, as GET / shows it to the user)',
        'the principal "ldap:x" names an authentication policy that is not configured (account:… or basicauth:…)',
        'the principal "system.Nobody" is neither system.Everyone nor system.Authenticated',
      ]);
    });

    it('are checked within the limits of objects and time', async () => {
      const names = Array.from({ length: 30 }, (_, index) => `user${index}`);
      for (const name of names) await put(`/v1/buckets/${name}`, { permissions: { read: [name] } }, asAnn);
      const all = await find();
      expect([all.faults.length, all.doubtful, all.objects, all.isComplete]).toEqual([10, 30, 31, true]);
      const some = await find({ maxObjects: 5 });
      expect([some.objects, some.isComplete]).toEqual([5, false]);
      expect(some.doubtful).toBeLessThanOrEqual(5);
      expect(await find({ isOver: () => true })).toMatchObject({ doubtful: 0, objects: 0, isComplete: false });
    });
  });
});
