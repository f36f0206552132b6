// Accounts with the Basic policy after them, which accepts any credentials as a user of its own.
import { expect, it } from 'vitest';
import type { TestResponse, TestService } from '../../../src/testing/index.ts';
import { start, zoe } from './mailed-accounts.ts';
import { basic, logIn, signUp, startAccounts } from './service.ts';

const followed = {
  'multiauth.policies': 'account basicauth',
  account_login_failures_per_account: '3',
  account_login_failures_per_address: '5',
};

/** Returns the status, and the policy of the user: `account` or `basicauth`. */
async function identify(
  service: TestService,
  id: string,
  password: string,
  address = '192.0.2.1',
): Promise<readonly [status: number, policy: string | undefined]> {
  const headers = { Authorization: basic(id, password), 'X-Forwarded-For': address };
  const { status, body } = await service.request('GET', '/v1/', { headers });
  return [status, (body as { user?: { id: string } }).user?.id.split(':')[0]];
}

it('the right password is no other user above the limit of failed logins.', async () => {
  const service = await startAccounts({ settings: followed });
  await signUp(service, 'zoe', 'right');
  expect(await identify(service, 'zoe', 'right')).toEqual([200, 'account']);
  for (const n of [1, 2, 3]) expect(await identify(service, 'zoe', `wrong ${n}`)).toEqual([200, 'basicauth']);
  for (const guess of ['wrong 4', 'right']) expect(await identify(service, 'zoe', guess)).toEqual([429, undefined]);
  const body = { data: {} };
  const headers = { Authorization: basic('zoe', 'right'), 'X-Forwarded-For': '192.0.2.1' };
  expect((await service.request('PUT', '/v1/buckets/b', { headers, body })).status).toBe(429);
});

it('the right password is no other user while too many passwords wait.', async () => {
  const queue = { account_hashes_at_once: '1', account_hashes_waiting: '0', account_hash_cost: '14' };
  const service = await startAccounts({ settings: { ...followed, ...queue } });
  await signUp(service, 'zoe', 'right');
  const requests = ['zoe', 'zoe'].map((id) => ({ path: '/', headers: { Authorization: basic(id, 'right') } }));
  const answers = await Promise.all([
    ...[1, 2, 3, 4].map((n) => identify(service, 'zoe', 'right', `192.0.2.${n}`)),
    service.request('POST', '/v1/batch', { headers: { 'X-Forwarded-For': '192.0.2.9' }, body: { requests } }),
  ]);
  const text = JSON.stringify(answers);
  expect(text).toContain('503');
  expect(text).not.toContain('basicauth:');
  expect(text).not.toContain('"basicauth"]');
});

it('unknown names count against the limit of their address, and stay users of the Basic policy.', async () => {
  const service = await startAccounts({ settings: followed });
  await signUp(service, 'zoe', 'right');
  for (const n of [1, 2, 3, 4, 5, 6]) expect(await identify(service, `unknown${n}`, 'x')).toEqual([200, 'basicauth']);
  expect(await logIn(service, 'zoe', 'right')).toBe(429);
  expect(await logIn(service, 'zoe', 'right', '192.0.2.2')).toBe(200);
});

it('the right password of a disabled account is no other user.', async () => {
  const service = await startAccounts({ settings: { ...followed, account_write_principals: 'account:admin' } });
  await signUp(service, 'admin', 'of the admin');
  await signUp(service, 'zoe', 'right');
  const set = (validated: boolean): Promise<TestResponse> =>
    service.request('PATCH', '/v1/accounts/zoe', {
      headers: { Authorization: basic('admin', 'of the admin') },
      body: { data: { validated } },
    });
  expect((await set(false)).status).toBe(200);
  const headers = { Authorization: basic('zoe', 'right') };
  expect(await identify(service, 'zoe', 'right')).toEqual([401, undefined]);
  const entries = { requests: [{ path: '/', headers }, { path: '/' }] };
  const { body } = await service.request('POST', '/v1/batch', { body: entries });
  expect(body).toMatchObject({ responses: [{ status: 401 }, { status: 200 }] });
  expect(await identify(service, 'zoe', 'wrong')).toEqual([200, 'basicauth']);
  expect((await set(true)).status).toBe(200);
  expect(await identify(service, 'zoe', 'right')).toEqual([200, 'account']);
});

it('the right password of an account that was never validated is no other user.', async () => {
  const { service } = await start(followed);
  await signUp(service, zoe, 'right');
  expect(await identify(service, zoe, 'right')).toEqual([401, undefined]);
  expect(await identify(service, zoe, 'wrong')).toEqual([200, 'basicauth']);
});
