// OAuth 2.0 tokens that a remote server knows, asked about the token or about its user
// (docs/guides/authentication.md#bearer-tokens).
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { client, startOpenidProvider } from '../support/openid-provider.ts';
import { respond, ScriptedProvider, type Answer } from '../support/scripted-provider.ts';

let server: ScriptedProvider;
let service: TestService | undefined;
let now: number;

beforeEach(async () => {
  now = Date.now();
  server = await ScriptedProvider.start();
});

afterEach(async () => {
  await service?.close();
  service = undefined;
  await server.close();
});

function settings(parameters: Readonly<Record<string, string>>, policies = 'api'): Record<string, string> {
  const all = { use: 'BearerPolicy', timeout_seconds: '0.5', ...parameters };
  return {
    'multiauth.policies': policies,
    ...Object.fromEntries(Object.entries(all).map(([name, value]) => [`multiauth.policy.api.${name}`, value])),
  };
}

async function start(parameters: Readonly<Record<string, string>>, policies?: string): Promise<void> {
  service = await startTestService({ settings: settings(parameters, policies), clock: { now: () => now } });
}

const userinfo = (): Record<string, string> => ({ userinfo_url: `${server.issuer}/me` });
const introspection = (): Record<string, string> => ({
  introspection_url: `${server.issuer}/introspect`,
  client_id: 'me: & co',
  client_secret: 's+%',
});

async function ask(token: string): Promise<string | number | undefined> {
  const { status, body } = await service!.request('GET', '/v1/', { headers: { Authorization: `Bearer ${token}` } });
  return status === 200 ? (body as { user?: { id: string } }).user?.id : status;
}

describe('a server that knows the users of tokens', () => {
  // Proves S-182, S-196, S-197.
  it('receives the token, and returns the user.', async () => {
    await start({ ...userinfo(), userid_field: 'login' });
    server.answers.set('/me', { login: 'ann' });
    expect(await ask('some-token')).toBe('api:ann');
    expect(server.requests).toEqual([{ path: '/me', authorization: 'Bearer some-token', body: '' }]);
    const { body } = await service!.request('GET', '/v1/', { headers: { Authorization: 'Bearer some-token' } });
    expect(body).not.toHaveProperty('user.profile');
  });

  // Proves S-197, S-221.
  it.each([400, 401, 403])('causes a 401 by its %i.', async (status) => {
    await start(userinfo());
    server.answers.set('/me', respond(status, { sub: 'ann' }));
    const answer = await service!.request('GET', '/v1/buckets/x', { headers: { Authorization: 'Bearer t' } });
    expect([answer.status, answer.body, answer.headers['www-authenticate']]).toMatchObject([
      401,
      { errno: 104 },
      'Bearer realm="Realm"',
    ]);
  });

  it.each<readonly [string, Answer]>([
    ['fails', respond(502, {})],
    ['is not there', respond(404, {})],
    ['hangs', () => undefined],
    ['answers with too much', respond(200, { sub: 'x'.repeat(300_000) })],
    ['redirects', (_request, response) => response.writeHead(307, { Location: '/me2' }).end()],
  ])('makes the answer 503 when it %s.', async (_what, answer) => {
    await start(userinfo());
    server.answers.set('/me', answer);
    expect(await ask('t')).toBe(503);
    expect(server.count('/me2')).toBe(0);
  });

  // Proves S-197.
  it('causes a 503 when it is unreachable, and anonymous requests still succeed.', async () => {
    await start(userinfo());
    await server.close();
    expect(await ask('t')).toBe(503);
    expect((await service!.request('GET', '/v1/')).status).toBe(200);
  });

  // Proves S-181.
  it('is not called for other credentials.', async () => {
    await start(userinfo(), 'api basicauth');
    for (const header of ['Bearer', 'Bearer ', 'Bearer a b', 'Bearer "', 'Basic Og==', 'Bearerx y', 'bearer,x']) {
      await service!.request('GET', '/v1/', { headers: { Authorization: header } });
    }
    expect((await service!.request('GET', '/v1/', { auth: 'bob' })).body).toMatchObject({
      user: { id: expect.stringMatching(/^basicauth:/) as string },
    });
    expect(server.count('/me')).toBe(0);
  });
});

describe('a server for introspection', () => {
  it('receives the credentials of the service, and returns the user.', async () => {
    await start(introspection());
    server.answers.set('/introspect', { active: true, sub: 'ann' });
    expect(await ask('some-token')).toBe('api:ann');
    const asked = server.requests[0]!;
    expect(Buffer.from(asked.authorization!.slice(6), 'base64').toString()).toBe('me%3A+%26+co:s%2B%25');
    expect(asked.body).toBe('token=some-token&token_type_hint=access_token');
  });

  it.each<readonly [string, object, Readonly<Record<string, string>>, string | undefined]>([
    ['not active', { active: false, sub: 'ann' }, {}, undefined],
    ['active by text', { active: 'true', sub: 'ann' }, {}, undefined],
    ['silent', { sub: 'ann' }, {}, undefined],
    ['over', { active: true, sub: 'ann', exp: 1000 }, {}, undefined],
    ['not begun', { active: true, sub: 'ann', nbf: 99_999_999_999 }, {}, undefined],
    ['over, as digits in a text', { active: true, sub: 'ann', exp: '1000' }, {}, undefined],
    ['not begun, as digits in a text', { active: true, sub: 'ann', nbf: '99999999999' }, {}, undefined],
    ['in time, as digits in texts', { active: true, sub: 'ann', exp: '99999999999', nbf: '1000' }, {}, 'api:ann'],
    ['in time without a time', { active: true, sub: 'ann', exp: null, nbf: null }, {}, 'api:ann'],
    ['over at an unreadable time', { active: true, sub: 'ann', exp: '2030-01-01' }, {}, undefined],
    ['over at an empty time', { active: true, sub: 'ann', exp: '' }, {}, undefined],
    ['over at a list', { active: true, sub: 'ann', exp: [99_999_999_999] }, {}, undefined],
    ['begun at an unreadable time', { active: true, sub: 'ann', nbf: '1970-01-01' }, {}, undefined],
    ['begun at no time', { active: true, sub: 'ann', nbf: false }, {}, undefined],
    ['without scope', { active: true, sub: 'ann' }, { required_scope: 'kv' }, undefined],
    ['with part of the scope', { active: true, sub: 'ann', scope: 'kvx k' }, { required_scope: 'kv k' }, undefined],
    ['with the scope', { active: true, sub: 'ann', scope: 'a kv k' }, { required_scope: 'kv k' }, 'api:ann'],
    ['with the scope as a list', { active: true, sub: 'ann', scope: ['kv'] }, { required_scope: 'kv' }, 'api:ann'],
    ['for others', { active: true, sub: 'ann', aud: 'them' }, { audience: 'us' }, undefined],
    ['for this service', { active: true, sub: 'ann', aud: ['them', 'us'] }, { audience: 'us' }, 'api:ann'],
  ])('decides about a token that is %s.', async (_what, answer, parameters, expected) => {
    await start({ ...introspection(), ...parameters });
    server.answers.set('/introspect', answer);
    expect(await ask('t')).toBe(expected);
  });

  it('causes a 503 when it refuses the credentials of the service.', async () => {
    await start(introspection());
    server.answers.set('/introspect', respond(401, { active: true, sub: 'ann' }));
    expect(await ask('t')).toBe(503);
  });

  it('is trusted until the token expires, and no longer.', async () => {
    await start(introspection());
    server.answers.set('/introspect', { active: true, sub: 'ann', exp: Math.floor(now / 1000) + 60 });
    expect([await ask('t'), await ask('t'), server.count('/introspect')]).toEqual(['api:ann', 'api:ann', 1]);
    now += 61_000;
    server.answers.set('/introspect', { active: false });
    expect([await ask('t'), server.count('/introspect')]).toEqual([undefined, 2]);
  });
});

forEachBackend((backend) => {
  it(`A real server is called once per token, and its response is shared, on ${backend.name}.`, async () => {
    const real = await startOpenidProvider();
    try {
      service = await backend.start({
        settings: settings({
          introspection_url: real.introspectionUrl,
          client_id: client.id,
          client_secret: client.secret,
          required_scope: 'openid',
        }),
      });
      const token = await real.issue('ann');
      expect(await ask(token)).toBe('api:ann');
      expect(await ask('made-up')).toBeUndefined();
      const asked = real.paths.length;
      expect(await ask(token)).toBe('api:ann');
      expect(real.paths.length).toBe(asked);
      const created = await service.request('PUT', '/v1/buckets/of-ann', {
        headers: { Authorization: `Bearer ${token}` },
        body: {},
      });
      expect(created.body).toMatchObject({ permissions: { write: ['api:ann'] } });
    } finally {
      await real.close();
    }
  });
});

describe('a configuration that does not fit', () => {
  it.each<readonly [Readonly<Record<string, string>>, RegExp]>([
    [{}, /userinfo_url: set either/],
    [{ userinfo_url: 'https://a.example/', introspection_url: 'https://a.example/' }, /userinfo_url: set either/],
    [{ userinfo_url: 'http://a.example/me' }, /userinfo_url: expected a URL that starts with https/],
    [{ userinfo_url: 'file:///etc/passwd' }, /userinfo_url/],
    [{ introspection_url: 'https://a.example/' }, /client_secret: must be set/],
  ])('%j is reported at start.', async (parameters, message) => {
    await expect(start(parameters)).rejects.toThrow(message);
  });

  it('Another machine may be called without TLS if that is allowed.', async () => {
    await start({ userinfo_url: 'http://a.example/me', allow_http: 'yes' });
  });

  it('Problems contain no secrets.', async () => {
    const failure = start({ introspection_url: 'https://a.example/', client_secret: 'hidden', timeout_seconds: 'x' });
    await expect(failure).rejects.toThrow(/^(?!.*hidden)/s);
  });

  // Proves S-198.
  it('A policy of a missing plugin is reported, with the existing policies.', async () => {
    await expect(start({ use: 'OpenIDConnectPolicy' })).rejects.toThrow(/BearerPolicy, or include the plugin/);
  });
});
