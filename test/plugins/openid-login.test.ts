// Browser logins at a real provider, and attacks with links
// (docs/guides/authentication.md#openid-connect).
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestResponse, type TestService } from '../../src/testing/index.ts';
import { allBackends } from '../support/backends.ts';
import { client, startOpenidProvider, type RealProvider } from '../support/openid-provider.ts';
import { makeKey, respond, ScriptedProvider, sign } from '../support/scripted-provider.ts';

const callback = 'http://localhost:3000/admin/#tokens=';

let provider: RealProvider;
let scripted: ScriptedProvider;

beforeAll(async () => {
  provider = await startOpenidProvider();
  scripted = await ScriptedProvider.start();
});

afterAll(async () => {
  await provider.close();
  await scripted.close();
});

function settings(): Record<string, string> {
  return {
    includes: 'openid',
    'multiauth.policies': 'Real other',
    'multiauth.policy.Real.use': 'kinto.plugins.openid.OpenIDConnectPolicy',
    'multiauth.policy.Real.issuer': provider.issuer,
    'multiauth.policy.Real.client_id': client.id,
    'multiauth.policy.Real.client_secret': client.secret,
    'multiauth.policy.Real.userid_field': 'email',
    'multiauth.policy.other.use': 'OpenIDConnectPolicy',
    'multiauth.policy.other.issuer': scripted.issuer,
    'multiauth.policy.other.client_id': 'x',
    'multiauth.policy.other.audience': 'https://store.test/',
    'multiauth.policy.other.header_type': 'Token',
    http_scheme: 'https',
    http_host: 'store.test',
    openid_allowed_callbacks:
      'https://admin.example.org https://*.apps.example.org https://shared.example.org/kinto https://store.test/app',
  };
}

function login(service: TestService, query: Readonly<Record<string, string>>, name = 'real'): Promise<TestResponse> {
  return service.request('GET', `/v1/openid/${name}/login?${new URLSearchParams(query).toString()}`);
}

/** Returns the cookies of a response as the browser sends them back, without removed ones. */
function cookiesOf({ headers }: TestResponse): string {
  return (headers['set-cookie'] ?? '')
    .split(/, (?=[\w-]+=)/)
    .filter((cookie) => !cookie.includes('Max-Age=0'))
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
}

interface Begun {
  readonly state: string;
  /** Current `Cookie` header of the browser. */
  readonly cookie: string;
}

async function beginLogin(service: TestService, name = 'other', scope = 'openid email'): Promise<Begun> {
  const response = await login(service, { callback, scope }, name);
  const state = new URL(response.headers['location']!).searchParams.get('state')!;
  return { state, cookie: cookiesOf(response) };
}

function endLogin(service: TestService, cookie: string, query: string, name = 'other'): Promise<TestResponse> {
  return service.request('GET', `/v1/openid/${name}/token?${query}`, { headers: { Cookie: cookie } });
}

const unknownState = {
  code: 400,
  errno: 107,
  details: [{ location: 'body', name: 'state', description: expect.any(String) as string, errno: 105 }],
};

describe('a login at a real provider', () => {
  for (const backend of allBackends) {
    // Proves S-198.
    it(`ends at the callback with a token that authenticates, on ${backend.name}.`, async () => {
      const service = await backend.start({ settings: settings() });
      try {
        const begun = await login(service, { callback, scope: 'openid email' });
        expect([begun.status, begun.headers['cache-control']]).toEqual([307, 'no-store']);
        const back = await provider.logIn(begun.headers['location']!, 'ann');
        expect(back.origin + back.pathname).toBe(client.redirectUri);
        const ended = await service.request('GET', back.pathname + back.search, {
          headers: { Cookie: cookiesOf(begun) },
        });
        expect([ended.status, ended.headers['cache-control'], ended.headers['referrer-policy'], ended.text]).toEqual([
          307,
          'no-store',
          'no-referrer',
          '',
        ]);
        const location = ended.headers['location']!;
        expect(location.startsWith(callback)).toBe(true);
        const answer: unknown = JSON.parse(
          Buffer.from(decodeURIComponent(location.slice(callback.length)), 'base64').toString('utf8'),
        );
        const { access_token: token } = answer as { access_token: string };
        const root = await service.request('GET', '/v1/', { headers: { Authorization: `bearer ${token}` } });
        expect(root.body).toMatchObject({
          user: { id: 'real:ann@example.org', profile: { sub: 'ann', email: 'ann@example.org', email_verified: true } },
        });
      } finally {
        await service.close();
      }
    });
  }

  it('lists the providers in the root view with the configured header.', async () => {
    const service = await startTestService({ settings: settings() });
    try {
      const { body } = await service.request('GET', '/v1/');
      expect(body).toMatchObject({
        capabilities: {
          openid: {
            providers: [
              {
                name: 'real',
                issuer: provider.issuer,
                auth_path: '/openid/real/login',
                client_id: client.id,
                audience: '',
                header_type: 'Bearer',
                userinfo_endpoint: provider.userinfoUrl,
              },
              { name: 'other', header_type: 'Token', audience: 'https://store.test/' },
            ],
          },
        },
      });
      const refused = await service.request('POST', '/v1/buckets', { body: {} });
      expect([refused.status, refused.headers['www-authenticate']]).toEqual([
        401,
        'Bearer realm="Realm", Token realm="Realm"',
      ]);
    } finally {
      await service.close();
    }
  });
});

describe('the state of a login', () => {
  let service: TestService;

  beforeEach(async () => {
    service = await startTestService({ settings: settings() });
    scripted.requests.length = 0;
    scripted.answers.set('/token', { access_token: 't', note: 'é' });
  });

  afterEach(() => service.close());

  /** Starts a login and finishes it with one request in the same browser. */
  async function run(query: (state: string) => string): Promise<TestResponse> {
    const { state, cookie } = await beginLogin(service);
    return endLogin(service, cookie, query(state));
  }

  it('is consumed by exactly one of several requests, and the code is sent to the provider once.', async () => {
    const { state, cookie } = await beginLogin(service);
    const ends = Array.from({ length: 5 }, () => endLogin(service, cookie, `code=c&state=${state}`));
    const answers = await Promise.all(ends);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([307, 400, 400, 400, 400]);
    expect(answers.find(({ status }) => status === 400)?.body).toMatchObject(unknownState);
    expect(scripted.count('/token')).toBe(1);
  });

  it('does not block logins from an address that has filled the security state.', async () => {
    const crowded = await startTestService({
      settings: { ...settings(), security_state_max_entries_per_requester: '10' },
    });
    try {
      const end = async (query: string): Promise<number> => {
        const { state, cookie } = await beginLogin(crowded);
        return (await endLogin(crowded, cookie, `${query}&state=${state}`)).status;
      };
      for (let n = 0; n < 12; n++) expect(await end('error=access_denied')).toBe(400);
      expect(await end('code=c')).toBe(307);
    } finally {
      await crowded.close();
    }
  });

  it('forwards the response of the provider unchanged.', async () => {
    const { headers } = await run((state) => `code=c&state=${state}`);
    const sent = decodeURIComponent(headers['location']!.slice(callback.length));
    expect(Buffer.from(sent, 'base64').toString('utf8')).toBe('{"access_token":"t","note":"é"}');
  });

  it('calls the provider with a form, like Kinto.', async () => {
    await run((state) => `code=c%26x&state=${state}`);
    const { body = '' } = scripted.requests.find(({ path }) => path === '/token') ?? {};
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
      code: 'c&x',
      client_id: 'x',
      redirect_uri: 'https://store.test/v1/openid/other/token',
      grant_type: 'authorization_code',
    });
  });

  it('belongs to its provider.', async () => {
    const { state, cookie } = await beginLogin(service, 'other');
    const query = `code=c&state=${state}`;
    expect((await endLogin(service, cookie, query, 'real')).body).toMatchObject(unknownState);
    expect((await endLogin(service, cookie, query, 'other')).status).toBe(307);
  });

  it('has a length of 64 characters and is never the same.', async () => {
    const states = [(await beginLogin(service)).state, (await beginLogin(service)).state];
    expect(states.every((state) => /^[\da-f]{64}$/.test(state))).toBe(true);
    expect(states[0]).not.toBe(states[1]);
  });

  it('is required and must be known.', async () => {
    const { cookie } = await beginLogin(service);
    const end = (query: string): Promise<TestResponse> => endLogin(service, cookie, query);
    expect((await end('code=c')).body).toMatchObject({
      details: [{ location: 'querystring', name: 'state' }],
    });
    expect((await end('state=x')).body).toMatchObject({
      details: [{ location: 'querystring', name: 'code' }],
    });
    for (const state of ['x', '__proto__', 'a'.repeat(5000), '%00', '../x']) {
      expect((await end(`code=c&state=${state}`)).body).toMatchObject(unknownState);
    }
  });

  it('expires.', async () => {
    let now = Date.now();
    const clocked = await startTestService({ settings: settings(), clock: { now: () => now } });
    try {
      const { state, cookie } = await beginLogin(clocked);
      now += 3_601_000;
      const late = await endLogin(clocked, cookie, `code=c&state=${state}`);
      expect(late.body).toMatchObject(unknownState);
    } finally {
      await clocked.close();
    }
  });

  it('is rejected with the error of the provider.', async () => {
    const refused = await run((state) => `error=access_denied&state=${state}`);
    expect(refused.body).toMatchObject({ code: 400, details: [{ location: 'querystring', name: 'error' }] });
    expect(refused.text).toContain('access_denied');
    scripted.answers.set('/token', respond(400, { error: 'invalid_grant' }));
    const wrong = await run((state) => `code=c&state=${state}`);
    expect(wrong.body).toMatchObject({ code: 400, details: [{ location: 'querystring', name: 'code' }] });
    expect(wrong.text).toContain('invalid_grant');
  });

  it('is consumed with 503 when the provider fails.', async () => {
    for (const answer of [
      respond(500, {}),
      respond(401, {}),
      respond(302, {}),
      respond(200, '<html>'),
      respond(200, []),
    ]) {
      scripted.answers.set('/token', answer);
      expect((await run((state) => `code=c&state=${state}`)).status).toBe(503);
    }
  });
});

describe('the browser of a login', () => {
  let service: TestService;

  beforeEach(async () => {
    service = await startTestService({ settings: settings() });
    scripted.requests.length = 0;
    scripted.answers.set('/token', { access_token: 't' });
  });

  afterEach(() => service.close());

  it('gets a cookie that scripts cannot read and that is removed after the login.', async () => {
    const { headers } = await login(service, { callback, scope: 'openid' }, 'other');
    expect(headers['set-cookie']).toMatch(
      /^__Host-coffer-login-[\da-f]{16}=[\w.-]{1,4000}; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(headers['set-cookie']).not.toContain('localhost');
    const { state, cookie } = await beginLogin(service);
    const ended = await endLogin(service, cookie, `code=c&state=${state}`);
    const [name] = cookie.split('=');
    expect(ended.headers['set-cookie']).toBe(`${name}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure`);
  });

  it('is the only one that can finish it: a link with code and state of another user gets 400.', async () => {
    const attacker = await beginLogin(service);
    const link = `code=c&state=${attacker.state}`;
    const victim = await beginLogin(service);
    for (const cookie of ['', 'a=b', victim.cookie, attacker.cookie.replace(/.$/, ''), `${attacker.cookie}AAAA`]) {
      expect((await endLogin(service, cookie, link)).body, cookie).toMatchObject(unknownState);
    }
    // The cookie of the victim, renamed for the state of the attacker.
    const [name] = attacker.cookie.split('=');
    const renamed = `${name}=${victim.cookie.slice(victim.cookie.indexOf('=') + 1)}`;
    expect((await endLogin(service, renamed, link)).body).toMatchObject(unknownState);
    expect(scripted.count('/token')).toBe(0);
    expect((await endLogin(service, attacker.cookie, link)).status).toBe(307);
  });

  it('can log in in several tabs at the same time, in any order.', async () => {
    const tabs = [await beginLogin(service), await beginLogin(service), await beginLogin(service)];
    const cookie = tabs.map((tab) => tab.cookie).join('; ');
    for (const { state } of tabs.toReversed()) {
      expect((await endLogin(service, cookie, `code=c&state=${state}`)).status).toBe(307);
    }
  });

  it('stores a few logins: the oldest cookies are removed before the headers become too large.', async () => {
    let now = 1_700_000_000_000;
    const clocked = await startTestService({ settings: settings(), clock: { now: () => now } });
    try {
      const jar = new Map<string, string>();
      const long = `http://localhost/${'x'.repeat(2000)}`;
      for (let n = 0; n < 12; n++) {
        now += 1000;
        const headers = { Cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') };
        const query = new URLSearchParams({ callback: n % 2 === 0 ? long : callback, scope: 'openid' }).toString();
        const response = await clocked.request('GET', `/v1/openid/other/login?${query}`, { headers });
        expect(response.status).toBe(307);
        for (const cookie of response.headers['set-cookie']!.split(/, (?=[\w-]+=)/)) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie)!;
          if (value === '') jar.delete(name);
          else jar.set(name, value);
        }
        expect(jar.size).toBeLessThanOrEqual(4);
        expect([...jar.values()].join('').length).toBeLessThan(7000);
        const state = new URL(response.headers['location']!).searchParams.get('state')!;
        if (n < 11) continue;
        const all = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
        expect((await endLogin(clocked, all, `code=c&state=${state}`)).status).toBe(307);
      }
    } finally {
      await clocked.close();
    }
  });

  it('must return with an id_token for the nonce of the login.', async () => {
    const key = await makeKey('k');
    const tokenFor = (claims: Record<string, unknown>): Promise<string> => sign({ sub: 'ann', ...claims }, key);
    const tryWith = async (makeToken: (nonce: string) => Promise<unknown>, scope = 'openid'): Promise<TestResponse> => {
      const begun = await login(service, { callback, scope }, 'other');
      const sent = new URL(begun.headers['location']!).searchParams;
      const idToken = await makeToken(sent.get('nonce') ?? '');
      scripted.answers.set('/token', { access_token: 't', id_token: idToken });
      return endLogin(service, cookiesOf(begun), `code=c&state=${sent.get('state')}`);
    };
    expect((await tryWith((nonce) => tokenFor({ nonce }))).status).toBe(307);
    const wrong = [() => tokenFor({ nonce: 'other' }), () => tokenFor({}), async () => 'x.y.z', async () => 7];
    for (const makeToken of wrong) {
      const refused = await tryWith(makeToken);
      expect(refused.body).toMatchObject({ code: 400, details: [{ location: 'querystring', name: 'code' }] });
    }
    // Without the scope `openid` no nonce is sent, and none is expected.
    expect((await tryWith(() => tokenFor({}), 'email')).status).toBe(307);
  });

  it('cannot finish a login that another service started.', async () => {
    const other = await startTestService({ settings: { ...settings(), userid_hmac_secret: 'another secret' } });
    try {
      const { state, cookie } = await beginLogin(other);
      expect((await endLogin(service, cookie, `code=c&state=${state}`)).body).toMatchObject(unknownState);
    } finally {
      await other.close();
    }
  });
});

describe('a service without http_host', () => {
  let service: TestService;

  beforeAll(async () => {
    const { http_host: _host, http_scheme: _scheme, ...others } = settings();
    service = await startTestService({ settings: { ...others, trusted_proxies: '127.0.0.1' } });
    scripted.answers.set('/token', { access_token: 't' });
  });

  afterAll(() => service.close());

  const ask = (host: Record<string, string>, address: string): Promise<TestResponse> => {
    const query = new URLSearchParams({ callback: address, scope: 'openid' }).toString();
    return service.request('GET', `/v1/openid/other/login?${query}`, { headers: host });
  };

  it.each([
    [{ Host: 'evil.example' }],
    [{ Host: 'localhost.evil.example' }],
    [{ Host: '127.0.0.1.evil.example:8888' }],
    [{ Host: '192.168.1.1' }],
    [{ 'X-Forwarded-Host': 'evil.example' }],
    [{ Forwarded: 'host=evil.example;proto=https' }],
  ])('refuses logins with %j for any callback.', async (headers: Record<string, string>) => {
    const [host = ''] = Object.values(headers);
    for (const address of [`http://${host}/`, 'https://evil.example/', 'https://admin.example.org/', callback]) {
      const { status, body, headers: answered } = await ask(headers, address);
      expect([status, body]).toMatchObject([400, { details: [{ location: 'header', name: 'Host' }] }]);
      expect([answered['location'], answered['set-cookie']]).toEqual([undefined, undefined]);
    }
    const ended = await service.request('GET', '/v1/openid/other/token?code=c&state=ab', {
      headers,
    });
    expect(ended.status).toBe(400);
  });

  it('accepts logins at a loopback name, with a cookie for the path of the provider.', async () => {
    const begun = await ask({ Host: 'localhost:8888' }, 'http://localhost:8888/v1/admin/#t=');
    expect(begun.status).toBe(307);
    const location = new URL(begun.headers['location']!);
    expect(location.searchParams.get('redirect_uri')).toBe('http://localhost:8888/v1/openid/other/token');
    expect(begun.headers['set-cookie']).toMatch(
      /^coffer-login-[\da-f]{16}=[\w.-]+; Max-Age=3600; Path=\/v1\/openid\/other; HttpOnly; SameSite=Lax$/,
    );
    const headers = { Host: 'localhost:8888', Cookie: cookiesOf(begun) };
    const path = `/v1/openid/other/token?code=c&state=${location.searchParams.get('state')}`;
    expect((await service.request('GET', path, { headers })).status).toBe(307);
    expect((await service.request('GET', path, { headers })).body).toMatchObject(unknownState);
  });

  it('sends no tokens to its own paths by another loopback name.', async () => {
    for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '[::1]', 'app.localhost']) {
      const own = `http://${host}:8888`;
      expect((await ask({ Host: 'localhost:8888' }, `${own}/v1/buckets/b?t=`)).status).toBe(400);
      expect((await ask({ Host: 'localhost:8888' }, `${own}/v1/admin/#t=`)).status).toBe(307);
      expect((await ask({ Host: 'localhost:8888' }, `http://${host}:3000/?t=`)).status).toBe(307);
    }
  });
});

describe('the query of a login', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({ settings: settings() });
  });

  afterAll(() => service.close());

  it.each([
    'https://store.test/v1/admin/#tokens=',
    'https://store.test/v1/admin/#/auth/x/',
    'https://store.test/app/?t=',
    'http://localhost:3000/#tokens=',
    'http://127.0.0.1/?t=',
    'http://127.8.9.1:1/',
    'http://[::1]:8000/',
    'http://app.localhost/',
    'https://admin.example.org/#t=',
    'https://ADMIN.example.org:443/any/path?x=1',
    'https://one.apps.example.org/',
    'https://two.one.apps.example.org/#',
    'https://shared.example.org/kinto/#t=',
    'https://shared.example.org/kinto#t=',
  ])('allows the callback %s.', async (address) => {
    expect((await login(service, { callback: address, scope: 'openid email' })).status).toBe(307);
  });

  it.each([
    '',
    'x',
    '/relative',
    '//admin.example.org/',
    'javascript:alert(1)//https://admin.example.org',
    'data:text/html,x',
    'ftp://localhost/',
    'https://evil.example/',
    'http://store.test/',
    'https://store.test:444/',
    'https://store.test.evil.example/',
    'https://store.test@evil.example/',
    'https://user:secret@admin.example.org/',
    String.raw`https://evil.example\@admin.example.org/`,
    'https://evil.example/https://admin.example.org/',
    'http://admin.example.org/',
    'https://admin.example.org:8443/',
    'https://admin.example.org.evil.example/',
    'https://apps.example.org/',
    'https://evilapps.example.org/',
    'https://evil.example#.apps.example.org/',
    'https://store.test/',
    'https://store.test/#t=',
    'https://store.test/v1/admin/',
    'https://store.test/v1/admin/?t=',
    'https://store.test/v1/administrators#',
    'https://store.test/v1/admin/..%2fopenid/real/login?callback=http://localhost/&scope=openid#',
    'https://store.test/v1/admin/../openid/real/login?callback=http://localhost/&scope=',
    'https://store.test/v1/openid/real/login?callback=http://localhost/&scope=openid#',
    'https://store.test/openid/real/login?callback=http://localhost/&scope=openid#',
    'https://store.test/v1/buckets/b?t=',
    'https://shared.example.org/',
    'https://shared.example.org/kinto',
    'https://shared.example.org/kintoevil/#',
    'https://shared.example.org/kinto/../evil/#',
    'https://shared.example.org/kinto/%2e%2e/evil/#',
    'https://shared.example.org/kinto/..%2fevil/#',
    'http://localhost.evil.example/',
    'http://127.0.0.1.evil.example/',
    'http://2130706433.evil.example/',
    'https://169.254.169.254/',
    `https://admin.example.org/${'x'.repeat(2048)}`,
    `https://admin.example.org/${'ü'.repeat(400)}`,
  ])('refuses the callback %j.', async (address) => {
    const { status, body } = await login(service, { callback: address, scope: 'openid email' });
    expect(status).toBe(400);
    expect(body).toMatchObject({ errno: 107, details: [{ location: 'querystring', name: 'callback' }] });
  });

  it('names the setting in the message about a callback that is not allowed.', async () => {
    const { body } = await login(service, { callback: 'https://evil.example/', scope: 'openid email' });
    expect(body).toMatchObject({ message: 'the callback is not in openid_allowed_callbacks' });
  });

  it('needs an entry with a path for a callback at the service itself, except in the console.', async () => {
    const broad = { ...settings(), openid_allowed_callbacks: '* https://*.test https://store.test' };
    const open = await startTestService({ settings: broad });
    try {
      const elsewhere = await login(open, { callback: 'https://evil.example/', scope: 'openid email' });
      expect(elsewhere.status).toBe(307);
      for (const path of ['/v1/buckets/b?t=', '/v1/openid/other/login?callback=http://localhost/&scope=', '/app#t=']) {
        const { status, body } = await login(open, { callback: `https://store.test${path}`, scope: 'openid email' });
        expect([status, body]).toMatchObject([
          400,
          {
            message:
              'expected https://store.test/v1/admin/#tokens=, or a URL below an entry with a path in openid_allowed_callbacks',
          },
        ]);
      }
    } finally {
      await open.close();
    }
  });

  it('adds a path to a callback without one, so that the token cannot become part of the host.', async () => {
    scripted.answers.set('/token', { access_token: 't' });
    const begun = await login(service, { callback: 'https://admin.example.org', scope: 'openid' }, 'other');
    const state = new URL(begun.headers['location']!).searchParams.get('state')!;
    const ended = await endLogin(service, cookiesOf(begun), `code=c&state=${state}`);
    expect(ended.headers['location']).toMatch(/^https:\/\/admin\.example\.org\/[\w%]+$/);
  });

  it('is validated, with all issues in one response.', async () => {
    const fault = async (query: string): Promise<unknown> => {
      const { status, body } = await service.request('GET', `/v1/openid/real/login?${query}`);
      expect(status).toBe(400);
      return (body as { details: { location: string; name: string }[] }).details.map((each) => [
        each.location,
        each.name,
      ]);
    };
    const good = 'callback=http://localhost/&scope=openid%20email';
    expect(await fault('')).toEqual([
      ['querystring', 'callback'],
      ['querystring', 'scope'],
    ]);
    expect(await fault('callback=http://localhost/&scope=openid')).toEqual([['body', 'scope']]);
    expect(await fault('callback=http://localhost/&scope=a%0d%0ab')).toEqual([['querystring', 'scope']]);
    expect(await fault(`${good}&prompt=login`)).toEqual([['querystring', 'prompt']]);
    expect(await fault(`${good}&callback=https://evil.example/`)).toEqual([['querystring', 'callback']]);
    const unknown = await login(service, { callback, scope: 'openid' }, '__proto__');
    expect(unknown.body).toMatchObject({ errno: 107, details: [{ location: 'path', name: 'provider' }] });
  });

  it('is sent to the provider in addition to the query of its endpoint.', async () => {
    const { headers } = await login(service, { callback, scope: 'openid a&b=c', prompt: 'none' }, 'other');
    const location = new URL(headers['location']!);
    expect(location.origin + location.pathname).toBe(`${scripted.issuer}/auth`);
    expect(Object.fromEntries(location.searchParams)).toEqual({
      tenant: '1',
      client_id: 'x',
      response_type: 'code',
      scope: 'openid a&b=c',
      redirect_uri: 'https://store.test/v1/openid/other/token',
      state: expect.stringMatching(/^[\da-f]{64}$/) as string,
      nonce: expect.stringMatching(/^[\w-]{22}$/) as string,
      prompt: 'none',
      audience: 'https://store.test/',
    });
  });

  it('in a batch does not follow the redirect to a provider.', async () => {
    const path = `/openid/other/login?${new URLSearchParams({ callback, scope: 'openid' }).toString()}`;
    const { body } = await service.request('POST', '/v1/batch', { body: { requests: [{ path }] } });
    expect(body).toMatchObject({ responses: [{ status: 307, headers: { 'Cache-Control': 'no-store' } }] });
  });

  it('does not leak codes and states into the log.', async () => {
    const lines: unknown[] = [];
    const write = (...line: unknown[]): void => void lines.push(line);
    const logger = { debug: write, info: write, warn: write, error: write };
    const logged = await startTestService({ settings: settings(), logger });
    try {
      await logged.request('GET', '/v1/openid/other/token?code=secret-code&state=secret-state');
      expect(JSON.stringify(lines)).toContain('/v1/openid/other/token');
      expect(JSON.stringify(lines)).not.toContain('secret-');
    } finally {
      await logged.close();
    }
  });
});
