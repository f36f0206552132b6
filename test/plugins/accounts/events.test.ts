// Events of accounts and of the removal of a user.
import { expect, it } from 'vitest';
import { formatPayload } from '../../../src/core/events/payload.ts';
import { definePlugin } from '../../../src/http/plugin.ts';
import { startMailSink } from '../../support/mail-sink.ts';
import { basic, signUp, startAccounts } from './service.ts';

interface Heard {
  readonly payload: object;
  readonly uris: readonly string[];
}

function listener(): { readonly plugin: ReturnType<typeof definePlugin>; readonly heard: Heard[] } {
  const heard: Heard[] = [];
  const plugin = definePlugin({
    name: 'listener',
    setup: () => ({
      subscribers: [
        {
          name: 'listener',
          on: 'ResourceChanged',
          handle: (event) =>
            void heard.push({ payload: formatPayload(event), uris: event.changes.map(({ uri }) => uri) }),
        },
      ],
    }),
  });
  return { plugin, heard };
}

it('the activation of an account is an update event.', async () => {
  const sink = await startMailSink();
  const { plugin, heard } = listener();
  const settings = { account_validation: 'true', 'mail.host': '127.0.0.1', 'mail.port': String(sink.port) };
  const service = await startAccounts({ plugins: [plugin], settings });
  await signUp(service, 'zoe@example.org', 'right');
  const [letter] = await sink.received(1);
  await service.request('POST', `/v1/accounts/zoe@example.org/validate/${letter!.text}`);
  expect(heard).toMatchObject([
    { payload: { action: 'create', resource_name: 'account', account_id: 'zoe@example.org', user_id: null } },
    { payload: { action: 'update', resource_name: 'account', user_id: null }, uris: ['/accounts/zoe@example.org'] },
  ]);
});

it('the removal of a user has one event per list, and no object twice.', async () => {
  const { plugin, heard } = listener();
  const settings = {
    includes: 'accounts default_bucket',
    account_hash_cost: '10',
    account_write_principals: 'account:root',
    'user-data_delete_principals': 'account:root',
  };
  const service = await startAccounts({ plugins: [plugin], settings });
  for (const name of ['root', 'zoe', 'ann']) await signUp(service, name, 'p');
  const put = async (user: string, path: string, body: object = {}): Promise<void> => {
    const { status } = await service.request('PUT', `/v1${path}`, {
      headers: { Authorization: basic(user, 'p') },
      body,
    });
    expect(status).toBe(201);
  };
  await put('zoe', '/buckets/hers');
  await put('zoe', '/buckets/hers/collections/c');
  await put('ann', '/buckets/shared', { permissions: { write: ['account:zoe'] } });
  await put('ann', '/buckets/shared/collections/c');
  for (const id of ['a', 'b']) await put('zoe', `/buckets/shared/collections/c/records/${id}`);
  await put('ann', '/buckets/shared/groups/g', { data: { members: ['account:zoe', 'account:ann'] } });
  heard.length = 0;
  const headers = { Authorization: basic('root', 'p') };
  expect((await service.request('DELETE', '/v1/__user_data__/account:zoe', { headers })).status).toBe(200);
  const summary = heard.map(({ payload, uris }) => ({ ...payload, uris: uris.toSorted() }));
  expect(summary).toMatchObject([
    { action: 'delete', resource_name: 'account', uris: ['/accounts/zoe'], user_id: 'account:root' },
    { action: 'delete', resource_name: 'bucket', uris: ['/buckets/hers'] },
    {
      action: 'delete',
      resource_name: 'record',
      bucket_id: 'shared',
      uris: ['/buckets/shared/collections/c/records/a', '/buckets/shared/collections/c/records/b'],
    },
    { action: 'update', resource_name: 'group', bucket_id: 'shared', uris: ['/buckets/shared/groups/g'] },
  ]);
});
