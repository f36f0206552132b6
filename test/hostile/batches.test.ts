// S25: a batch bypasses no rule. Requests that are refused outside of a batch are refused inside, and count alike.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startTestService, type TestRequest, type TestService } from '../../src/testing/index.ts';

interface Entry {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

async function batch(
  service: TestService,
  requests: readonly Entry[],
  options: TestRequest = {},
): Promise<readonly Answer[]> {
  const { status, body, text } = await service.request('POST', '/v1/batch', { ...options, body: { requests } });
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  return (body as { responses: readonly Answer[] }).responses;
}

describe('A batch (S25)', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({ settings: { includes: 'default_bucket' } });
    await service.asUser('ann').request('PUT', '/v1/buckets/hers');
  });
  afterAll(() => service.close());

  it('answers each entry as it would be answered alone, however its path is written.', async () => {
    const paths = [
      '/buckets/hers',
      '/v1/buckets/hers',
      '/v0/buckets/hers',
      '/buckets/hers/',
      '/buckets//hers',
      '//buckets/hers',
      '/buckets/%68ers',
      '/buckets/h%65rs%00',
      '/buckets/hers;x=1',
      '/buckets/./hers',
      '/buckets/x/../hers',
      '/buckets/%2e%2e/hers',
      '/buckets%2Fhers',
      '/v1/v1/buckets/hers',
      '/Buckets/hers',
      '/buckets/hers?x=/',
      '/%ff',
    ];
    for (const auth of ['ann', 'bob']) {
      const inside = await batch(
        service,
        paths.map((path) => ({ path })),
        { auth },
      );
      for (const [index, path] of paths.entries()) {
        // A batch follows redirects of the service itself, and takes the version for granted.
        let outside = await service.request('GET', path.startsWith('/v1/') ? path : `/v1${path}`, { auth });
        for (let i = 0; outside.status === 307 && i < 3; i++) {
          const { pathname, search } = new URL(outside.headers['location']!);
          outside = await service.request('GET', pathname + search, { auth });
        }
        const isVersioned = /^\/v\d\//.test(path);
        if (!isVersioned) expect([auth, path, inside[index]!.status]).toEqual([auth, path, outside.status]);
        expect([auth, path, inside[index]!.status === 200]).toEqual([auth, path, outside.status === 200]);
        if (auth === 'bob') expect(inside[index]!.status).not.toBe(200);
      }
    }
  });

  it('knows no other method than the one that is written.', async () => {
    const headers = { 'X-HTTP-Method-Override': 'DELETE', 'X-Method-Override': 'DELETE', 'X-HTTP-Method': 'DELETE' };
    const answers = await batch(
      service,
      [
        { method: 'GET', path: '/buckets/hers?_method=DELETE', headers },
        { method: 'GET', path: '/buckets/hers', body: { _method: 'DELETE' } },
      ],
      { auth: 'ann', headers },
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect((await service.request('GET', '/v1/buckets/hers', { auth: 'ann', headers })).status).toBe(200);
    expect((await service.request('POST', '/v1/buckets/hers', { auth: 'ann', headers })).status).toBe(405);
  });

  it('gives no entry the credentials, headers or body of another one.', async () => {
    const his = `Basic ${Buffer.from('bob:secret of bob').toString('base64')}`;
    const answers = await batch(
      service,
      [
        { path: '/' },
        { path: '/', headers: { Authorization: his } },
        { path: '/' },
        { method: 'PUT', path: '/buckets/default/collections/c/records/x', body: { data: { a: 1 } } },
        { method: 'PUT', path: '/buckets/default/collections/c/records/y', headers: { 'If-None-Match': '*' } },
        { method: 'PUT', path: '/buckets/default/collections/c/records/x', body: { data: { a: 2 } } },
      ],
      { auth: 'ann' },
    );
    const users = answers.slice(0, 3).map(({ body }) => (body as { user: { id: string } }).user.id);
    expect(users[0]).toBe(users[2]);
    expect(users[1]).not.toBe(users[0]);
    expect(answers.slice(3).map(({ status }) => status)).toEqual([201, 201, 200]);
    expect(answers[4]!.body).not.toHaveProperty('data.a');
  });

  it('cannot empty a service whose flush endpoint is not there, nor reach what nothing serves.', async () => {
    const paths = ['/__flush__', '/v1/__flush__', '/__metrics__', '/admin/', '/__FLUSH__', '/%5F_flush__'];
    const answers = await batch(
      service,
      paths.map((path) => ({ method: 'POST', path })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
  });

  it('is no way to come from another address than the one it comes from.', async () => {
    const limited = await startTestService({
      settings: {
        trusted_proxies: 'loopback',
        rate_limits: 'x',
        'rate_limits.x.requests': '3',
        'rate_limits.x.per': 'address',
        'rate_limits.x.paths': '/',
      },
    });
    onTestFinished(() => limited.close());
    const requests = [1, 2, 3, 4, 5].map((n) => ({
      path: '/',
      headers: { 'X-Forwarded-For': `192.0.2.${n}`, Forwarded: `for=192.0.2.${n}` },
    }));
    const answers = await batch(limited, requests, { headers: { 'X-Forwarded-For': '198.51.100.1' } });
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
  });
});
