// Settings that prevent the start of a service with accounts, and the errors.
import { expect, it } from 'vitest';
import { settingsOf } from '../../../src/backends/load-settings.ts';
import { startTestService } from '../../../src/testing/index.ts';
import { accountSettings as accountTable } from '../../../src/plugins/accounts/settings.ts';
import { accountSettings, startAccounts } from './service.ts';

it.each([
  ['no policy for them', { 'multiauth.policies': 'basicauth' }, 'Add account to multiauth.policies'],
  [
    'the Basic policy before that of accounts',
    { 'multiauth.policies': 'basicauth account' },
    'basicauth before account',
  ],
  [
    'another policy that gives the same ids',
    {
      'multiauth.policies': 'local Account',
      'multiauth.policy.local.use': 'AccountsPolicy',
      'multiauth.policy.Account.use': 'BasicAuthAuthenticationPolicy',
    },
    'Give that policy another name',
  ],
  [
    'account creators that are not administrators',
    { account_create_principals: 'system.Everyone account:a account:b', account_write_principals: 'account:b' },
    'account_create_principals contains account:a, which account_write_principals does not contain',
  ],
])('a service with %s does not start.', async (_what, settings, message) => {
  await expect(startTestService({ settings: { ...accountSettings, ...settings } })).rejects.toThrow(message);
});

it('a policy for accounts without the plugin does not start and names the missing plugin.', async () => {
  await expect(startTestService({ settings: { 'multiauth.policies': 'account' } })).rejects.toThrow(
    'include the plugin that provides it',
  );
});

it('accounts without the secret of the service do not start.', () => {
  expect(() => settingsOf({ 'multiauth.policies': 'account', includes: 'accounts' })).toThrow('userid_hmac_secret');
});

it('settings of accounts and mails are validated with all others.', () => {
  const wrong = {
    userid_hmac_secret: 'x',
    account_hash_cost: '30',
    'account_validation.email_regexp': '(',
    'mail.port': 'smtp',
    'mail.mailer': 'pigeon',
  };
  expect(() => settingsOf(wrong, [accountTable])).toThrow(/4 settings are wrong/);
});

it('names of existing deployments are accepted.', async () => {
  const service = await startAccounts({
    settings: {
      includes: 'kinto.plugins.accounts',
      'multiauth.policies': 'Local',
      'multiauth.policy.Local.use': 'kinto.plugins.accounts.AccountsPolicy',
      'kinto.account_create_principals': 'system.Everyone',
    },
  });
  const { body, headers } = await service.request('GET', '/v1/buckets');
  expect([body, headers['www-authenticate']]).toMatchObject([{ code: 401 }, 'Basic realm="Realm"']);
  await service.request('PUT', '/v1/accounts/zoe', { body: { data: { password: 'right' } } });
  const authorization = `Basic ${Buffer.from('zoe:right').toString('base64')}`;
  const root = await service.request('GET', '/v1/', { headers: { authorization } });
  expect(root.body).toMatchObject({ user: { id: 'account:zoe' } });
});
