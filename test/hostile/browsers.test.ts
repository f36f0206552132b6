// S21: what pages of other sites can make a browser do. S23: what caches between a browser and the service may keep.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startTestService, type TestRequest, type TestResponse, type TestService } from '../../src/testing/index.ts';

const elsewhere = 'https://elsewhere.example';

async function start(settings: Readonly<Record<string, string>>): Promise<TestService> {
  const service = await startTestService({ settings });
  onTestFinished(() => service.close());
  return service;
}

describe('Pages of other sites (S21)', () => {
  it('may read what the list of origins allows, letter by letter, and never with credentials of the browser.', async () => {
    const service = await start({ cors_origins: 'https://app.example https://*.apps.example' });
    const ask = async (origin: string): Promise<TestResponse> =>
      service.request('GET', '/v1/', { auth: 'ann', headers: { Origin: origin } });
    for (const origin of ['https://app.example', 'https://a.apps.example']) {
      const { status, headers } = await ask(origin);
      expect([status, headers['access-control-allow-origin']]).toEqual([200, origin]);
      expect(headers['access-control-allow-credentials']).toBeUndefined();
    }
    const others = [
      'null',
      'http://app.example',
      'https://app.example:8443',
      'https://app.example.evil.example',
      'https://evil-app.example',
      'https://appXexample',
      'https://APP.example',
      'https://apps.example',
      'https://a.apps.example.evil.example',
      '*',
      '',
    ];
    for (const origin of others) {
      const { status, headers } = await ask(origin);
      expect([origin, status, headers['access-control-allow-origin']]).toEqual([origin, 400, undefined]);
    }
  });

  it('that are not on the list cannot change anything either, with or without asking first.', async () => {
    const service = await start({ cors_origins: 'https://app.example' });
    const headers = { Origin: elsewhere };
    const put = await service.request('PUT', '/v1/buckets/forged', { auth: 'ann', headers, body: { data: {} } });
    expect(put.status).toBe(400);
    const preflight = { ...headers, 'Access-Control-Request-Method': 'PUT' };
    const asked = await service.request('OPTIONS', '/v1/buckets/forged', { headers: preflight });
    expect([asked.status, asked.headers['access-control-allow-origin']]).toEqual([400, undefined]);
    expect((await service.request('GET', '/v1/buckets/forged', { auth: 'ann' })).status).toBe(403);
  });

  describe('with the credentials that a browser keeps, where all origins are allowed,', () => {
    let service: TestService;
    const json = JSON.stringify({ data: { id: 'forged' } });
    const unasked = { Origin: elsewhere, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' };

    beforeAll(async () => {
      service = await startTestService({
        settings: { includes: 'flush attachments', 'attachment.base_path': '/nowhere' },
      });
    });
    afterAll(() => service.close());

    it.each<readonly [string, TestRequest, number]>([
      ['text', { raw: json, headers: { Origin: elsewhere, 'Content-Type': 'text/plain' } }, 415],
      [
        'forms',
        { raw: json, headers: { Origin: elsewhere, 'Content-Type': 'application/x-www-form-urlencoded' } },
        415,
      ],
      [
        'forms with files',
        { raw: json, headers: { Origin: elsewhere, 'Content-Type': 'multipart/form-data; boundary=x' } },
        415,
      ],
      ['something of no type', { raw: json, headers: { Origin: elsewhere } }, 415],
      ['what browsers send unasked', { body: JSON.parse(json), headers: unasked }, 403],
      [
        'what forms of neighbours send',
        {
          body: JSON.parse(json),
          headers: { ...unasked, 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'navigate' },
        },
        403,
      ],
    ])('cannot create anything by %s.', async (_, sent, status) => {
      expect((await service.request('POST', '/v1/buckets', { auth: 'ann', ...sent })).status).toBe(status);
      expect((await service.request('GET', '/v1/buckets/forged', { auth: 'ann' })).status).toBe(403);
    });

    it('cannot empty the service of a developer who looks at them.', async () => {
      await service.request('PUT', '/v1/buckets/mine', { auth: 'ann' });
      for (const mode of ['no-cors', 'cors', 'navigate']) {
        const headers = { Origin: elsewhere, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': mode };
        expect((await service.request('POST', '/v1/__flush__', { headers })).status).toBe(403);
      }
      expect((await service.request('GET', '/v1/buckets/mine', { auth: 'ann' })).status).toBe(200);
      expect((await service.request('POST', '/v1/__flush__')).status).toBe(202);
    });

    it('can send what they asked for, and programs of one’s own site what they like.', async () => {
      const asked = { Origin: elsewhere, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' };
      const put = (headers: TestRequest['headers']): Promise<TestResponse> =>
        service.request('PUT', '/v1/buckets/fine', { auth: 'ann', body: { data: {} }, ...(headers && { headers }) });
      expect((await put(asked)).status).toBeLessThan(300);
      const own = { Origin: service.origin, 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'no-cors' };
      expect((await put(own)).status).toBe(200);
      expect((await put(undefined)).status).toBe(200);
      const read = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
      expect((await service.request('GET', '/v1/', { headers: read })).status).toBe(200);
    });
  });

  it('find no cookie, and are given none.', async () => {
    const service = await start({ includes: 'default_bucket admin' });
    for (const path of ['/v1/', '/v1/buckets/default', '/v1/admin/', '/v1/nowhere']) {
      const { headers } = await service.request('GET', path, { auth: 'ann' });
      expect(headers['set-cookie']).toBeUndefined();
    }
  });
});

describe('Caches on the way (S23)', () => {
  const settings = {
    includes: 'default_bucket history counters changes admin',
    experimental_permissions_endpoint: 'true',
    bucket_cache_expires_seconds: '60',
    collection_cache_expires_seconds: '60',
    record_cache_expires_seconds: '60',
    cors_origins: 'https://app.example',
  };
  const open = { permissions: { read: ['system.Everyone'] } };
  const readable = [
    'b',
    'b/collections',
    'b/collections/c',
    'b/collections/c/records',
    'b/collections/c/records/r',
  ].map((path) => `/v1/buckets/${path}`);
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({ settings });
    const ann = service.asUser('ann');
    await ann.request('PUT', '/v1/buckets/b', { body: open });
    await ann.request('PUT', '/v1/buckets/b/collections/c');
    await ann.request('PUT', '/v1/buckets/b/collections/c/records/r');
  });
  afterAll(() => service.close());

  it('keep nothing of what is said to callers with credentials, errors included.', async () => {
    const others = ['', 'buckets', 'permissions', 'buckets/default', 'buckets/b/history', '__counters__', 'nowhere'];
    const refused = ['buckets/x', 'buckets/b/groups/x', 'buckets?_since=x', 'openapi.json', '__api__', 'batch'];
    for (const path of [...readable, ...[...others, ...refused].map((name) => `/v1/${name}`)]) {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await service.request(method, path, { auth: 'ann' });
        expect([method, path, status, headers['cache-control']]).toEqual([method, path, status, 'no-cache, no-store']);
      }
    }
  });

  it('know that what they may keep depends on credentials and on the origin.', async () => {
    for (const path of readable) {
      for (const headers of [{}, { Origin: 'https://app.example' }]) {
        const answer = await service.request('GET', path, { headers });
        expect(answer).toMatchObject({ status: 200, headers: { 'cache-control': 'max-age=60' } });
        expect(answer.headers['vary']).toBe('Authorization, Origin');
        const etag = answer.headers['etag']!;
        const same = await service.request('GET', path, { headers: { ...headers, 'If-None-Match': etag } });
        expect([same.status, same.headers['vary']]).toEqual([304, 'Authorization, Origin']);
      }
    }
  });

  it('store changesets of collections without public access for their readers only.', async () => {
    const signed = await start({
      includes: 'changes',
      'changes.resources': '/buckets/b/collections/c /buckets/b/collections/open',
      'b.c.record_cache_maximum_expires_seconds': '60',
      'b.open.record_cache_maximum_expires_seconds': '60',
    });
    const ann = signed.asUser('ann');
    await ann.request('PUT', '/v1/buckets/b');
    await ann.request('PUT', '/v1/buckets/b/collections/c');
    await ann.request('PUT', '/v1/buckets/b/collections/open', { body: open });
    const changeset = (name: string): string => `/v1/buckets/b/collections/${name}/changeset?_expected=1`;
    const hers = await ann.request('GET', changeset('c'));
    expect([hers.status, hers.headers['cache-control']]).toEqual([200, 'private, max-age=60']);
    expect((await signed.request('GET', changeset('c'))).status).toBe(401);
    const publicly = await signed.request('GET', changeset('open'));
    expect([publicly.status, publicly.headers['cache-control']]).toEqual([200, 'max-age=60']);
  });

  it('store the root view of a read-only service for its caller only.', async () => {
    const frozen = await start({ readonly: 'true' });
    const anonymous = await frozen.request('GET', '/v1/');
    expect(anonymous.headers).toMatchObject({ 'cache-control': 'max-age=86400', vary: 'Authorization' });
    const { body, headers } = await frozen.request('GET', '/v1/', { auth: 'ann' });
    expect(body).toMatchObject({ user: { id: expect.stringMatching(/^basicauth:/) as unknown } });
    expect(headers['cache-control']).toBe('private, max-age=86400');
  });

  it('do not store addresses from headers of strangers.', async () => {
    const evil = { Host: 'api.example', 'X-Forwarded-Host': 'evil.example', Forwarded: 'host=evil.example' };
    const sent = {
      ...evil,
      'X-Forwarded-Proto': 'javascript',
      'X-Forwarded-Prefix': '/evil',
      'X-Original-URL': '/evil',
    };
    await service.asUser('ann').request('PUT', '/v1/buckets/b/collections/c/records/s');
    const page = await service.request('GET', '/v1/buckets/b/collections/c/records?_limit=1', { headers: sent });
    expect(page.headers['next-page']).toMatch(/^http:\/\/api\.example\/v1\//);
    for (const path of ['/v1/', '/buckets', '/v1/buckets/b/', '/v1/openapi.json']) {
      const { headers, text } = await service.request('GET', path, { headers: sent });
      expect(JSON.stringify(headers) + text).not.toContain('evil');
    }
    const fixed = await start({ http_host: 'fixed.example', http_scheme: 'https' });
    const { body } = await fixed.request('GET', '/v1/', { headers: sent });
    expect(body).toMatchObject({ url: 'https://fixed.example/v1/' });
  });
});

describe('Headers for browsers', () => {
  it('forbid to guess types, to frame and to load anything, in every answer.', async () => {
    const service = await start({});
    for (const [method, path] of [
      ['GET', '/v1/'],
      ['GET', '/nowhere'],
      ['PUT', '/v1/buckets/b'],
      ['GET', '/v1/%ff'],
    ]) {
      const { headers } = await service.request(method!, path!);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none';",
      });
      expect(Object.keys(headers).filter((name) => name === 'server' || name === 'x-powered-by')).toEqual([]);
    }
  });

  it('ask for https alone where that is set, and only in answers that came by it.', async () => {
    const service = await start({ hsts_max_age_seconds: '31536000', trusted_proxies: 'loopback' });
    const ask = async (headers: Readonly<Record<string, string>>): Promise<string | undefined> =>
      (await service.request('GET', '/v1/', { headers })).headers['strict-transport-security'];
    expect(await ask({})).toBeUndefined();
    expect(await ask({ 'X-Forwarded-Proto': 'https' })).toBe('max-age=31536000');
    const unset = await start({ http_scheme: 'https' });
    expect((await unset.request('GET', '/v1/')).headers['strict-transport-security']).toBeUndefined();
  });
});
