// Who may use the endpoints for operators, and what hostile requests get.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findRisks } from '../../../src/maintenance/risks.ts';
import { settingsOf } from '../../../src/backends/load-settings.ts';
import { startTestService, type TestClient } from '../../../src/testing/index.ts';
import { createLogger } from '../../../src/observability/logger.ts';
import { idOf, memory, operate, type Operated } from './operators.ts';

const reads = ['overview', 'log', 'slow', 'settings', 'webhooks', 'webhooks/hook/failures', 'quotas', 'backups'];
const writes = [
  'POST webhooks/hook/retry',
  'POST webhooks/hook/failures/x/retry',
  'DELETE webhooks/hook/failures/x',
  'DELETE webhooks/hook/failures',
  'POST backups',
];
const hook = {
  event_listeners: 'hook',
  'event_listeners.hook.use': 'webhook',
  'event_listeners.hook.url': 'http://ann:pa55word@127.0.0.1:9/hook?key=s3cret',
  'event_listeners.hook.secret': 'a-secret-of-sixteen-bytes-or-more',
};
const logger = createLogger({ level: 'info', format: 'json', name: 'svc' }, { write() {} });

describe('Endpoints for operators', () => {
  let service: Operated;
  const statusOf = async (client: TestClient, method: string, path: string): Promise<number> =>
    (await client.request(method, `/v1/operations/${path}`)).status;

  beforeAll(async () => {
    service = await operate(memory, { settings: { includes: 'operations quotas', ...hook }, logger });
  });
  afterAll(() => service.close());

  test.each(reads)('GET %s is for readers.', async (path) => {
    expect(await statusOf(service, 'GET', path)).toBe(401);
    expect(await statusOf(service.asUser('stranger'), 'GET', path)).toBe(403);
    expect(await statusOf(service.writer, 'GET', path)).toBe(403);
    expect(await statusOf(service.reader, 'GET', path)).toBe(200);
    expect(await statusOf(service.reader, 'HEAD', path)).toBe(200);
  });

  test.each(writes)('%s is for writers.', async (request) => {
    const [method = '', path = ''] = request.split(' ');
    expect(await statusOf(service, method, path)).toBe(401);
    expect(await statusOf(service.asUser('stranger'), method, path)).toBe(403);
    expect(await statusOf(service.reader, method, path)).toBe(403);
    expect([200, 404, 409]).toContain(await statusOf(service.writer, method, path));
  });

  test('Access is checked before parameters, ids and names.', async () => {
    for (const path of ['log?level=nonsense', 'webhooks/none/failures', 'webhooks/a%00b/failures', 'overview?x=1']) {
      expect(await statusOf(service, 'GET', path)).toBe(401);
      expect(await statusOf(service.asUser('stranger'), 'GET', path)).toBe(403);
    }
  });

  test.each([
    'overview?x=1',
    'log?level=fatal',
    'log?_limit=0',
    'log?_limit=1001',
    'log?_limit=1e3',
    'log?_since=-1',
    'log?_since=99999999999999999999',
    'log?_token=',
    'log?_token=AAAA',
    'log?_token=WzEsMl0',
    'log?_limit=1&_limit=2',
    'log?__proto__=1',
    'log?constructor=1',
    'slow?_limit=201',
    'quotas?_token=WzEsMl0',
    `quotas?_token=${Buffer.from('["a\\u0000b","record"]').toString('base64url')}`,
    `webhooks/hook/failures?_token=${Buffer.from('["\\ud800",1]').toString('base64url')}`,
    'webhooks/hook/failures?_limit=101',
    'webhooks/a%00b/failures',
    'settings?name=x',
    'backups?x=1',
  ])('GET %s is refused with 400.', async (path) => {
    const { status, body } = await service.reader.request('GET', `/v1/operations/${path}`);
    expect({ status, body }).toMatchObject({ status: 400, body: { errno: 107 } });
  });

  test.each([
    ['GET', 'webhooks/none/failures'],
    ['POST', 'webhooks/none/retry'],
    ['DELETE', 'webhooks/hook/failures/none'],
    ['DELETE', `webhooks/hook/failures/${Buffer.from('["record:/buckets/b","x"]').toString('base64url')}`],
    ['POST', `webhooks/hook/failures/${Buffer.from('["a\\u0000",1]').toString('base64url')}/retry`],
  ])('%s %s is a 404.', async (method, path) => {
    const client = method === 'GET' ? service.reader : service.writer;
    const { status, body } = await client.request(method, `/v1/operations/${path}`);
    expect({ status, body }).toMatchObject({ status: 404, body: { errno: 110 } });
  });

  test('The root view names the areas, and shows callers what they may do.', async () => {
    const view = async (client: TestClient): Promise<unknown> => (await client.request('GET', '/v1/')).body;
    expect(await view(service)).toMatchObject({
      capabilities: {
        operations: { areas: ['overview', 'log', 'slow', 'settings', 'quotas', 'webhooks', 'backups'] },
      },
    });
    expect(await view(service.reader)).toMatchObject({ user: { operations: { read: true, write: false } } });
    expect(await view(service.writer)).toMatchObject({ user: { operations: { read: false, write: true } } });
    expect(await view(service.asUser('stranger'))).not.toHaveProperty('user.operations');
  });

  test('The root view shows anonymous callers what everyone may do, and nothing where that is nothing.', async () => {
    const capability = async (client: TestClient): Promise<unknown> =>
      ((await client.request('GET', '/v1/')).body as { readonly capabilities: { readonly operations: unknown } })
        .capabilities.operations;
    expect(await capability(service)).not.toHaveProperty('public');
    const open = await operate(memory, { settings: { operations_read_principals: 'system.Everyone' } });
    expect(await capability(open)).toMatchObject({ public: { read: true, write: false } });
    await open.close();
  });

  test('The root view counts the groups of the caller, as the endpoints do.', async () => {
    const groups = await operate(memory, {
      settings: { operations_read_principals: '/buckets/b/groups/operators', operations_write_principals: '' },
    });
    const members = [await idOf(groups, 'reader')];
    await groups.writer.request('PUT', '/v1/buckets/b');
    await groups.writer.request('PUT', '/v1/buckets/b/groups/operators', { body: { data: { members } } });
    expect((await groups.reader.request('GET', '/v1/')).body).toMatchObject({
      user: { operations: { read: true, write: false } },
    });
    expect((await groups.writer.request('GET', '/v1/')).body).not.toHaveProperty('user.operations');
    await groups.close();
  });

  test('A batch contains these requests, with the rights of its caller.', async () => {
    const requests = ['overview', 'slow', 'settings'].map((path) => ({ path: `/v1/operations/${path}` }));
    const send = async (client: TestClient, more: readonly object[] = []): Promise<unknown> => {
      const body = { requests: [...more, ...requests] };
      const response = await client.request('POST', '/v1/batch', { body });
      return (response.body as { readonly responses: readonly { readonly status: number }[] }).responses.map(
        ({ status }) => status,
      );
    };
    expect(await send(service.reader)).toEqual([200, 200, 200]);
    expect(await send(service.asUser('stranger'))).toEqual([403, 403, 403]);
    // The batch holds the lock of a writer, for which the checks of health must not wait.
    const write = { method: 'PUT', path: '/v1/buckets/b' };
    expect(await send(service.reader, [write])).toEqual([201, 200, 200, 200]);
  });

  test('Neither the webhook nor the settings show credentials.', async () => {
    const [webhooks, settings] = [await service.read('webhooks'), await service.read('settings')];
    expect(webhooks.data).toMatchObject([{ name: 'hook', url: 'http://127.0.0.1:9/hook', failed: 0 }]);
    for (const secret of ['pa55word', 's3cret', 'a-secret-of-sixteen', 'secret for tests', 'ann:']) {
      expect(JSON.stringify(settings)).not.toContain(secret);
    }
  });
});

test('The endpoints do not exist without the plugin, and refuse all callers by default.', async () => {
  const without = await startTestService({ settings: { includes: 'quotas' } });
  expect((await without.asUser('ann').request('GET', '/v1/operations/quotas')).status).toBe(404);
  expect((await without.asUser('ann').request('GET', '/v1/operations/webhooks')).status).toBe(404);
  await without.close();
  const closed = await startTestService({ settings: { includes: 'operations' } });
  for (const path of reads.filter((name) => !/quotas|hook\/|log/.test(name))) {
    expect((await closed.asUser('ann').request('GET', `/v1/operations/${path}`)).status).toBe(403);
  }
  // This logger keeps no lines.
  expect((await closed.asUser('ann').request('GET', '/v1/operations/log')).status).toBe(404);
  await closed.close();
});

test('Members of a group have the rights of the group.', async () => {
  const service = await startTestService({
    settings: { includes: 'operations', operations_read_principals: '/buckets/staff/groups/operators' },
  });
  const boss = service.asUser('boss');
  await boss.request('PUT', '/v1/buckets/staff');
  const members = [await idOf(service, 'ann')];
  await boss.request('PUT', '/v1/buckets/staff/groups/operators', { body: { data: { members } } });
  expect((await service.asUser('ann').request('GET', '/v1/operations/overview')).status).toBe(200);
  expect((await boss.request('GET', '/v1/operations/overview')).status).toBe(403);
  await service.close();
});

test('A read-only service refuses writes with 405.', async () => {
  const service = await operate(memory, { settings: { readonly: 'true', ...hook } });
  expect((await service.writer.request('POST', '/v1/operations/webhooks/hook/retry')).status).toBe(405);
  expect((await service.reader.request('GET', '/v1/operations/overview')).status).toBe(200);
  await service.close();
});

test('With a port for operators, only that port serves the endpoints.', async () => {
  const service = await operate(memory, { settings: { admin_port: '0' } });
  expect((await service.reader.request('GET', '/v1/operations/overview')).status).toBe(404);
  await service.close();
});

describe('Risks', () => {
  const risksOf = (settings: Readonly<Record<string, string>>): readonly string[] =>
    findRisks(settingsOf({ userid_hmac_secret: 'x'.repeat(32), includes: 'operations', ...settings })).filter((risk) =>
      risk.includes('operations_'),
    );
  const open = { operations_read_principals: 'system.Authenticated' };

  test('A list with system.Everyone is a risk on any host.', () => {
    expect(risksOf({ operations_write_principals: 'system.Everyone' })).toHaveLength(1);
    expect(risksOf({ includes: '', operations_write_principals: 'system.Everyone' })).toEqual([]);
  });

  test('A list with system.Authenticated is a risk where any client can authenticate.', () => {
    expect(risksOf(open)).toEqual([]);
    expect(risksOf({ ...open, host: '0.0.0.0' })).toHaveLength(1);
    const accounts = {
      ...open,
      includes: 'operations accounts',
      host: '0.0.0.0',
      'multiauth.policies': 'account',
      'multiauth.policy.account.use': 'AccountsPolicy',
    };
    expect(risksOf(accounts)).toEqual([]);
    expect(risksOf({ ...accounts, account_create_principals: 'system.Everyone' })).toHaveLength(1);
  });
});
