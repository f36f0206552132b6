// Authentication with access tokens, failures of providers, and caching
// (docs/guides/authentication.md#openid-connect).
import { createHmac } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startTestService, type TestService, type TestServiceOptions } from '../../src/testing/index.ts';
import { client, startOpenidProvider } from '../support/openid-provider.ts';
import {
  makeKey,
  respond,
  ScriptedProvider,
  sign,
  signText,
  type Answer,
  type Key,
} from '../support/scripted-provider.ts';

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

/** Returns the user id in the root view for a token, or the status if it is not 200. */
async function ask(token: string, scheme = 'Bearer'): Promise<string | number | undefined> {
  const { status, body } = await service!.request('GET', '/v1/', { headers: { Authorization: `${scheme} ${token}` } });
  return status === 200 ? (body as { user?: { id: string } }).user?.id : status;
}

const hang = (): void => {
  // Never responds.
};

const redirect: Answer = (_request, response) => response.writeHead(302, { Location: '/elsewhere' }).end();

/** Sends text without end. */
const flow: Answer = (_request, response) => {
  const chunks = function* (): Generator<string> {
    for (;;) yield ' '.repeat(65_536);
  };
  pipeline(Readable.from(chunks()), response, () => undefined);
};

/** Keeps the answers to calls until the test releases them. */
function holdAnswers(): { readonly pending: (() => void)[]; readonly arrived: (count: number) => Promise<void> } {
  const pending: (() => void)[] = [];
  const waiters = new Map<number, () => void>();
  let count = 0;
  provider.answers.set('/me', (request, response) => {
    pending.push(() => respond(200, { sub: 'ann' })(request, response));
    waiters.get(++count)?.();
  });
  const arrived = (number: number): Promise<void> =>
    new Promise((resolve) => {
      if (count >= number) resolve();
      else waiters.set(number, resolve);
    });
  return { pending, arrived };
}

/** Releases all answers that are held, and answers further calls at once. */
function release(pending: readonly (() => void)[]): void {
  provider.answers.set('/me', { sub: 'ann' });
  for (const go of pending) go();
}

/** Returns how often each value occurs. */
function countValues(values: readonly (string | number | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1;
  return counts;
}

/** Resolves when this number of requests got 503. */
function refusedRequests(answers: readonly Promise<unknown>[], number: number): Promise<void> {
  let count = 0;
  return new Promise((resolve) => {
    for (const answer of answers) {
      void answer.then((result) => {
        if (result === 503 && ++count === number) resolve();
      });
    }
  });
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

  it('authenticates if the provider signed it, for one audience or several.', async () => {
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
  ])('is refused with %s, and is not sent to any provider.', async (_what, changes) => {
    expect(await ask(await sign(claims(changes), key))).toBeUndefined();
    expect(provider.count('/me')).toBe(0);
  });

  it('is refused without a signature, in any spelling of `none`.', async () => {
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

  it('is refused if it is signed with the public key as a symmetric secret.', async () => {
    const rsa = await makeKey('rsa', 'RS256');
    provider.publish(rsa);
    expect(await ask(await sign(claims(), rsa))).toBe('main:ann');
    for (const secret of [JSON.stringify(rsa.publicJwk), Buffer.from(rsa.publicJwk.n!, 'base64url'), '']) {
      const head = `${encode({ alg: 'HS256', kid: 'rsa' })}.${encode(claims({ sub: 'root' }))}`;
      const signature = createHmac('sha256', secret).update(head).digest('base64url');
      expect(await ask(`${head}.${signature}`)).toBeUndefined();
    }
  });

  it('is refused if it is signed with a symmetric secret that the provider published.', async () => {
    provider.answers.set('/keys', { keys: [{ kty: 'oct', kid: 's', alg: 'HS256', k: encode('secret') }] });
    const head = `${encode({ alg: 'HS256', kid: 's' })}.${encode(claims())}`;
    const signature = createHmac('sha256', Buffer.from(encode('secret'), 'base64url'))
      .update(head)
      .digest('base64url');
    expect(await ask(`${head}.${signature}`)).toBeUndefined();
  });

  it('is refused if it contains its own key or the URL of a key, which is not fetched.', async () => {
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

  it('is refused if its key id is a path or a query.', async () => {
    const evil = await makeKey('evil');
    for (const kid of ['../../../dev/null', "' OR 1=1 --", '__proto__', 'constructor', '']) {
      expect(await ask(await sign(claims(), evil, { kid }))).toBeUndefined();
    }
  });

  it('is refused if it requires an unknown extension.', async () => {
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

  it('is refused if its expiry is no number of seconds.', async () => {
    const withExpiry = (exp: string): Promise<string> =>
      signText(JSON.stringify(claims({ exp: 'EXP' })).replace('"EXP"', exp), key);
    expect(await ask(await withExpiry('1e11'))).toBe('main:ann');
    for (const exp of ['1e999', '-1e999', 'null', '"soon"', '{}'])
      expect([exp, await ask(await withExpiry(exp))]).toEqual([exp, undefined]);
  });

  it('is accepted within the clock tolerance.', async () => {
    const seconds = Math.floor(now / 1000);
    expect(await ask(await sign(claims({ exp: seconds - 20 }), key))).toBe('main:ann');
    expect(await ask(await sign(claims({ exp: seconds - 40 }), key))).toBeUndefined();
  });

  it('expires at its time even if cached.', async () => {
    const token = await sign(claims({ exp: Math.floor(now / 1000) + 100 }), key);
    expect(await ask(token)).toBe('main:ann');
    now += 120_000;
    expect(await ask(token)).toBe('main:ann');
    now += 12_000;
    expect(await ask(token)).toBeUndefined();
  });

  it('is accepted with a new key as soon as it is published, and refused with an old key after the maximum age.', async () => {
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

  it.each([undefined, 'again'])('is accepted with a new key at once if the id of all keys is %s.', async (id) => {
    const [first, second] = [await makeKey(id), await makeKey(id)];
    provider.publish(first);
    expect(await ask(await sign(claims(), first))).toBe('main:ann');
    provider.publish(second);
    const tokens = await Promise.all(Array.from({ length: 10 }, (_, n) => sign(claims({ n }), second)));
    expect(await Promise.all(tokens.map((token) => ask(token)))).toEqual(Array(10).fill('main:ann'));
    expect(provider.count('/keys')).toBe(2);
    expect(await ask(await sign(claims({ n: -1 }), first))).toBeUndefined();
  });

  it('is accepted with any of several keys without ids, of which eight are tried.', async () => {
    const keys = await Promise.all(Array.from({ length: 9 }, () => makeKey(undefined)));
    provider.publish(...keys);
    const users = await Promise.all(keys.map(async (one) => ask(await sign(claims(), one))));
    expect(users).toEqual([...Array<string>(8).fill('main:ann'), undefined]);
    expect(await ask(await sign(claims({ exp: 1000 }), keys[3]!))).toBeUndefined();
  });

  it('cannot cause unlimited fetches of keys by signatures that are wrong.', async () => {
    const evil = await makeKey('one');
    for (let n = 0; n < 20; n++) expect(await ask(await sign(claims({ n }), evil))).toBeUndefined();
    expect(provider.count('/keys')).toBe(6);
    expect(await ask(await sign(claims(), key))).toBe('main:ann');
  });

  it('cannot cause unlimited fetches of keys.', async () => {
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

  it.each<readonly [string, Answer]>([
    ['an error', respond(500, {})],
    ['no keys', { keys: 'none' }],
    ['a page', respond(200, '<html>')],
    [
      'ten thousand keys',
      { keys: Array.from({ length: 10_000 }, (_, n) => ({ kty: 'oct', kid: `k${n}`, k: 'AAAA' })) },
    ],
    ['a redirect', redirect],
    ['nothing', hang],
    ['text without end', flow],
  ])('gets 503 if the URL of the keys returns %s.', async (_what, answer) => {
    const good = provider.answers.get('/keys')!;
    provider.answers.set('/keys', answer);
    for (let n = 0; n < 5; n++) expect(await ask(await sign(claims({ n }), key))).toBe(503);
    expect(provider.count('/elsewhere')).toBe(0);
    // A failure is remembered for a short time: any client can send such tokens.
    expect(provider.count('/keys')).toBe(1);
    provider.answers.set('/keys', good);
    now += 1001;
    expect(await ask(await sign(claims(), key))).toBe('main:ann');
  });

  it('is refused if its key is unusable.', async () => {
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
  ])('is identified by a field that is %s.', async (_what, answer, expected) => {
    await start();
    provider.answers.set('/me', respond(200, answer));
    expect(await ask('opaque')).toBe(expected);
  });

  it('is identified by all digits of a number in a token.', async () => {
    await start({ audience, use_userinfo: 'false' });
    for (const digits of ['12345678901234567890', '12345678901234567891']) {
      const text = JSON.stringify(claims({ sub: 'SUB' })).replace('"SUB"', digits);
      expect(await ask(await signText(text, key))).toBe(`main:${digits}`);
    }
  });

  it('has no e-mail address that the provider has not verified.', async () => {
    await start({ userid_field: 'email' });
    for (const [index, no] of [false, 'false', 'False', 'no', '', 0, null].entries()) {
      provider.answers.set('/me', { sub: 'x', email: 'root@example.org', email_verified: no });
      expect([no, await ask(`a${index}`)]).toEqual([no, undefined]);
    }
    provider.answers.set('/me', { sub: 'x', email: 'root@example.org', email_verified: true });
    expect(await ask('b')).toBe('main:root@example.org');
    provider.answers.set('/me', { sub: 'x', email: 'root@example.org' });
    expect(await ask('c')).toBe('main:root@example.org');
  });

  it('has the profile of the provider in the root view. Users of other policies have an empty one.', async () => {
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

  it('requires the configured header scheme, in any case.', async () => {
    await start({ header_type: 'Bearer+OIDC' });
    expect(await ask('t', 'bearer+oidc')).toBe('main:ann');
    expect(await ask('t', 'Bearer')).toBeUndefined();
    const { headers } = await service!.request('POST', '/v1/buckets', { body: {} });
    expect(headers['www-authenticate']).toBe('Bearer+OIDC realm="Realm"');
  });
});

describe('the cache of tokens', () => {
  it('stores a valid token until it expires.', async () => {
    await start({ verification_ttl_seconds: '60' });
    expect([await ask('t'), await ask('t'), provider.count('/me')]).toEqual(['main:ann', 'main:ann', 1]);
    now += 40_000;
    expect([await ask('t'), provider.count('/me')]).toEqual(['main:ann', 1]);
    // Use does not extend it: a revoked token works for a minute at most.
    provider.answers.set('/me', respond(401, {}));
    now += 21_000;
    expect([await ask('t'), provider.count('/me')]).toEqual([undefined, 2]);
  });

  it('does not store refusals.', async () => {
    await start();
    provider.answers.set('/me', respond(401, {}));
    expect(await ask('t')).toBeUndefined();
    provider.answers.set('/me', { sub: 'ann' });
    expect(await ask('t')).toBe('main:ann');
  });

  it('sends one request for concurrent requests with the same token.', async () => {
    await start();
    expect(await Promise.all(Array.from({ length: 10 }, () => ask('t')))).toEqual(Array(10).fill('main:ann'));
    expect(provider.count('/me')).toBe(1);
  });

  it('distinguishes tokens with a common prefix.', async () => {
    await start();
    provider.answers.set('/me', (request, response) => {
      respond(200, { sub: request.headers.authorization!.slice(-1) })(request, response);
    });
    const long = 'x'.repeat(5000);
    expect([await ask(`${long}a`), await ask(`${long}b`)]).toEqual(['main:a', 'main:b']);
  });

  it('leaks neither tokens nor data to derive them from into the log.', async () => {
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

describe('a failing provider', () => {
  it.each<readonly [string, Answer]>([
    ['is broken', respond(500, {})],
    ['is overloaded', respond(429, {})],
    ['redirects', redirect],
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
  ])('that %s causes 503 within the timeout, and no user.', async (_what, answer) => {
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

  it('delays a batch with many tokens once.', async () => {
    await start();
    provider.answers.set('/me', hang);
    const requests = Array.from({ length: 20 }, (_, n) => ({ path: '/', headers: { Authorization: `Bearer t${n}` } }));
    const { status } = await service!.request('POST', '/v1/batch', { body: { requests } });
    expect(status).toBe(503);
    expect(provider.count('/me')).toBe(1);
  });

  it('does not affect users of others.', async () => {
    await start({}, { settings: { 'multiauth.policies': 'main basicauth' } });
    provider.answers.set('/me', hang);
    const { body } = await service!.request('GET', '/v1/', { auth: 'bob' });
    expect(body).toMatchObject({ user: { id: expect.stringMatching(/^basicauth:/) as string } });
    expect((await service!.request('GET', '/v1/')).status).toBe(200);
  });

  it('gets a limited number of concurrent calls.', async () => {
    await start({ max_concurrent_calls: '2', timeout_seconds: '30' });
    const { pending } = holdAnswers();
    const answers = ['a', 'b', 'c', 'd', 'e'].map((token) => ask(token));
    // Two calls, and two that wait.
    await refusedRequests(answers, 1);
    expect(pending.length).toBeLessThanOrEqual(2);
    release(pending);
    expect(countValues(await Promise.all(answers))).toEqual({ 'main:ann': 4, 503: 1 });
  });

  it('is called in turns for clients, when one sends more tokens than calls are allowed.', async () => {
    const options = { settings: { trusted_proxies: '127.0.0.1' } };
    await start({ max_concurrent_calls: '2', timeout_seconds: '30' }, options);
    const from = async (address: string, token: string): Promise<number> => {
      const headers = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': address };
      return (await service!.request('GET', '/v1/buckets', { headers })).status;
    };
    const { pending, arrived } = holdAnswers();
    const flood = ['a', 'b', 'c', 'd', 'e'].map((token) => from('198.51.100.1', token));
    await refusedRequests(flood, 1);
    const other = from('192.0.2.1', 'other');
    // It takes the place of a call that waits. Without turns it would be refused itself.
    await Promise.race([refusedRequests(flood, 2), other]);
    await arrived(2);
    pending.shift()!();
    await arrived(3);
    expect(provider.requests.findLast(({ path }) => path === '/me')?.authorization).toBe('Bearer other');
    release(pending);
    expect(await other).toBe(200);
    expect(countValues(await Promise.all(flood))).toEqual({ 200: 3, 503: 2 });
  });

  it('that is down at start is called again when needed.', async () => {
    const document = '/.well-known/openid-configuration';
    provider.answers.set(document, respond(503, {}));
    const lines: unknown[] = [];
    const write = (...line: unknown[]): void => void lines.push(line);
    await start({}, { logger: { debug: write, info: write, warn: write, error: write } });
    expect(JSON.stringify(lines)).toContain('does not respond');
    expect(await ask('t')).toBe(503);
    expect(
      (await service!.request('GET', '/v1/openid/main/login?callback=http://localhost/&scope=openid')).status,
    ).toBe(503);
    expect((await service!.request('GET', '/v1/')).body).toMatchObject({
      capabilities: { openid: { providers: [{ name: 'main', userinfo_endpoint: null }] } },
    });
    // A failure is cached for a short time.
    expect(provider.count(document)).toBe(1);
    provider.answers.set(document, provider.metadata({ issuer: 'https://evil.example' }));
    now += 1001;
    for (let n = 0; n < 5; n++) expect(await ask(`u${n}`)).toBe(503);
    expect(provider.count(document)).toBe(2);
    provider.answers.set(document, provider.metadata());
    now += 1001;
    expect(await ask('t')).toBe('main:ann');
  });

  it.each<readonly [string, Answer]>([
    ['without end', flow],
    ['that is too long', respond(200, ' '.repeat(300_000))],
    ['elsewhere', redirect],
    ['that never arrives', hang],
  ])('with a description %s causes 503 for its users only.', async (_what, answer) => {
    provider.answers.set('/.well-known/openid-configuration', answer);
    await start({}, { settings: { 'multiauth.policies': 'main basicauth' } });
    expect(await ask('t')).toBe(503);
    expect((await service!.request('GET', '/v1/', { auth: 'bob' })).status).toBe(200);
    expect(provider.count('/elsewhere')).toBe(0);
  });

  it('that hangs at start does not prevent the start.', async () => {
    provider.answers.set('/.well-known/openid-configuration', hang);
    await start();
    expect((await service!.request('GET', '/v1/')).status).toBe(200);
  });
});

describe('an invalid configuration', () => {
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
  ])('with a provider that %s is reported at start.', async (_what, parameters, message) => {
    await expect(start(parameters)).rejects.toThrow(message);
  });

  it.each<readonly [string, Readonly<Record<string, undefined | string>>, RegExp]>([
    ['names another issuer', { issuer: 'https://evil.example' }, /describes the issuer "https:\/\/evil\.example"/],
    ['has no login', { authorization_endpoint: undefined }, /no usable authorization_endpoint/],
    ['has no TLS', { userinfo_endpoint: 'http://id.example.org/me' }, /no usable userinfo_endpoint/],
    ['reads files', { token_endpoint: 'file:///etc/passwd' }, /no usable token_endpoint/],
    ['has no keys', { jwks_uri: undefined }, /no usable jwks_uri/],
  ])('is reported at start if the metadata of the provider %s.', async (_what, changes, message) => {
    provider.answers.set('/.well-known/openid-configuration', provider.metadata(changes));
    await expect(start({ audience })).rejects.toThrow(message);
  });

  it.each([
    ['token_endpoint', 'http://127.0.0.1:6379/'],
    ['userinfo_endpoint', 'http://localhost:9200/_all'],
    ['jwks_uri', 'http://[::1]:2375/containers/json'],
  ])('is reported at start if a provider on another machine names this one as its %s.', async (name, address) => {
    const issuer = 'https://id.example.org';
    const local = Object.entries(provider.metadata({ issuer }));
    const remote = Object.fromEntries(local.map(([member, url]) => [member, url?.replace(provider.issuer, issuer)]));
    const fetched = vi.spyOn(globalThis, 'fetch');
    onTestFinished(() => fetched.mockRestore());
    fetched.mockResolvedValue(Response.json({ ...remote, [name]: address }));
    await expect(start({ audience, issuer })).rejects.toThrow(
      `no usable ${name}: expected a URL that starts with https`,
    );
    fetched.mockResolvedValue(Response.json({ ...remote, [name]: address }));
    await start({ audience, issuer, allow_http: 'true' });
  });

  it('ignores a trailing slash of the issuer, but tokens must match the provider exactly.', async () => {
    provider.answers.set('/.well-known/openid-configuration', provider.metadata({ issuer: `${provider.issuer}/` }));
    await start({ audience });
    expect(await ask(await sign(claims({ iss: `${provider.issuer}/` }), key))).toBe('main:ann');
    expect(await ask(await sign(claims(), key))).toBeUndefined();
  });

  it('with a misspelt parameter logs a warning.', async () => {
    const lines: unknown[] = [];
    const write = (...line: unknown[]): void => void lines.push(line);
    await start({ audiance: audience }, { logger: { debug: write, info: write, warn: write, error: write } });
    expect(JSON.stringify(lines)).toContain('multiauth.policy.main.audiance');
  });

  it('refuses policies that would share user ids.', async () => {
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
  it('use the first that accepts a token, and distinguish users with the same name.', async () => {
    expect(await ask('t')).toBe('main:ann');
    provider.answers.set('/me', respond(401, {}));
    expect(await ask('u')).toBe('second:ann');
  });

  it('do not receive tokens of another issuer.', async () => {
    expect(await ask(await sign(claims({ iss: second.issuer }), key))).toBe('second:ann');
    expect(provider.count('/me')).toBe(0);
  });

  it('fail independently of each other.', async () => {
    provider.answers.set('/me', respond(500, {}));
    expect(await ask('t')).toBe('second:ann');
    second.answers.set('/me', respond(401, {}));
    expect(await ask('u')).toBe(503);
  });
});

describe('a real provider', () => {
  it('issues tokens that are valid until it rotates its keys or they expire.', async () => {
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

  it('identifies the user of an opaque token, and refuses unknown ones.', async () => {
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
