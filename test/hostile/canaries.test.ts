// S26: secrets are planted wherever the service is given one, and everything that comes out of it is searched for them:
// its log at debug level, answers good and bad, metrics, traces, webhooks, descriptions, and messages at start.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLogger } from '../../src/observability/logger.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import { startTestService, type TestRequest, type TestService } from '../../src/testing/index.ts';
import { Receiver } from '../support/webhook-receiver.ts';
import { unreadLines } from '../support/unread-settings.ts';

/** A secret that looks like nothing else, and that no encoding changes. */
function canary(name: string): string {
  return `CANARY${createHash('sha256').update(name).digest('hex').slice(0, 24)}`;
}

/** The secret as it is, and as it would look in a header of Basic authentication, at each place in its group of three. */
function formsOf(secret: string): readonly string[] {
  const encoded = ['', 'x', 'xx'].map((before) =>
    Buffer.from(before + secret)
      .toString('base64')
      .slice(4, 28),
  );
  return [secret, ...encoded];
}

const settings = {
  userid_hmac_secret: canary('userid'),
  default_bucket_hmac_secret: canary('default bucket'),
  'mail.password': canary('mail'),
  'mail.mailer': 'testing',
  'multiauth.policies': 'account basicauth remote',
  'multiauth.policy.remote.use': 'BearerPolicy',
  // No server listens there, so tokens cannot be verified and the failure is logged.
  'multiauth.policy.remote.introspection_url': 'http://127.0.0.1:1/introspect',
  'multiauth.policy.remote.client_id': 'coffer',
  'multiauth.policy.remote.client_secret': canary('client'),
  includes: 'accounts default_bucket history quotas prometheus admin changes',
  account_create_principals: 'system.Everyone',
  account_write_principals: 'account:root',
  experimental_permissions_endpoint: 'true',
  experimental_collection_schema_validation: 'true',
  account_hash_cost: '10',
  slow_operation_ms: '1',
  event_listeners: 'hook',
  'event_listeners.hook.use': 'webhook',
  'event_listeners.hook.secret': canary('hook'),
  'event_listeners.hook.allow_private': 'true',
};
const password = canary('password');
const newPassword = canary('new password');
const basic = canary('basic');
const token = canary('token');
const cookie = canary('cookie');
const inQuery = canary('query');
const planted = Object.values(settings)
  .filter((value) => value.startsWith('CANARY'))
  .concat(password, newPassword, basic, token, cookie, inQuery);

const asUser = (name: string, secret: string): TestRequest => ({
  headers: {
    Authorization: `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`,
    Cookie: `session=${cookie}`,
  },
});

describe('No secret of the service or of its callers', () => {
  /** Everything that came out, by where it came from. */
  const seen: (readonly [where: string, text: string])[] = [];
  let service: TestService;
  let receiver: Receiver;

  const ask = async (method: string, path: string, request: TestRequest = {}): Promise<void> => {
    const { status, headers, text } = await service.request(method, path, request);
    seen.push([`${method} ${path.replace(inQuery, '…')} (${status})`, `${JSON.stringify(headers)}\n${text}`]);
  };

  beforeAll(async () => {
    receiver = await Receiver.start();
    const collector = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        seen.push(['a trace', Buffer.concat(chunks).toString('latin1')]);
        response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
      });
    });
    collector.listen(0, '127.0.0.1');
    await once(collector, 'listening');
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(collector.address() as AddressInfo).port}`);
    const write = (line: string): void => void seen.push(['the log', line]);
    service = await startTestService({
      settings: { ...settings, 'event_listeners.hook.url': receiver.url },
      logger: createLogger({ level: 'debug', format: 'json', name: 'test' }, { write }),
    });
    await useEverything();
    await service.close();
    for (const { headers, body } of receiver.deliveries)
      seen.push(['a webhook', `${JSON.stringify(headers)}\n${body}`]);
    await receiver.close();
    collector.close();
  });

  afterAll(() => vi.unstubAllEnvs());

  async function useEverything(): Promise<void> {
    const ann = asUser('ann', password);
    const bob = asUser('bob', basic);
    const stranger = { headers: { Authorization: `Bearer ${token}` } };
    // Accounts: made, used, changed, mistyped, and sent in bodies that are refused for something else.
    const account = { data: { id: 'ann', password } };
    await ask('POST', '/v1/accounts', { body: account });
    await ask('POST', '/v1/accounts', { body: { data: { id: 'ann', password: newPassword } } });
    await ask('PUT', '/v1/accounts/bad%20id', { body: account });
    await ask('PUT', '/v1/accounts/x', { body: { data: { password: { nested: password } } } });
    await ask('PUT', '/v1/accounts/x', { body: { data: { password }, permissions: { nothing: ['x'] } } });
    await ask('PUT', '/v1/accounts/x', {
      raw: `{"data":{"password":"${password}"`,
      headers: { 'Content-Type': 'application/json' },
    });
    await ask('PUT', '/v1/accounts/x', { raw: `password=${password}`, headers: { 'Content-Type': 'text/plain' } });
    await ask('GET', '/v1/accounts/ann', ann);
    await ask('PATCH', '/v1/accounts/ann', { ...ann, body: { data: { password: newPassword } } });
    await ask('GET', '/v1/accounts/ann', ann);
    const renewed = asUser('ann', newPassword);
    await ask('GET', '/v1/accounts', renewed);
    // Requests that any caller may send, and their failures.
    for (const caller of [{}, bob, renewed, stranger]) {
      await ask('PUT', '/v1/buckets/b', { ...caller, body: { data: {} } });
      await ask('PUT', '/v1/buckets/b/collections/c', { ...caller, body: { data: { schema: { type: 'object' } } } });
      await ask('PUT', '/v1/buckets/b/collections/c/records/r', { ...caller, body: { data: { a: 1 } } });
      await ask('PUT', '/v1/buckets/b/collections/c/records/r', { ...caller, body: { data: 1 } });
      for (const path of ['', 'buckets/b', 'buckets/default', 'permissions', 'buckets/b/history', 'openapi.json']) {
        await ask('GET', `/v1/${path}`, caller);
      }
      for (const path of ['__api__', '__version__', '__heartbeat__', '__metrics__', 'contribute.json', 'nowhere']) {
        await ask('GET', `/v1/${path}`, caller);
      }
      await ask('POST', '/v1/batch', {
        ...caller,
        body: {
          defaults: { headers: caller.headers ?? {} },
          requests: [
            { method: 'GET', path: `/v1/buckets/b?access_token=${inQuery}` },
            { method: 'PUT', path: '/v1/accounts/y', body: { data: { password } } },
          ],
        },
      });
    }
    await ask('GET', `/v1/buckets/b/collections/c/records?password=${inQuery}&token=${inQuery}`, renewed);
    await ask('GET', '/v1/buckets/b', { headers: { Authorization: `Basic ${newPassword}` } });
    await ask('GET', '/v1/buckets/b', { headers: { Authorization: `Unheard-of ${token}` } });
    await ask('OPTIONS', '/v1/buckets/b', { headers: { ...bob.headers, Origin: 'https://a.example' } });
    await receiver.received(1);
  }

  it('comes out in what was looked at, of which there is something of each.', () => {
    const kinds = new Set(seen.map(([where]) => where));
    for (const kind of ['the log', 'a trace', 'a webhook']) expect(kinds).toContain(kind);
    expect([...kinds].filter((kind) => kind.endsWith('(200)')).length).toBeGreaterThan(10);
    expect([...kinds].filter((kind) => /\((?:400|401|403|503)\)$/.test(kind)).length).toBeGreaterThan(10);
  });

  it.each(planted.map((secret, index) => [index + 1, secret] as const))('gets out: number %i.', (_, secret) => {
    const leaks = seen.filter(([, text]) => formsOf(secret).some((form) => text.includes(form)));
    expect(leaks.map(([where, text]) => [where, text.slice(0, 300)])).toEqual([]);
  });
});

describe('Messages at start', () => {
  it('name what is wrong with secrets, and not the secrets.', () => {
    const secret = canary('wrong');
    const wrong = {
      userid_hmac_secret: secret,
      storage_backend: 'postgresql',
      storage_url: `mysql://user:${secret}@host/db`,
      permission_backend: 'redis',
      permission_url: `http://:${secret}@host`,
      http_port: 'x',
      workers: '0',
    };
    let message = '';
    try {
      settingsOf(wrong);
    } catch (error) {
      message = error instanceof Error ? error.message : '';
    }
    expect(message).toContain('storage_url');
    expect(message).not.toContain(secret);
    const misspelt = settingsOf({ userid_hmac_secret: 'x', 'mail.pasword': secret, cache_ulr: `redis://:${secret}@h` });
    expect(unreadLines(misspelt).join('\n')).toContain('mail.pasword');
    expect(unreadLines(misspelt).join('\n')).not.toContain(secret);
  });

  it.each(['postgresql', 'redis'])('do not tell the password for %s when it cannot be reached.', async (backend) => {
    const secret = canary('database');
    const lines: string[] = [];
    const logger = createLogger(
      { level: 'debug', format: 'json', name: 'test' },
      { write: (line) => void lines.push(line) },
    );
    const url = `${backend}://user:${secret}@127.0.0.1:1/0`;
    const all = ['storage', 'permission', 'cache'].flatMap((kind) => [
      [`${kind}_backend`, backend],
      [`${kind}_url`, url],
    ]);
    const started = startTestService({ settings: Object.fromEntries(all), logger });
    onTestFinished(async () => (await started.catch(() => undefined))?.close());
    const error: unknown = await started.catch((reason: unknown) => reason);
    const { inspect } = await import('node:util');
    expect(error).toBeInstanceOf(Error);
    expect(inspect(error, { depth: 9 }) + lines.join('')).not.toContain(secret);
  });
});
