// Cache headers, redirects and empty responses of the plugin `changes`, for clients behind caches.
import { expect, it, onTestFinished } from 'vitest';
import type { TestClient, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

const list = '/v1/buckets/monitor/collections/changes/records';
const ofList = '/v1/buckets/monitor/collections/changes/changeset';
const changeset = (collection: string): string => `/v1/buckets/${collection.replace('/', '/collections/')}/changeset`;
const uncached = 'no-cache, no-store';

const lifetimes = {
  'main.c.record_cache_expires_seconds': '1234',
  'main.c.record_cache_minimum_expires_seconds': '42',
  'main.c.record_cache_maximum_expires_seconds': '3600',
  'main.plain.record_cache_expires_seconds': '20',
  'main.off.record_cache_expires_seconds': '0',
  'main.record_cache_expires_seconds': '360',
};

forEachBackend((backend) => {
  const open = async (
    settings: Readonly<Record<string, string>> = {},
  ): Promise<{ service: TestService; alice: TestClient }> => {
    const service = await backend.start({
      settings: { includes: 'changes', 'changes.resources': '/buckets/main', ...settings },
    });
    onTestFinished(() => service.close());
    const alice = service.asUser('alice');
    const permissions = { read: ['system.Everyone'] };
    for (const bucket of ['main', 'other']) {
      await alice.request('PUT', `/v1/buckets/${bucket}`, { body: { permissions } });
      for (const id of ['c', 'plain', 'off', 'unset']) {
        await alice.request('PUT', `/v1/buckets/${bucket}/collections/${id}`);
      }
    }
    return { service, alice };
  };

  it(`an old timestamp returns the tombstones of a collection on ${backend.name}.`, async () => {
    const { service, alice } = await open({ 'changes.since_max_age_days': '1' });
    const records = '/v1/buckets/main/collections/c/records';
    await alice.request('PUT', `${records}/a`);
    await alice.request('PUT', `${records}/b`);
    await alice.request('DELETE', `${records}/a`);
    for (const since of ['42', '"42"', '0']) {
      const answer = await service.request('GET', `${changeset('main/c')}?_expected=1&_since=${since}`);
      expect(answer).toMatchObject({ status: 200, body: { changes: [{ id: 'a', deleted: true }, { id: 'b' }] } });
    }
    // No late notification either: `_expected` of a collection is any text.
    expect((await service.request('GET', `${changeset('main/c')}?_expected=42&_since=43`)).status).toBe(200);
  });

  it(`the list of changes redirects old timestamps, after late notifications, on ${backend.name}.`, async () => {
    const { service, alice } = await open({ 'changes.since_max_age_days': '1', http_host: 'www.example.org' });
    await alice.request('PUT', '/v1/buckets/main/collections/c/records/a');
    for (const path of [list, ofList]) {
      const query = (text: string): ReturnType<TestService['request']> => service.request('GET', `${path}?${text}`);
      for (const late of ['_expected=42&_since="43"', '_expected="42"&_since=43']) {
        expect(await query(late)).toMatchObject({ status: 204, text: '' });
      }
      for (const since of ['42', '41']) {
        const old = await query(`_expected=42&_since="${since}"`);
        expect([old.status, old.headers['location'], old.headers['cache-control']]).toEqual([
          307,
          `http://www.example.org${path}?_expected=42`,
          'max-age=86400',
        ]);
      }
    }
  });

  it(`redirects to another host have the scheme of the settings, or https, on ${backend.name}.`, async () => {
    const old = `${ofList}?_expected=42&_since=1`;
    for (const [settings, scheme] of [
      [{}, 'https'],
      [{ http_scheme: 'http' }, 'http'],
    ] as const) {
      const { service } = await open({ 'changes.http_host': 'cdn.example.org', ...settings });
      const { headers } = await service.request('GET', old);
      expect(headers['location']).toBe(`${scheme}://cdn.example.org${ofList}?_expected=42`);
    }
    const trusting = { trusted_proxies: '127.0.0.1', 'changes.since_max_age_redirect_ttl_seconds': '-1' };
    const { service } = await open(trusting);
    const forwarded = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'www.example.org' };
    const { status, headers } = await service.request('GET', old, { headers: forwarded });
    expect([status, headers['location']]).toEqual([307, `https://www.example.org${ofList}?_expected=42`]);
    expect([headers['cache-control'], headers['expires']]).toEqual([undefined, undefined]);
  });

  it(`the most specific cache lifetime applies to a changeset on ${backend.name}.`, async () => {
    const { service, alice } = await open({ ...lifetimes, record_cache_expires_seconds: '180' });
    const caching = async (target: string): Promise<string | undefined> => {
      const { status, headers } = await service.request('GET', target);
      expect(status).toBe(200);
      return headers['cache-control'];
    };
    const expected = async (collection: string, value: string): Promise<string | undefined> =>
      caching(`${changeset(collection)}?_expected=${value}`);
    expect(await expected('main/c', '1773913097658')).toBe('max-age=3600');
    expect(await expected('main/c', '"1773913097658"')).toBe('max-age=3600');
    for (const bypass of ['0', '"0"', '9999', '99999996565']) {
      expect([bypass, await expected('main/c', bypass)]).toEqual([bypass, 'max-age=42']);
    }
    for (const value of ['0', '1773913097658']) {
      expect(await expected('main/plain', value)).toBe('max-age=20');
      expect(await expected('main/off', value)).toBe('max-age=0, must-revalidate, no-cache, no-store');
      expect(await expected('main/unset', value)).toBe('max-age=360');
      expect(await expected('other/c', value)).toBe('max-age=180');
      expect(await expected('monitor/changes', value)).toBe('max-age=180');
    }
    expect(await caching(list)).toBe('max-age=180');
    const own = await alice.request('GET', `${changeset('main/c')}?_expected=1`);
    expect(own.headers['cache-control']).toBe('private, max-age=3600');
  });

  it(`changesets are not cached without a setting, or if that of all records is 0, on ${backend.name}.`, async () => {
    for (const settings of [{}, { record_cache_expires_seconds: '0' }]) {
      const { service } = await open(settings);
      for (const target of [changeset('main/c'), ofList]) {
        const { headers } = await service.request('GET', `${target}?_expected=1`);
        expect(headers['cache-control']).toBe(uncached);
      }
    }
  });
});
