// Which access tokens authenticate, what providers may do in the meantime, and what is remembered
// (docs/guides/authentication.md#openid-connect).
import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestService, type TestServiceOptions } from '../../src/testing/index.ts';
import { client, startOpenidProvider } from '../support/openid-provider.ts';
import { makeKey, respond, ScriptedProvider, sign, type Answer, type Key } from '../support/scripted-provider.ts';

const audience = 'https://store.test/';

let provider: ScriptedProvider;
let key: Key;
let service: TestService | undefined;
let now: number;

beforeEach(async () => {
  now = Date.now();
  provider = await ScriptedProvider.start();
  key = await makeKey('one');
  provider.publish(key);
});

afterEach(async () => {
  await service?.close();
  service = undefined;
  await provider.close();
});

type Settings = Readonly<Record<string, string>>;

function settings(parameters: Settings = {}): Record<string, string> {
  const all: Settings = {
    use: 'OpenIDConnectPolicy',
    issuer: provider.issuer,
    client_id: 'x',
    timeout_seconds: '0.5',
    ...parameters,
  };
  return {
    includes: 'openid',
    'multiauth.policies': 'main',
    ...Object.fromEntries(Object.entries(all).map(([name, value]) => [`multiauth.policy.main.${name}`, value])),
  };
}

async function start(parameters: Settings = {}, options: TestServiceOptions = {}): Promise<TestService> {
  service = await startTestService({
    ...options,
    settings: { ...settings(parameters), ...options.settings },
    clock: { now: () => now },
  });
  return service;
}

/** Who the root view takes the bearer of a token for; a status other than 200 as a number. */
async function ask(token: string, scheme = 'Bearer'): Promise<string | number | undefined> {
  const { status, body } = await service!.request('GET', '/v1/', { headers: { Authorization: `${scheme} ${token}` } });
  return status === 200 ? (body as { user?: { id: string } }).user?.id : status;
}

function claims(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const seconds = Math.floor(now / 1000);
  return { iss: provider.issuer, aud: audience, sub: 'ann', iat: seconds, exp: seconds + 3600, ...changes };
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a token for an audience', () => {
  beforeEach(async () => {
    await start({ audience });
  });

  it('authenticates when it is signed by the provider, for one audience or several.', async () => {
    expect(await ask(await sign(claims(), key))).toBe('main:ann');
    expect(await ask(await sign(claims({ aud: ['other', audience] }), key))).toBe('main:ann');
  });

  it.each<readonly [string, Record<string, unknown>]>([
    ['another audience', { aud: 'https://elsewhere.test/' }],
    ['no audience', { aud: undefined }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['no issuer', { iss: undefined }],
    ['an end in the past', { exp: 1000 }],
    ['no end', { exp: undefined }],
    ['an end that is a text', { exp: '99999999999' }],
    ['a beginning in the future', { nbf: 99_999_999_999 }],
  ])('is refused with %s, and is not shown to anybody.', async (_what, changes) => {
    expect(await ask(await sign(claims(changes), key))).toBeUndefined();
    expect(provider.count('/me')).toBe(0);
  });

  it('is refused without a signature, however that is spelt.', async () => {
    const good = await sign(claims(), key);
    const [, payload = '', signature = ''] = good.split('.');
    for (const alg of ['none', 'None', 'NONE', '', null]) {
      for (const end of ['', signature]) {
        expect(await ask(`${encode({ alg, kid: key.id })}.${payload}.${end}`)).toBeUndefined();
      }
    }
    expect(await ask(`${encode({ alg: 'ES256', kid: key.id })}.${payload}.`)).toBeUndefined();
    expect(await ask(`${good.slice(0, -6)}AAAAAA`)).toBeUndefined();
    expect(await ask(`${good.split('.')[0]}.${encode(claims({ sub: 'root' }))}.${signature}`)).toBeUndefined();
    expect(provider.count('/me')).toBe(0);
  });

  it('is refused when it is signed with the public key as if that were a secret.', async () => {
    const rsa = await makeKey('rsa', 'RS256');
    provider.publish(rsa);
    expect(await ask(await sign(claims(), rsa))).toBe('main:ann');
    for (const secret of [JSON.stringify(rsa.publicJwk), Buffer.from(rsa.publicJwk.n!, 'base64url'), '']) {
      const head = `${encode({ alg: 'HS256', kid: 'rsa' })}.${encode(claims({ sub: 'root' }))}`;
      const signature = createHmac('sha256', secret).update(head).digest('base64url');
      expect(await ask(`${head}.${signature}`)).toBeUndefined();
    }
  });

  it('is refused when the provider publishes a secret by mistake, and the token is signed with that.', async () => {
    provider.answers.set('/keys', { keys: [{ kty: 'oct', kid: 's', alg: 'HS256', k: encode('secret') }] });
    const head = `${encode({ alg: 'HS256', kid: 's' })}.${encode(claims())}`;
    const signature = createHmac('sha256', Buffer.from(encode('secret'), 'base64url'))
      .update(head)
      .digest('base64url');
    expect(await ask(`${head}.${signature}`)).toBeUndefined();
  });

  it('is refused when it brings its own key, or says where that lies; nobody looks there.', async () => {
    const evil = await makeKey('evil');
    const elsewhere = `${provider.issuer}/evil`;
    provider.answers.set('/evil', { keys: [evil.publicJwk] });
    for (const header of [
      { jku: elsewhere },
      { x5u: elsewhere },
      { jwk: evil.publicJwk },
      { jku: elsewhere, kid: 'one' },
    ]) {
      expect(await ask(await sign(claims(), evil, header))).toBeUndefined();
    }
    expect(provider.count('/evil')).toBe(0);
  });

  it('is refused when the name of its key is a path or a query.', async () => {
    const evil = await makeKey('evil');
    for (const kid of ['../../../dev/null', "' OR 1=1 --", '__proto__', 'constructor', '']) {
      expect(await ask(await sign(claims(), evil, { kid }))).toBeUndefined();
    }
  });

  it('is refused when it asks for an extension that nobody knows.', async () => {
    expect(await ask(await sign(claims(), key, { crit: ['b64'], b64: true }))).toBe('main:ann');
    const head = `${encode({ alg: 'ES256', kid: 'one', crit: ['x'], x: 1 })}.${encode(claims())}`;
    expect(await ask(`${head}.AAAA`)).toBeUndefined();
  });

  it.each(['a.b.c', '..', '.', 'x', '{}', '%', 'é', 'a b', 'e30.e30.e30', 'a.'.repeat(8000), 'x'.repeat(16_000)])(
    'is refused when it is %.20s.',
    async (token) => {
      const { status, body } = await service!.request('GET', '/v1/buckets/x', {
        headers: { Authorization: `Bearer ${Buffer.from(token, 'utf8').toString('latin1')}` },
      });
      expect([status, body]).toMatchObject([401, { errno: 104 }]);
    },
  );

  it('may be a little too late or too early, as clocks differ.', async () => {
    const seconds = Math.floor(now / 1000);
    expect(await ask(await sign(claims({ exp: seconds - 20 }), key))).toBe('main:ann');
    expect(await ask(await sign(claims({ exp: seconds - 40 }), key))).toBeUndefined();
  });

  it('ends when it says so, although it is remembered.', async () => {
    const token = await sign(claims({ exp: Math.floor(now / 1000) + 100 }), key);
    expect(await ask(token)).toBe('main:ann');
    now += 120_000;
    expect(await ask(token)).toBe('main:ann');
    now += 12_000;
    expect(await ask(token)).toBeUndefined();
  });

  it('is good with the next key as soon as the provider publishes it, and with an old one no more after a while.', async () => {
    expect(await ask(await sign(claims(), key))).toBe('main:ann');
    const next = await makeKey('two');
    provider.publish(next);
    expect(await ask(await sign(claims(), next))).toBe('main:ann');
    expect(provider.count('/keys')).toBe(2);
    expect(await ask(await sign(claims({ n: 1 }), key))).toBeUndefined();
    const last = await makeKey('three');
    provider.publish(last);
    now += 601_000;
    expect(await ask(await sign(claims({ n: 2 }), next))).toBeUndefined();
  });

  it('cannot make the service ask for keys again and again.', async () => {
    const evil = await makeKey('evil');
    for (let n = 0; n < 20; n++) {
      expect(await ask(await sign(claims({ n }), evil, { kid: `made-up-${n}` }))).toBeUndefined();
    }
    expect(provider.count('/keys')).toBe(6);
    now += 10_000;
    const next = await makeKey('two');
    provider.publish(key, next);
    expect(await ask(await sign(claims(), next))).toBe('main:ann');
  });

  it.each<readonly [string, unknown]>([
    ['an error', undefined],
    ['no keys', { keys: 'none' }],
    ['a page', '<html>'],
  ])('is answered with 503 when the address of the keys gives %s.', async (_what, answer) => {
    provider.answers.set('/keys', answer === undefined ? respond(500, {}) : respond(200, answer));
    expect(await ask(await sign(claims(), key))).toBe(503);
  });

  it('is refused, and nothing worse, when its key is unusable.', async () => {
    provider.answers.set('/keys', { keys: [{ ...key.publicJwk, x: 'AAAA' }] });
    expect(await ask(await sign(claims(), key))).toBeUndefined();
  });
});

describe('the user of a token', () => {
  it.each<readonly [string, unknown, string | undefined]>([
    ['a text', { sub: 'a:b' }, 'main:a:b'],
    ['a number', { sub: 42 }, 'main:42'],
    ['a number beyond doubles', '{"sub":12345678901234567890}', 'main:12345678901234567890'],
    ['missing', { id: 'x' }, undefined],
    ['empty', { sub: '' }, undefined],
    ['a list', { sub: ['x'] }, undefined],
    ['an object', { sub: { x: 1 } }, undefined],
    ['full of control characters', { sub: 'a\nb' }, undefined],
    ['inherited', '{"__proto__":{"sub":"x"}}', undefined],
  ])('is told by a field that is %s.', async (_what, answer, expected) => {
    await start();
    provider.answers.set('/me', respond(200, answer));
    expect(await ask('opaque')).toBe(expected);
  });

  it('has no address that the provider has not verified.', async () => {
    await start({ userid_field: 'email' });
    provider.answers.set('/me', { sub: 'x', email: 'root@example.org', email_verified: false });
    expect(await ask('a')).toBeUndefined();
    provider.answers.set('/me', { sub: 'x', email: 'root@example.org', email_verified: true });
    expect(await ask('b')).toBe('main:root@example.org');
    provider.answers.set('/me', { sub: 'x', email: 'root@example.org' });
    expect(await ask('c')).toBe('main:root@example.org');
  });

  it('has the profile of the provider in the root view; users of other policies have an empty one.', async () => {
    await start({}, { settings: { 'multiauth.policies': 'main basicauth' } });
    provider.answers.set('/me', respond(200, '{"sub":"ann","n":1.0,"__proto__":{"a":1}}'));
    for (let time = 0; time < 2; time++) {
      const { text } = await service!.request('GET', '/v1/', { headers: { Authorization: 'Bearer t' } });
      expect(text).toContain('"profile":{"sub":"ann","n":1.0,"__proto__":{"a":1}}');
    }
    expect(provider.count('/me')).toBe(1);
    const other = await service!.request('GET', '/v1/', { auth: 'bob' });
    expect(other.body).toMatchObject({ user: { profile: {} } });
  });

  it('is known by the configured word in the header, in any case, and by no other.', async () => {
    await start({ header_type: 'Bearer+OIDC' });
    expect(await ask('t', 'bearer+oidc')).toBe('main:ann');
    expect(await ask('t', 'Bearer')).toBeUndefined();
    const { headers } = await service!.request('POST', '/v1/buckets', { body: {} });
    expect(headers['www-authenticate']).toBe('Bearer+OIDC realm="Realm"');
  });
});

describe('what is remembered', () => {
  it('A good token is not asked about again, until its time is over.', async () => {
    await start({ verification_ttl_seconds: '60' });
    expect([await ask('t'), await ask('t'), provider.count('/me')]).toEqual(['main:ann', 'main:ann', 1]);
    now += 40_000;
    expect([await ask('t'), provider.count('/me')]).toEqual(['main:ann', 1]);
    // The use before has not made it longer: a token that is revoked works for a minute at most.
    provider.answers.set('/me', respond(401, {}));
    now += 21_000;
    expect([await ask('t'), provider.count('/me')]).toEqual([undefined, 2]);
  });

  it('A refusal is not remembered.', async () => {
    await start();
    provider.answers.set('/me', respond(401, {}));
    expect(await ask('t')).toBeUndefined();
    provider.answers.set('/me', { sub: 'ann' });
    expect(await ask('t')).toBe('main:ann');
  });

  it('Requests that come together with one token ask once.', async () => {
    await start();
    expect(await Promise.all(Array.from({ length: 10 }, () => ask('t')))).toEqual(Array(10).fill('main:ann'));
    expect(provider.count('/me')).toBe(1);
  });

  it('Tokens that begin alike are different tokens.', async () => {
    await start();
    provider.answers.set('/me', (request, response) => {
      respond(200, { sub: request.headers.authorization!.slice(-1) })(request, response);
    });
    const long = 'x'.repeat(5000);
    expect([await ask(`${long}a`), await ask(`${long}b`)]).toEqual(['main:a', 'main:b']);
  });

  it('Neither tokens nor anything they could be guessed from get into the log.', async () => {
    const lines: unknown[] = [];
    const write = (...line: unknown[]): void => void lines.push(line);
    await start({}, { logger: { debug: write, info: write, warn: write, error: write } });
    await ask('secret-token');
    provider.answers.set('/me', respond(500, 'x'));
    expect(await ask('secret-token-2')).toBe(503);
    const log = inspect(lines, { depth: 20 });
    expect(log).toContain('responded 500');
    expect(log).not.toContain('secret-token');
  });
});

describe('a provider in trouble', () => {
  const hang = (): void => {
    // Never answers.
  };

  it.each<readonly [string, Answer]>([
    ['is broken', respond(500, {})],
    ['is overloaded', respond(429, {})],
    ['redirects', (_request, response) => response.writeHead(302, { Location: '/elsewhere' }).end()],
    ['does not answer', hang],
    ['never stops answering', (_request, response) => void response.writeHead(200).write('{"sub":')],
    ['breaks off', (request) => void request.socket.destroy()],
    ['answers with a page', respond(200, '<html>')],
    ['answers with a list', respond(200, [])],
    ['answers with too much', respond(200, { sub: 'ann', more: 'x'.repeat(300_000) })],
    [
      'answers with too much once it is unpacked',
      (_request, response) => {
        response.writeHead(200, { 'Content-Encoding': 'gzip' });
        response.end(gzipSync(JSON.stringify({ sub: 'ann', more: 'x'.repeat(10_000_000) })));
      },
    ],
    ['answers with too many levels', respond(200, `{"sub":"ann","x":${'['.repeat(100)}${']'.repeat(100)}}`)],
  ])('A provider that %s means 503, in time, and no user.', async (_what, answer) => {
    await start();
    provider.answers.set('/me', answer);
    const { status, body, headers } = await service!.request('GET', '/v1/buckets', {
      headers: { Authorization: 'Bearer t' },
    });
    expect([status, body]).toMatchObject([503, { errno: 201 }]);
    expect(headers['retry-after']).toBe('3');
    expect(provider.count('/elsewhere')).toBe(0);
    provider.answers.set('/me', { sub: 'ann' });
    expect(await ask('t')).toBe('main:ann');
  });

  it('A batch with many tokens waits for it once.', async () => {
    await start();
    provider.answers.set('/me', hang);
    const requests = Array.from({ length: 20 }, (_, n) => ({ path: '/', headers: { Authorization: `Bearer t${n}` } }));
    const { status } = await service!.request('POST', '/v1/batch', { body: { requests } });
    expect(status).toBe(503);
    expect(provider.count('/me')).toBe(1);
  });

  it('Others are authenticated all the same.', async () => {
    await start({}, { settings: { 'multiauth.policies': 'main basicauth' } });
    provider.answers.set('/me', hang);
    const { body } = await service!.request('GET', '/v1/', { auth: 'bob' });
    expect(body).toMatchObject({ user: { id: expect.stringMatching(/^basicauth:/) as string } });
    expect((await service!.request('GET', '/v1/')).status).toBe(200);
  });

  it('Calls that are under way are limited in number.', async () => {
    await start({ max_concurrent_calls: '2', timeout_seconds: '30' });
    const pending: (() => void)[] = [];
    const arrived = new Promise<void>((resolve) => {
      provider.answers.set('/me', (request, response) => {
        pending.push(() => respond(200, { sub: 'ann' })(request, response));
        if (pending.length === 2) resolve();
      });
    });
    const first = [ask('a'), ask('b')];
    await arrived;
    expect(await ask('c')).toBe(503);
    for (const go of pending) go();
    expect(await Promise.all(first)).toEqual(['main:ann', 'main:ann']);
  });

  it('A provider that is down at start is asked again when it is needed.', async () => {
    const document = '/.well-known/openid-configuration';
    provider.answers.set(document, respond(503, {}));
    const lines: unknown[] = [];
    const write = (...line: unknown[]): void => void lines.push(line);
    await start({}, { logger: { debug: write, info: write, warn: write, error: write } });
    expect(JSON.stringify(lines)).toContain('does not answer');
    expect(await ask('t')).toBe(503);
    expect(
      (await service!.request('GET', '/v1/openid/main/login?callback=http://localhost/&scope=openid')).status,
    ).toBe(503);
    expect((await service!.request('GET', '/v1/')).body).toMatchObject({
      capabilities: { openid: { providers: [{ name: 'main', userinfo_endpoint: null }] } },
    });
    // Not with every request.
    expect(provider.count(document)).toBe(1);
    provider.answers.set(document, provider.metadata());
    now += 1001;
    expect(await ask('t')).toBe('main:ann');
  });

  it('A provider that hangs at start does not keep the service from starting.', async () => {
    provider.answers.set('/.well-known/openid-configuration', hang);
    await start();
    expect((await service!.request('GET', '/v1/')).status).toBe(200);
  });
});

describe('a configuration that does not fit', () => {
  it.each<readonly [string, Settings, RegExp]>([
    ['has no issuer', { issuer: '' }, /multiauth\.policy\.main\.issuer: must be set/],
    ['has no client', { client_id: '' }, /client_id: must be set/],
    ['has no TLS', { issuer: 'http://id.example.org' }, /issuer: expected a URL that starts with https/],
    ['has a password in the issuer', { issuer: 'https://a:b@id.example.org' }, /without user name/],
    ['asks for signatures with secrets', { algorithms: 'RS256 HS256' }, /algorithms: expected some of RS256/],
    ['asks for none', { algorithms: 'none' }, /algorithms/],
    ['trusts tokens alone without audience', { use_userinfo: 'false' }, /only be false with audience/],
    ['takes ID tokens', { use_userinfo: 'false', audience: 'x' }, /must differ from client_id/],
    ['has a header of two words', { header_type: 'a b' }, /header_type/],
    ['has a realm with quotes', { realm: 'a"b' }, /realm/],
    ['has a time that is none', { timeout_seconds: 'soon' }, /timeout_seconds/],
  ])('A provider that %s is told at start.', async (_what, parameters, message) => {
    await expect(start(parameters)).rejects.toThrow(message);
  });

  it.each<readonly [string, object, RegExp]>([
    ['is another one', { issuer: 'https://evil.example' }, /about the issuer "https:\/\/evil\.example"/],
    ['has no login', { authorization_endpoint: undefined }, /no usable authorization_endpoint/],
    ['has no TLS', { userinfo_endpoint: 'http://id.example.org/me' }, /no usable userinfo_endpoint/],
    ['reads files', { token_endpoint: 'file:///etc/passwd' }, /no usable token_endpoint/],
    ['has no keys', { jwks_uri: undefined }, /no usable jwks_uri/],
  ])('A provider that says it %s is told at start.', async (_what, changes, message) => {
    provider.answers.set('/.well-known/openid-configuration', provider.metadata(changes));
    await expect(start({ audience })).rejects.toThrow(message);
  });

  it('The slash at the end of the issuer does not matter, but tokens have it as the provider has it.', async () => {
    provider.answers.set('/.well-known/openid-configuration', provider.metadata({ issuer: `${provider.issuer}/` }));
    await start({ audience });
    expect(await ask(await sign(claims({ iss: `${provider.issuer}/` }), key))).toBe('main:ann');
    expect(await ask(await sign(claims(), key))).toBeUndefined();
  });

  it('A misspelt parameter is a warning.', async () => {
    const lines: unknown[] = [];
    const write = (...line: unknown[]): void => void lines.push(line);
    await start({ audiance: audience }, { logger: { debug: write, info: write, warn: write, error: write } });
    expect(JSON.stringify(lines)).toContain('multiauth.policy.main.audiance');
  });

  it('Policies that would share user ids are refused.', async () => {
    const two = { settings: { 'multiauth.policies': 'main MAIN', 'multiauth.policy.MAIN.use': 'OpenIDConnectPolicy' } };
    await expect(start({}, two)).rejects.toThrow('twice');
    await expect(start({}, { settings: { 'multiauth.policies': 'a:b' } })).rejects.toThrow('a:b');
  });
});

describe('several providers', () => {
  let second: ScriptedProvider;

  beforeEach(async () => {
    second = await ScriptedProvider.start();
    second.answers.set('/me', { sub: 'ann' });
    await start(
      {},
      {
        settings: {
          'multiauth.policies': 'main second',
          'multiauth.policy.second.use': 'OpenIDConnectPolicy',
          'multiauth.policy.second.issuer': second.issuer,
          'multiauth.policy.second.client_id': 'y',
        },
      },
    );
  });

  afterEach(() => second.close());

  // Proves S-181.
  it('The first that knows a token wins, and users of the same name are different users.', async () => {
    expect(await ask('t')).toBe('main:ann');
    provider.answers.set('/me', respond(401, {}));
    expect(await ask('u')).toBe('second:ann');
  });

  it('A token that names its issuer is not shown to another provider.', async () => {
    expect(await ask(await sign(claims({ iss: second.issuer }), key))).toBe('second:ann');
    expect(provider.count('/me')).toBe(0);
  });

  it('One that is down keeps only its own users out.', async () => {
    provider.answers.set('/me', respond(500, {}));
    expect(await ask('t')).toBe('second:ann');
    second.answers.set('/me', respond(401, {}));
    expect(await ask('u')).toBe(503);
  });
});

describe('a real provider', () => {
  it('gives tokens that are good until it changes its keys or they end.', async () => {
    const real = await startOpenidProvider();
    try {
      await start({ issuer: real.issuer, client_id: client.id, audience, use_userinfo: 'false' });
      expect(await ask(await real.issue('ann', { audience }))).toBe('main:ann');
      expect(await ask(await real.issue('ann', { audience: 'https://elsewhere.test/' }))).toBeUndefined();
      expect(await ask(await real.issue('ann'))).toBeUndefined();
      const old = await real.issue('bob', { audience });
      await real.changeKeys();
      expect(await ask(await real.issue('ann', { audience }))).toBe('main:ann');
      expect(await ask(old)).toBeUndefined();
      const short = await real.issue('ann', { audience, ttlSeconds: 10 });
      now += 60_000;
      expect(await ask(short)).toBeUndefined();
    } finally {
      await real.close();
    }
  });

  it('tells the user of an opaque token, and refuses made-up ones.', async () => {
    const real = await startOpenidProvider();
    try {
      await start({ issuer: real.issuer, client_id: client.id, verification_ttl_seconds: '0' });
      const token = await real.issue('ann');
      expect(await ask(token)).toBe('main:ann');
      expect(await ask('made-up')).toBeUndefined();
      await real.revoke(token);
      expect(await ask(token)).toBeUndefined();
    } finally {
      await real.close();
    }
  });
});
