// S34: what pages of foreign sites and DNS rebinding can do to a service that runs on the machine of the user.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createService } from '../../src/app/service.ts';
import { compileAllowedHosts } from '../../src/http/allowed-hosts.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import { profileValues } from '../../src/settings/profile.ts';
import { authorizationOf, startTestService, type TestRequest, type TestService } from '../../src/testing/index.ts';
import { allBackends } from '../support/backends.ts';
import { problemsOf } from '../settings/helpers.ts';
import { exchangeBytes } from './exchange.ts';

const { allowed_hosts, cors_origins, includes, bucket_create_principals } = profileValues as Record<string, string>;
/** What the profile says about browsers; the backends are those of the test. */
const profile = {
  allowed_hosts: allowed_hosts!,
  cors_origins: cors_origins!,
  includes: includes!,
  bucket_create_principals: bucket_create_principals!,
};

async function start(settings: Readonly<Record<string, string>>): Promise<TestService> {
  const service = await startTestService({ settings });
  onTestFinished(() => service.close());
  return service;
}

/** Statuses of requests that give these hosts, sent byte by byte. */
async function statusesFor(
  { origin }: { readonly origin: string },
  hosts: readonly string[],
  more = '',
): Promise<readonly (readonly [string, number | undefined])[]> {
  const found = [];
  for (const host of hosts) {
    const { statuses } = await exchangeBytes(origin, `GET /v1/ HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`);
    found.push([host, statuses[0]] as const);
  }
  return found;
}

const all = (hosts: readonly string[], status: number): readonly (readonly [string, number])[] =>
  hosts.map((host) => [host, status] as const);

describe('The host that a request names (S34)', () => {
  const ofThisMachine = [
    'localhost',
    'LOCALHOST:8888',
    'localhost.',
    'app.localhost:1',
    '127.0.0.1',
    '127.0.0.1.',
    '127.1.2.3:80',
    '127.1',
    '[::1]',
    '[::1]:8888',
    '[0:0:0:0:0:0:0:1]:8888',
  ];
  const foreign = [
    'evil.test',
    'evil.test:8888',
    'localhost.evil.test',
    'evil.localhost.test',
    'evillocalhost',
    '127.0.0.1.evil.test',
    '128.0.0.1',
    '0.0.0.0:8888',
    '192.168.1.7',
    '[::]',
    '[::2]',
    '[fe80::1]',
    '::1',
    '%6cocalhost',
    'localhost:99999',
    ':8888',
    '.',
  ];

  it('is accepted by the profile when it is a name of this machine, in any spelling, and gets 421 otherwise.', async () => {
    const service = await start(profile);
    expect(await statusesFor(service, ofThisMachine)).toEqual(all(ofThisMachine, 200));
    expect(await statusesFor(service, foreign)).toEqual(all(foreign, 421));
  });

  it('is answered with the standard error body, which names the setting.', async () => {
    const service = await start(profile);
    const answer = await service.request('GET', '/v1/', { headers: { Host: 'evil.test' } });
    expect(answer.status).toBe(421);
    expect(answer.body).toMatchObject({
      code: 421,
      errno: 107,
      error: 'Misdirected Request',
      message:
        'The host evil.test is not accepted as a name of this service; the setting allowed_hosts (SVC_ALLOWED_HOSTS) accepts more names.',
      details: [{ location: 'header', name: 'Host' }],
    });
    expect((await service.request('GET', '/v1/', { headers: { Host: `${'x'.repeat(5000)}.test` } })).text).toHaveLength(
      JSON.stringify(answer.body).length + 2 * (100 - 'evil.test'.length),
    );
  });

  it('of an absolute target goes before the header.', async () => {
    const { origin } = await start({ ...profile, allowed_hosts: 'loopback api.example.org' });
    const ask = async (target: string, host: string): Promise<readonly number[]> =>
      (await exchangeBytes(origin, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).statuses;
    expect(await ask('http://evil.test/v1/', 'localhost')).toEqual([421]);
    expect(await ask('http://evil.test', 'localhost')).toEqual([421]);
    expect(await ask('HTTP://Evil.Test:80/v1/', 'localhost')).toEqual([421]);
    expect(await ask('http://localhost@evil.test/v1/', 'localhost')).toEqual([421]);
    expect(await ask('http://evil.test@localhost/v1/', 'evil.test')).toEqual([200]);
    expect(await ask('http://a@localhost@evil.test/v1/', 'localhost')).toEqual([421]);
    expect(await ask('http://localhost/v1/', 'evil.test')).toEqual([200]);
    const { text } = await exchangeBytes(origin, 'GET http://api.example.org/v1/ HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(text).toContain('"url":"http://api.example.org/v1/"');
  });

  it('may be missing in requests of old clients, which get the address that they reached.', async () => {
    const { origin } = await start(profile);
    expect((await exchangeBytes(origin, 'GET /v1/ HTTP/1.0\r\n\r\n')).statuses).toEqual([200]);
    expect((await exchangeBytes(origin, 'GET /v1/ HTTP/1.1\r\nHost:\r\n\r\n')).statuses).toEqual([200]);
  });

  it('counts when a trusted proxy forwards it, besides the one that the proxy itself names.', async () => {
    const trusting = await start({
      ...profile,
      trusted_proxies: 'loopback',
      allowed_hosts: 'loopback api.example.org',
    });
    const forwarded = (host: string): string => `X-Forwarded-Host: ${host}\r\n`;
    const ask = async (host: string, more: string): Promise<number | undefined> =>
      (await statusesFor(trusting, [host], more))[0]![1];
    expect(await ask('localhost', forwarded('api.example.org'))).toBe(200);
    expect(await ask('localhost', forwarded('evil.test'))).toBe(421);
    expect(await ask('localhost', 'Forwarded: host=evil.test\r\n')).toBe(421);
    // A page that has rebound its name may send the header as well, from the machine of the proxy.
    expect(await ask('evil.test', forwarded('api.example.org'))).toBe(421);
    const doubting = await start(profile);
    expect((await statusesFor(doubting, ['localhost'], forwarded('evil.test')))[0]).toEqual(['localhost', 200]);
  });

  it('is accepted when the settings hold it: by name, below a name, as an address, and as the own address.', async () => {
    const service = await start({
      allowed_hosts: 'Api.Example.org. *.apps.example.org 192.168.1.7 [2001:db8:0:0::1] fd00::2',
      http_host: 'public.example.org:8443',
    });
    const accepted = [
      'api.example.org',
      'api.example.org:8888',
      'a.apps.example.org',
      'a.b.apps.example.org',
      '192.168.1.7:8888',
      '[2001:db8::1]',
      '[FD00::2]',
      'public.example.org',
      // It listens there.
      '127.0.0.1',
    ];
    const refused = ['localhost', 'apps.example.org', 'evilapps.example.org', 'example.org', 'xapi.example.org'];
    expect(await statusesFor(service, accepted)).toEqual(all(accepted, 200));
    expect(await statusesFor(service, refused)).toEqual(all(refused, 421));
  });

  it('is any unless a setting says otherwise, as deployments expect.', async () => {
    const service = await start({});
    expect(await statusesFor(service, ['evil.test', '192.168.1.7'])).toEqual(all(['evil.test', '192.168.1.7'], 200));
  });

  it('does not matter to load balancers that ask whether the process is alive.', async () => {
    const service = await start(profile);
    const headers = { Host: '10.0.0.5:8888' };
    for (const path of ['/__lbheartbeat__', '/v1/__lbheartbeat__', '/v1/__lbheartbeat__?x']) {
      expect((await service.request('GET', path, { headers })).status).toBe(200);
    }
    for (const path of ['/__heartbeat__', '/v1/__version__', '/v1/__lbheartbeat__/', '/v1/x?/__lbheartbeat__']) {
      expect((await service.request('GET', path, { headers })).status).toBe(421);
    }
  });

  it('counts on the port of operators as well.', async () => {
    const settings = settingsOf({ ...profile, userid_hmac_secret: 'x', http_port: '0', admin_port: '0' });
    const nothing = (): void => undefined;
    const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
    const service = await createService({ settings, logger });
    onTestFinished(() => service.close());
    await service.listen();
    const { origin } = new URL(service.adminUrl!);
    expect(await statusesFor({ origin }, ['evil.test', '127.0.0.1'])).toEqual([
      ['evil.test', 421],
      ['127.0.0.1', 200],
    ]);
  });

  it('is checked in the settings: no ports, no schemes, no half of a pattern.', () => {
    for (const wrong of ['localhost:8888', 'http://a.example', 'a*.example', '*.', '[::1]:80', 'a..b', '10.0.0.0/8']) {
      expect(problemsOf(() => settingsOf({ allowed_hosts: wrong, userid_hmac_secret: 'x' })).message).toContain(
        'allowed_hosts',
      );
    }
    expect(compileAllowedHosts(['loopback', '*'], [])).toBeUndefined();
    expect(compileAllowedHosts([], [])!('localhost')).toBe(false);
  });
});

describe.each(allBackends)('Pages of foreign sites and a service with the profile on $name (S34)', (backend) => {
  let service: TestService;
  const record = '/v1/buckets/default/collections/notes/records/1';
  const own = { data: { text: 'mine' } };

  beforeAll(async () => {
    service = await backend.start({ settings: { ...profile, includes: 'default_bucket flush' } });
    await service.request('PUT', record, { auth: 'ann', body: own });
  });
  afterAll(() => service.close());

  const strangers = [
    'https://evil.test',
    'http://evil.test:8888',
    'null',
    'http://localhost.evil.test',
    'http://localhost:8888.evil.test',
    'http://localhost:',
    'http://localhost:1e3',
    'http://127.0.0.1@evil.test',
    'http://192.168.1.7:3000',
    'https://localhost:3000',
    'file://',
  ];

  it('cannot read an answer.', async () => {
    for (const origin of strangers) {
      const { status, headers } = await service.request('GET', record, { auth: 'ann', headers: { Origin: origin } });
      expect([origin, status, headers['access-control-allow-origin']]).toEqual([origin, 400, undefined]);
    }
  });

  it('cannot change anything, whatever they send and whichever user visits them.', async () => {
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const text = { 'Content-Type': 'text/plain' };
    const raw = JSON.stringify({ data: { text: 'theirs' } });
    const attempts: readonly (readonly [string, string, TestRequest])[] = [
      ['PUT', record, { body: { data: { text: 'theirs' } } }],
      ['PATCH', record, { body: { data: { text: 'theirs' } } }],
      ['DELETE', record, {}],
      ['POST', '/v1/buckets', { raw, headers: text }],
      ['POST', '/v1/buckets', { raw, headers: form }],
      ['POST', '/v1/buckets', { raw }],
      ['POST', '/v1/buckets', {}],
      ['POST', '/v1/buckets/default/collections/stolen/records', { body: {} }],
      ['POST', '/v1/batch', { body: { requests: [{ method: 'DELETE', path: record }] } }],
      ['POST', '/v1/__flush__', {}],
    ];
    for (const origin of strangers) {
      for (const auth of ['ann', 'never seen']) {
        for (const [method, path, sent] of attempts) {
          const headers = { ...sent.headers, Origin: origin };
          const { status } = await service.request(method, path, { auth, ...sent, headers });
          expect([origin, method, path, [400, 403, 415].includes(status) || status]).toEqual([
            origin,
            method,
            path,
            true,
          ]);
        }
      }
    }
    expect((await service.request('GET', record, { auth: 'ann' })).body).toMatchObject(own);
    const { body } = await service.request('GET', '/v1/buckets/default/collections', { auth: 'ann' });
    expect(body).toMatchObject({ data: [{ id: 'notes' }] });
    // Not even the personal bucket of a new user was created.
    const counted = await service.request('GET', '/v1/buckets', { auth: 'never seen' });
    expect(counted.body).toEqual({ data: [] });
  });

  it('get no permission to try.', async () => {
    for (const origin of strangers) {
      const headers = { Origin: origin, 'Access-Control-Request-Method': 'PUT' };
      const { status, headers: answered } = await service.request('OPTIONS', record, { headers });
      expect([origin, status, answered['access-control-allow-origin']]).toEqual([origin, 400, undefined]);
    }
  });

  it('are no hindrance to pages on other ports of this machine, which read and write.', async () => {
    const friends = ['http://localhost:3000', 'http://localhost', 'http://127.0.0.1:5173', 'http://[::1]:3000'];
    for (const [index, origin] of friends.entries()) {
      const path = `${record}-${index}`;
      const preflight = { Origin: origin, 'Access-Control-Request-Method': 'PUT' };
      const asked = await service.request('OPTIONS', path, { headers: preflight });
      expect([asked.status, asked.headers['access-control-allow-origin']]).toEqual([200, origin]);
      const headers = { Origin: origin, Authorization: authorizationOf('bob') };
      const put = await service.request('PUT', path, { headers, body: own });
      expect([put.status, put.headers['access-control-allow-origin']]).toEqual([201, origin]);
      expect((await service.request('GET', path, { headers })).body).toMatchObject(own);
    }
  });
});

describe('The origin of the service itself', () => {
  it('is allowed in addition to a list of origins if the settings name it, and otherwise only if listed.', async () => {
    const put = async (service: TestService, host: string, origin: string): Promise<number> => {
      const headers = { Host: host, Origin: origin };
      return (await service.request('PUT', '/v1/buckets/b', { auth: 'ann', headers, body: {} })).status;
    };
    const list = 'https://app.example.org';
    const named = await start({ ...profile, cors_origins: list, allowed_hosts: 'coffer.lan' });
    expect(await put(named, 'coffer.lan:8888', 'http://coffer.lan:8888')).toBe(201);
    expect(await put(named, 'coffer.lan:8888', 'http://coffer.lan')).toBe(400);
    expect(await put(named, 'evil.test', 'http://evil.test')).toBe(421);
    const unnamed = await start({ cors_origins: list });
    expect(await put(unnamed, 'evil.test', 'http://evil.test')).toBe(400);
    const fixed = await start({ cors_origins: list, http_host: 'api.example.org', http_scheme: 'https' });
    expect(await put(fixed, 'evil.test', 'http://evil.test')).toBe(400);
    expect(await put(fixed, 'api.example.org', 'https://api.example.org')).toBe(201);
  });
});
