// Nothing that clients make the service store may reset a limit on guessing, or lose or repeat a code that works once: not
// by filling the cache, not by emptying it, not by filling the security state itself, and not by a restart.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { CacheBackend } from '../../src/contracts/cache.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import { startTestService, type TestBackend, type TestResponse, type TestService } from '../../src/testing/index.ts';
import { basic, logIn, signUp, tryLogin } from '../plugins/accounts/service.ts';
import { databaseSettings, allBackends, postgresqlSettings } from '../support/backends.ts';
import { inExtent } from '../support/extent.ts';
import { startMailSink, type MailSink } from '../support/mail-sink.ts';
import { cloneDatabase } from '../support/postgresql.ts';
import { RedisProcess } from '../support/redis.ts';
import { ScriptedProvider } from '../support/scripted-provider.ts';

let provider: ScriptedProvider;

beforeAll(async () => {
  provider = await ScriptedProvider.start();
});

afterAll(() => provider.close());

const zoe = 'zoe@example.org';

function settings(more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return {
    includes: 'accounts openid changes',
    'changes.resources': '/buckets/b',
    'multiauth.policies': 'account other',
    'multiauth.policy.other.use': 'OpenIDConnectPolicy',
    'multiauth.policy.other.issuer': provider.issuer,
    'multiauth.policy.other.client_id': 'x',
    http_scheme: 'https',
    http_host: 'store.test',
    account_create_principals: 'system.Everyone',
    account_hash_cost: '10',
    account_login_failures_per_account: '3',
    account_login_failures_per_address: '1000',
    account_cache_ttl_seconds: '30',
    trusted_proxies: '127.0.0.1',
    paginate_by: '1',
    // As small as it can be: any few values evict all others.
    cache_max_size_bytes: '1024',
    ...more,
  };
}

/** A plugin by which a test empties the cache at once, as an attack may do in the long run. */
function cacheDoor(): { readonly plugin: ReturnType<typeof definePlugin>; readonly cache: () => CacheBackend } {
  let cache: CacheBackend | undefined;
  const plugin = definePlugin({
    name: 'cache-door',
    setup(host) {
      ({ cache } = host);
      return {};
    },
  });
  return { plugin, cache: () => cache! };
}

/** Sends requests to each endpoint that stores something outside of the objects, by the name of what it stores. */
const floods: Readonly<Record<string, (service: TestService, n: number) => Promise<TestResponse>>> = {
  'logins begun at a provider': (service, n) => {
    const callback = `http://localhost/${'x'.repeat(1900)}${n}`;
    const query = new URLSearchParams({ callback, scope: 'openid email' }).toString();
    return service.request('GET', `/v1/openid/other/login?${query}`);
  },
  'pages of deletions': async (service, n) => {
    const headers = { Authorization: basic('mallory@example.org', 'm') };
    for (const id of ['x', 'y']) {
      await service.request('PUT', `/v1/buckets/b/collections/c${n}/records/${id}`, { headers, body: {} });
    }
    return service.request('DELETE', `/v1/buckets/b/collections/c${n}/records`, { headers });
  },
  'refused passwords': (service, n) => tryLogin(service, `other-${n}`, `wrong ${n}`, `203.0.113.${n}`),
  'verified passwords': (service) => tryLogin(service, 'mallory@example.org', 'm', '203.0.113.77'),
  'checks of the health': (service) => service.request('GET', '/v1/__heartbeat__'),
  broadcasts: (service) => service.request('GET', '/v1/__broadcasts__'),
  'tokens of a provider': (service, n) =>
    service.request('GET', '/v1/', { headers: { Authorization: `Bearer token-${n}-${'x'.repeat(1000)}` } }),
};

async function flood(service: TestService, rounds: number): Promise<void> {
  const headers = { Authorization: basic('mallory@example.org', 'm') };
  await signUp(service, 'mallory@example.org', 'm');
  await service.request('PUT', '/v1/buckets/b', { headers, body: {} });
  for (let n = 0; n < rounds; n++) {
    await service.request('PUT', `/v1/buckets/b/collections/c${n}`, { headers, body: {} });
    for (const [what, send] of Object.entries(floods)) {
      const { status } = await send(service, n);
      expect(status, what).toBeLessThan(500);
    }
  }
}

for (const backend of allBackends) {
  describe(`security state on ${backend.name}`, () => {
    it('counts failed logins whatever clients make the cache evict', async () => {
      const door = cacheDoor();
      const service = await start(backend, { settings: settings(), plugins: [door.plugin] });
      await signUp(service, zoe, 'right');
      for (const n of [1, 2, 3]) expect(await logIn(service, zoe, `wrong ${n}`, `198.51.100.${n}`)).toBe(401);
      expect(await logIn(service, zoe, 'right', '198.51.100.9')).toBe(429);
      await flood(service, inExtent(4, 12));
      await door.cache().flush();
      expect(await logIn(service, zoe, 'right', '198.51.100.9')).toBe(429);
      expect(await logIn(service, zoe, 'wrong 4', '198.51.100.10')).toBe(429);
    });

    it('keeps codes until they are used, and lets none be used twice', async () => {
      const door = cacheDoor();
      const sink = await startMailSink();
      const more = mailSettings(sink);
      const service = await start(backend, { settings: settings(more), plugins: [door.plugin] });
      await signUp(service, zoe, 'right');
      const [activation] = await sink.received(1);
      await door.cache().flush();
      const activate = (): Promise<TestResponse> =>
        service.request('POST', `/v1/accounts/${zoe}/validate/${activation!.text}`);
      expect((await activate()).status).toBe(200);
      await door.cache().flush();
      expect((await activate()).status).toBe(403);

      await sink.received(2);
      await service.request('POST', `/v1/accounts/${zoe}/reset-password`);
      const temporary = (await sink.received(3))[2]!.text;
      await door.cache().flush();
      const reset = (password: string): Promise<TestResponse> =>
        service.request('PUT', `/v1/accounts/${zoe}`, {
          headers: { Authorization: basic(zoe, temporary) },
          body: { data: { password } },
        });
      expect((await reset('new')).status).toBe(200);
      await door.cache().flush();
      expect((await reset('newer')).status).toBe(401);
      expect(await logIn(service, zoe, 'new')).toBe(200);
    });

    it('lets the page of a deletion and the state of a login be used once, although the cache is emptied', async () => {
      const door = cacheDoor();
      const service = await start(backend, { settings: settings(), plugins: [door.plugin] });
      await signUp(service, zoe, 'right');
      const headers = { Authorization: basic(zoe, 'right') };
      const put = (below: string): Promise<TestResponse> =>
        service.request('PUT', `/v1/buckets/own${below}`, { headers, body: {} });
      for (const below of ['', '/collections/c', ...['x', 'y', 'z'].map((id) => `/collections/c/records/${id}`)]) {
        expect((await put(below)).status).toBe(201);
      }
      const first = await service.request('DELETE', '/v1/buckets/own/collections/c/records', { headers });
      await door.cache().flush();
      const next = first.headers['next-page']!.replace('https://store.test', '');
      const pages = await Promise.all([1, 2, 3].map(() => service.request('DELETE', next, { headers })));
      expect(pages.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);

      provider.answers.set('/token', { access_token: 't' });
      const begun = await floods['logins begun at a provider']!(service, 0);
      const [cookie] = begun.headers['set-cookie']!.split(';');
      const state = new URL(begun.headers['location']!).searchParams.get('state');
      await door.cache().flush();
      const end = (): Promise<TestResponse> =>
        service.request('GET', `/v1/openid/other/token?code=c&state=${state}`, { headers: { Cookie: cookie! } });
      expect((await end()).status).toBe(307);
      await door.cache().flush();
      expect((await end()).status).toBe(400);
    });

    it('refuses an address that has used up its share, and no others', async () => {
      const limits = {
        security_state_max_entries_per_requester: '10',
        account_login_failures_per_address: '0',
        account_cache_ttl_seconds: '0',
      };
      const service = await start(backend, { settings: settings(limits) });
      await signUp(service, zoe, 'right');
      for (let n = 0; n < 10; n++) expect(await logIn(service, `name-${n}`, 'x', '2001:db8::1')).toBe(401);
      const refused = await tryLogin(service, zoe, 'right', '2001:db8::2');
      expect(refused).toMatchObject({ status: 429, body: { errno: 117 } });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(await logIn(service, zoe, 'right', '2001:db8:0:1::1')).toBe(200);
      // An account that is counted already needs no entry more.
      expect(await logIn(service, 'name-0', 'y', '2001:db8::1')).toBe(401);
    });

    it('lets known addresses log in while strangers fill the state', async () => {
      const limits = {
        security_state_max_entries: '100',
        security_state_max_entries_per_requester: '10',
        account_login_failures_per_address: '0',
        account_cache_ttl_seconds: '0',
      };
      const service = await start(backend, { settings: settings(limits) });
      await signUp(service, zoe, 'right');
      expect(await logIn(service, zoe, 'right', '192.0.2.7')).toBe(200);
      for (let n = 0; n < 100; n++) {
        expect(await logIn(service, `name-${n}`, 'x', `198.51.100.${Math.floor(n / 10)}`)).toBe(401);
      }
      expect(await logIn(service, zoe, 'right', '203.0.113.1')).toBe(429);
      expect(await logIn(service, zoe, 'right', '192.0.2.7')).toBe(200);
      expect(await logIn(service, zoe, 'wrong', '192.0.2.7')).toBe(401);
      // Counters go on counting: nothing was dropped to make room.
      for (const n of [2, 3]) expect(await logIn(service, 'name-0', `x ${n}`, '203.0.113.2')).toBe(401);
      expect(await logIn(service, 'name-0', 'x 4', '203.0.113.2')).toBe(429);
    });
  });
}

describe('a restart, and another process', () => {
  const places: Readonly<Record<string, () => Promise<Readonly<Record<string, string>>>>> = {
    async sqlite() {
      const folder = mkdtempSync(path.join(tmpdir(), 'coffer-eviction-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const file = path.join(folder, 'coffer.sqlite3');
      return { storage_backend: 'sqlite', permission_backend: 'sqlite', storage_url: file, permission_url: file };
    },
    async postgresql() {
      const { url, drop } = await cloneDatabase();
      onTestFinished(drop);
      return { ...postgresqlSettings(url), cache_backend: 'memory' };
    },
    async redis() {
      const server = await RedisProcess.start();
      onTestFinished(() => server.remove());
      return { ...databaseSettings('redis', server.url), cache_backend: 'memory' };
    },
  };

  for (const [name, place] of Object.entries(places)) {
    it(`do not reset what is counted on ${name}, although each process has a cache of its own`, async () => {
      const shared = settings(await place());
      const first = await startTestService({ settings: shared });
      await signUp(first, zoe, 'right');
      for (const n of [1, 2, 3]) expect(await logIn(first, zoe, `wrong ${n}`, `198.51.100.${n}`)).toBe(401);
      if (name !== 'sqlite') {
        const second = await startTestService({ settings: shared });
        expect(await logIn(second, zoe, 'right', '198.51.100.9')).toBe(429);
        await second.close();
      }
      await first.close();
      const later = await startTestService({ settings: shared });
      onTestFinished(() => later.close());
      expect(await logIn(later, zoe, 'right', '198.51.100.9')).toBe(429);
    });
  }

  it('read-only services count failed logins as well', async () => {
    const place = await places['sqlite']!();
    const writable = await startTestService({ settings: settings(place) });
    await signUp(writable, zoe, 'right');
    await writable.close();
    const service = await startTestService({ settings: settings({ ...place, readonly: 'true' }) });
    onTestFinished(() => service.close());
    for (const n of [1, 2, 3]) expect(await logIn(service, zoe, `wrong ${n}`, `198.51.100.${n}`)).toBe(401);
    expect(await logIn(service, zoe, 'right', '198.51.100.9')).toBe(429);
  });
});

async function start(backend: TestBackend, options: Parameters<TestBackend['start']>[0]): Promise<TestService> {
  const service = await backend.start(options);
  onTestFinished(() => service.close());
  return service;
}

function mailSettings({ port }: MailSink): Readonly<Record<string, string>> {
  return { account_validation: 'true', 'mail.host': '127.0.0.1', 'mail.port': String(port) };
}
