// Streams of accounts, a kind of a plugin that looks different to each caller. Those of the garden are followed in its test.
import { expect, it, onTestFinished } from 'vitest';
import { testBackends } from '../../src/testing/index.ts';
import { EventClient } from './event-client.ts';

it('shows a user its own account, and an administrator all', async () => {
  const service = await testBackends[0]!.start({
    settings: {
      includes: 'accounts',
      'multiauth.policies': 'account',
      account_create_principals: 'system.Everyone',
      account_hash_cost: '10',
      account_read_principals: 'account:root',
      account_write_principals: 'account:root',
    },
  });
  onTestFinished(() => service.close());
  const follow = async (auth: string): Promise<EventClient> => {
    const client = await EventClient.open(service.origin, '/v1/accounts?_live=sse&_since=0', { auth });
    onTestFinished(() => client.close());
    return client;
  };
  const write = async (method: string, name: string, data: object, auth?: string): Promise<void> => {
    const own = auth === undefined ? {} : { auth };
    const { status, text } = await service.request(method, `/v1/accounts/${name}`, { ...own, body: { data } });
    expect(status, text).toBeLessThan(300);
  };
  const idsOf = async (client: EventClient): Promise<readonly string[]> => {
    const ids: string[] = [];
    for (;;) {
      const { event, data } = await client.next();
      if (event === 'changes') ids.push(...(data.data as { id: string }[]).map(({ id }) => id));
      if (event === 'current') return ids;
    }
  };
  for (const name of ['root', 'ann', 'bob']) await write('PUT', name, { password: `secret of ${name}` });
  const [root, ann] = [await follow('root'), await follow('ann')];
  expect((await idsOf(root)).toSorted()).toEqual(['ann', 'bob', 'root']);
  expect(await idsOf(ann)).toEqual(['ann']);
  await write('PATCH', 'bob', { city: 'Bonn' }, 'root');
  expect((await root.until('changes')).data.data).toMatchObject([{ id: 'bob', city: 'Bonn' }]);
  await write('PATCH', 'ann', { city: 'Ulm' }, 'ann');
  // Nothing of the account of another user has arrived before.
  expect((await ann.until('changes')).data.data).toMatchObject([{ id: 'ann', city: 'Ulm' }]);
});
