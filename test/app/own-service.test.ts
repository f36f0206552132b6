// Coffer as a library: a service with its own kinds, name, version and address, with or without the built-in hierarchy.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createService, definePlugin, settingsOf, type Logger, type Service } from '../../src/index.ts';
import { RequestBody } from '../../src/engine/exchange.ts';
import { startTestService, type TestService } from '../../src/testing/index.ts';

const shop = definePlugin({
  name: 'shop',
  setup: () => ({
    kinds: [
      {
        name: 'shop',
        path: '/shops',
        flavour: 'shareable',
        idGenerator: 'NameGenerator',
        permissions: {
          names: ['read', 'write', 'product:create'],
          granted: {
            read: [
              { kind: 'shop', entry: 'read' },
              { kind: 'shop', entry: 'write' },
            ],
            write: [{ kind: 'shop', entry: 'write' }],
            'product:create': [
              { kind: 'shop', entry: 'product:create' },
              { kind: 'shop', entry: 'write' },
            ],
          },
        },
      },
      {
        name: 'product',
        path: '/shops/{shop_id}/products',
        parent: 'shop',
        flavour: 'shareable',
        idGenerator: 'NameGenerator',
        permissions: {
          names: ['read', 'write'],
          granted: {
            read: [
              { kind: 'shop', entry: 'read' },
              { kind: 'shop', entry: 'write' },
              { kind: 'product', entry: 'read' },
              { kind: 'product', entry: 'write' },
            ],
            write: [
              { kind: 'shop', entry: 'write' },
              { kind: 'product', entry: 'write' },
            ],
          },
        },
      },
    ],
  }),
});

const settings = {
  project_name: 'shops',
  project_version: '7.0.0',
  http_api_version: '2.5',
  path_prefix: '/api/shops',
  built_in_kinds: 'false',
  shop_create_principals: 'system.Authenticated',
  paginate_by: '1',
};

describe('a service of its own', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ plugins: [shop], settings });
  });
  afterAll(() => service.close());

  const base = '/api/shops/v2';

  it('has its name, version and address.', async () => {
    expect(await service.request('GET', `${base}/`)).toMatchObject({
      status: 200,
      body: {
        project_name: 'shops',
        project_version: '7.0.0',
        http_api_version: '2.5',
        url: `${service.origin}${base}/`,
      },
    });
    const { body } = await service.request('GET', `${base}/__api__`);
    expect(body).toMatchObject({
      basePath: base,
      paths: { '/shops': {}, '/shops/{shop_id}/products/{id}': {} },
    });
    expect(Object.keys((body as { paths: object }).paths).filter((path) => path.includes('bucket'))).toEqual([]);
  });

  it('serves only its own kinds, with all features of kinds.', async () => {
    const alice = service.asUser('alice');
    const bob = service.asUser('bob');
    expect(await alice.request('PUT', `${base}/shops/s`)).toMatchObject({ status: 201 });
    expect(await alice.request('PUT', `${base}/shops/s/products/p`, { body: { data: { price: 3 } } })).toMatchObject({
      status: 201,
    });
    expect(await alice.request('POST', `${base}/shops/s/products`)).toMatchObject({ status: 201 });
    expect(await bob.request('GET', `${base}/shops/s/products`)).toMatchObject({ status: 403 });
    expect(await alice.request('GET', `${base}/shops/s/products?price=3`)).toMatchObject({
      body: { data: [{ id: 'p', price: 3 }] },
    });
    const { headers } = await alice.request('GET', `${base}/shops/s/products`);
    expect(headers['next-page']).toMatch(new RegExp(`^${service.origin}${base}/shops/s/products\\?`));
    expect(await alice.request('DELETE', `${base}/shops/s`)).toMatchObject({ status: 200 });
    expect(await alice.request('GET', `${base}/shops/s`)).toMatchObject({ status: 403 });
    expect(await alice.request('GET', `${base}/buckets`)).toMatchObject({ status: 404, body: { errno: 111 } });
  });

  it('accepts paths of batch entries with and without prefix.', async () => {
    const paths = ['/shops/s', '/v2/shops/s', `${base}/shops/s`, '/v1/shops/s', '/v2/batch'];
    const alice = service.asUser('alice');
    await alice.request('PUT', `${base}/shops/s`);
    const batch = async (path: string): Promise<unknown> =>
      (await alice.request('POST', `${base}/batch`, { body: { requests: [{ path }] } })).body;
    for (const path of paths.slice(0, 3))
      expect(await batch(path), path).toMatchObject({ responses: [{ status: 200 }] });
    expect(await batch(paths[3]!)).toMatchObject({ responses: [{ status: 404 }] });
    expect(await batch(paths[4]!)).toMatchObject({ code: 400 });
  });

  it.each([
    ['/api/shops', 307, '/api/shops/v2/'],
    ['/api/shops/', 307, '/api/shops/v2/'],
    ['/api/shops/shops?a=1', 307, '/api/shops/v2/shops?a=1'],
    ['/api/shops/v1/shops', 307, '/api/shops/v2/shops'],
    ['/api/shops/v2', 307, '/api/shops/v2/'],
    ['/api/shops/v2/shops/', 307, '/api/shops/v2/shops'],
    ['/', 404, undefined],
    ['/v2/', 404, undefined],
    ['/api/shopsx/v2/', 404, undefined],
    ['/__heartbeat__', 200, undefined],
    ['/api/shops/__lbheartbeat__', 200, undefined],
  ])('responds to %s with %i.', async (path, status, location) => {
    const answer = await service.request('GET', path);
    expect(answer.status).toBe(status);
    expect(answer.headers['location']).toBe(location === undefined ? undefined : service.origin + location);
  });

  it('responds to preflights of redirected paths.', async () => {
    const headers = { Origin: 'https://a.example', 'Access-Control-Request-Method': 'GET' };
    for (const path of [`${base}/shops`, '/api/shops/shops', '/api/shops/v1/shops']) {
      expect(await service.request('OPTIONS', path, { headers }), path).toMatchObject({ status: 200 });
    }
  });
});

describe('createService', () => {
  const ignore = (): void => {};
  const logger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

  it('builds independent services in one process, which also respond without a socket.', async () => {
    const own = { ...settings, userid_hmac_secret: 'secret for tests' };
    const closed = await createService({
      settings: settingsOf(own),
      logger,
      plugins: [shop],
      authorization: { decide: () => false },
    });
    const open = await createService({ settings: settingsOf({ userid_hmac_secret: 'secret for tests' }), logger });
    const get = async (service: Service, target: string): Promise<number> => {
      const request = {
        id: 'x',
        method: 'GET',
        target,
        headers: {},
        origin: 'http://a.example',
        body: RequestBody.none,
      };
      return (await service.answer(request)).status;
    };
    expect(await get(closed, '/api/shops/v2/shops')).toBe(401);
    expect(await get(closed, '/api/shops/v2/')).toBe(200);
    expect(await get(open, '/v1/')).toBe(200);
    await closed.close();
    await open.close();
  });

  it('reports the missing kind when a plugin needs the built-in kinds.', async () => {
    const own = { built_in_kinds: 'false', includes: 'default_bucket' };
    await expect(startTestService({ settings: own })).rejects.toThrow(
      'The plugin default_bucket could not be started: The resource kind collection does not exist.',
    );
  });

  it.each(['api', '/api/', '/a b', '//', '/api?x'])('refuses the path prefix %s.', async (prefix) => {
    await expect(startTestService({ settings: { path_prefix: prefix } })).rejects.toThrow('path_prefix');
  });
});
