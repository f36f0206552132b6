// Quotas: refusals, counters, and consistency under concurrent requests.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storedParent } from '../../src/core/objects/uris.ts';
import { definePlugin, type PluginHost } from '../../src/http/plugin.ts';
import { checkBucket, isOutdated } from '../../src/plugins/quotas/rebuild.ts';
import { startTestService, type TestClient, type TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { describeScenarios } from './scenarios.ts';
import { inExtent } from '../support/extent.ts';

const limits = {
  includes: 'default_bucket quotas',
  'quotas.bucket_max_items': '3',
  'quotas.collection_max_items': '2',
  'quotas.bucket_max_bytes': '1000',
  'quotas.collection_max_bytes': '600',
  'quotas.bucket_max_bytes_per_item': '400',
  'quotas.collection_max_bytes_per_item': '300',
};
const text = (length: number): string => `{"data":{"t":"${'x'.repeat(length)}"}}`;
const refused = { status: 507, errno: 121 };

describeScenarios(
  'quotas',
  [
    {
      name: 'Records beyond the limit of a collection are refused, and the request is rolled back.',
      given: ['collection', 'PUT {R}/a', 'POST {R}'],
      request: 'PUT {R}/b',
      ...refused,
      body: { error: 'Insufficient Storage', message: /3 records. The limit is 2./ },
      then: [
        { request: 'GET {R}/b', status: 404 },
        { request: 'HEAD {R}', gives: { 'total-records': '2' } },
        { request: 'PUT {R}/a {"data":{"n":1}}', status: 200 },
        'DELETE {R}/a',
        { request: 'PUT {R}/b', status: 201 },
        { request: 'POST {R}', ...refused },
        'DELETE {R}',
        { request: 'POST {R}', status: 201 },
        { request: 'POST {R}', status: 201 },
        { request: 'POST {R}', ...refused },
      ],
    },
    {
      name: 'Records of all collections count for the bucket until their collection is deleted.',
      given: ['collection', 'PUT {B}/collections/d', 'PUT {R}/a', 'PUT {R}/b', 'PUT {B}/collections/d/records/c'],
      request: 'PUT {B}/collections/d/records/d',
      ...refused,
      body: { message: /The bucket would have 4 records. The limit is 3./ },
      then: [
        'DELETE {C}',
        { request: 'PUT {B}/collections/d/records/d', status: 201 },
        'PUT {C}',
        { request: 'PUT {R}/a', status: 201 },
        { request: 'PUT {R}/b', ...refused },
        'DELETE {B}',
        'PUT {B}',
        'PUT {C}',
        'PUT {R}/a',
        { request: 'PUT {R}/b', status: 201 },
      ],
    },
    {
      name: 'Objects beyond the size limit are refused for all methods.',
      given: ['collection', `PUT {R}/a ${text(200)}`],
      request: `PUT {R}/b ${text(300)}`,
      ...refused,
      body: { message: /The record has \d+ bytes. The limit is 300./ },
      then: [
        { request: `PATCH {R}/a ${text(290)}`, ...refused },
        { request: `POST {R} ${text(290)}`, ...refused },
        { request: `PATCH {C} ${text(290)}`, ...refused },
        { request: `PATCH {B} ${text(290)}`, status: 200 },
        { request: `PATCH {B} ${text(400)}`, ...refused },
        { request: `PUT {G}/g ${text(400)}`, ...refused },
        { request: `PUT {B}x ${text(400)}`, ...refused },
        { request: 'GET {B}x', status: 403 },
      ],
    },
    {
      name: 'Sizes are summed in collections and buckets, including groups and attributes.',
      given: ['collection', `PUT {R}/a ${text(200)}`, `PUT {R}/b ${text(200)}`],
      request: `PATCH {C} ${text(150)}`,
      ...refused,
      body: { message: /The collection would have \d+ bytes. The limit is 600./ },
      then: [
        { request: `PUT {G}/g ${text(240)}`, status: 201 },
        { request: `PUT {G}/h ${text(200)}`, ...refused },
        { request: `PATCH {B} ${text(200)}`, ...refused },
        { request: 'PATCH {R}/a {"data":{"t":""}}', status: 200 },
        { request: `PUT {G}/h ${text(90)}`, status: 201 },
        'DELETE {G}/g',
        { request: `PATCH {B} ${text(200)}`, status: 200 },
      ],
    },
    {
      name: 'Non-ASCII characters count as their escapes.',
      given: ['collection'],
      request: 'PUT {R}/a {"data":{"t":"éééééééééééééééééééééééééééééééééééééééééééé"}}',
      ...refused,
      then: [{ request: 'PUT {R}/a {"data":{"t":"éééééééééééééééééééé"}}', status: 201 }],
    },
    {
      name: 'A batch counts as a whole and is rolled back as a whole.',
      given: ['collection', 'PUT {R}/a', 'PUT {R}/b'],
      request:
        'POST /batch {"requests":[{"method":"PUT","path":"{R}/c"},{"method":"DELETE","path":"{R}/a"},{"method":"PATCH","path":"{R}/b","body":{"data":{"n":1}}}]}',
      status: 200,
      then: [
        {
          request:
            'POST /batch {"requests":[{"method":"DELETE","path":"{R}/b"},{"method":"PUT","path":"{R}/d"},{"method":"PUT","path":"{R}/e"}]}',
          ...refused,
        },
        { request: 'GET {R}?_sort=id', body: { data: [{ id: 'b', n: 1 }, { id: 'c' }] } },
        {
          request:
            'POST /batch {"requests":[{"method":"PUT","path":"{R}/d"},{"method":"DELETE","path":"{C}"},{"method":"PUT","path":"{C}"},{"method":"PUT","path":"{R}/e"},{"method":"PUT","path":"{R}/f"}]}',
          status: 200,
        },
        { request: 'PUT {R}/g', ...refused },
        { request: 'PUT {B}/collections/d', status: 201 },
        { request: 'PUT {B}/collections/d/records/g', status: 201 },
        { request: 'PUT {B}/collections/d/records/h', ...refused },
      ],
    },
    {
      name: 'The personal bucket has quotas like any other.',
      given: ['PUT /buckets/default/collections/c/records/a', 'PUT /buckets/default/collections/c/records/b'],
      request: 'PUT /buckets/default/collections/c/records/c',
      ...refused,
      then: [
        'PUT /buckets/default/collections/d/records/c',
        { request: 'PUT /buckets/default/collections/e/records/d', ...refused },
        { request: 'GET /buckets/default/collections/e', status: 200 },
      ],
    },
    {
      name: 'The root view has the capability quotas.',
      request: 'GET /',
      body: { capabilities: { quotas: { description: /./, url: /./ } } },
    },
  ],
  { settings: limits },
);

describe('the settings of quotas', () => {
  it('apply from the most specific name to the most general.', async () => {
    const service = await startTestService({
      settings: {
        includes: 'quotas',
        'quotas.collection_max_items': '1',
        'quotas.collection_blog_max_items': '2',
        'quotas.collection_blog_articles_max_items': '3',
        'quotas.bucket_My-Shop_max_items': '0',
        'quotas.bucket_max_bytes_per_item': '80',
        'quotas.collection_blog_max_bytes_per_item': '120',
      },
    });
    const alice = service.asUser('alice');
    const fill = async (bucket: string, collection: string): Promise<number> => {
      await alice.request('PUT', `/v1/buckets/${bucket}`);
      await alice.request('PUT', `/v1/buckets/${bucket}/collections/${collection}`);
      for (let count = 0; ; count++) {
        const { status } = await alice.request(
          'PUT',
          `/v1/buckets/${bucket}/collections/${collection}/records/r${count}`,
        );
        if (status !== 201) return count;
      }
    };
    expect(await fill('blog', 'articles')).toBe(3);
    expect(await fill('blog', 'comments')).toBe(2);
    expect(await fill('food', 'fruits')).toBe(1);
    expect(await fill('My-Shop', 'fruits')).toBe(0);
    const size = async (path: string, length: number): Promise<number> =>
      (await alice.request('PUT', path, { body: { data: { t: 'x'.repeat(length) } } })).status;
    expect(await size('/v1/buckets/blog/collections/articles/records/r1', 60)).toBe(200);
    expect(await size('/v1/buckets/blog/collections/articles/records/r1', 80)).toBe(507);
    expect(await size('/v1/buckets/food/collections/fruits/records/r0', 60)).toBe(507);
    expect(await size('/v1/buckets/blog/groups/g', 60)).toBe(507);
    await service.close();
  });

  it('of two collections whose ids read the same with the ids of their buckets are not mixed up.', async () => {
    const service = await startTestService({
      settings: {
        includes: 'quotas',
        'quotas.collection_tenant_max_items': '2',
        'quotas.collection_tenant_a_max_items': '1',
      },
    });
    const alice = service.asUser('alice');
    const statuses: number[] = [];
    for (const collection of ['tenant/collections/a_b', 'tenant_a/collections/b']) {
      await alice.request('PUT', `/v1/buckets/${collection.split('/')[0]}`);
      await alice.request('PUT', `/v1/buckets/${collection}`);
      for (const id of ['x', 'y', 'z'])
        statuses.push((await alice.request('PUT', `/v1/buckets/${collection}/records/${id}`)).status);
    }
    expect(statuses).toEqual([201, 201, 507, 201, 507, 507]);
    await service.close();
  });

  it('must be numbers, or the service does not start.', async () => {
    for (const key of ['quotas.bucket_max_bytes', 'quotas.bucket_blog_max_items', 'quotas.collection_a_b_max_bytes']) {
      await expect(startTestService({ settings: { includes: 'quotas', [key]: 'many' } })).rejects.toThrow(key);
    }
  });

  it('never refuse deletions.', async () => {
    const service = await startTestService({ settings: { includes: 'quotas', 'quotas.bucket_max_items': '0' } });
    const alice = service.asUser('alice');
    await alice.request('PUT', '/v1/buckets/b');
    await alice.request('PUT', '/v1/buckets/b/collections/c');
    expect((await alice.request('DELETE', '/v1/buckets/b/collections/c')).status).toBe(200);
    expect((await alice.request('DELETE', '/v1/buckets/b')).status).toBe(200);
    await service.close();
  });
});

let host: PluginHost | undefined;
const spy = definePlugin({
  name: 'spy',
  setup(given) {
    host = given;
    return {};
  },
});

/** Compares the counters of a bucket with its actual usage. */
async function findWrongCounters(bucket: string): Promise<readonly unknown[]> {
  return (await checkBucket(host!.stores.storage.reader, bucket)).filter(isOutdated);
}

forEachBackend((backend) => {
  describe(`counters of quotas on ${backend.name}`, () => {
    let service: TestService;
    let alice: TestClient;

    beforeAll(async () => {
      service = await backend.start({
        settings: { includes: 'quotas history', batch_max_requests: '100' },
        plugins: [spy],
      });
      alice = service.asUser('alice');
    });
    afterAll(() => service.close());

    it('are stored as objects next to what they count.', async () => {
      await alice.request('PUT', '/v1/buckets/stored');
      await alice.request('PUT', '/v1/buckets/stored/collections/c');
      await alice.request('PUT', '/v1/buckets/stored/collections/c/records/r');
      const { reader } = host!.stores.storage;
      const bucket = await reader.get({ kind: 'quota', parent: storedParent('/buckets/stored') }, 'bucket_info');
      expect(bucket?.attributes).toEqual({ collection_count: 1, record_count: 1, storage_size: 125 });
      const parent = '/buckets/stored/collections/c';
      const collection = await reader.get({ kind: 'quota', parent: storedParent(parent) }, 'collection_info');
      expect(collection?.attributes).toEqual({ record_count: 1, storage_size: 80 });
      await alice.request('DELETE', '/v1/buckets/stored/collections/c');
      expect(await reader.get({ kind: 'quota', parent: storedParent(parent) }, 'collection_info')).toBeUndefined();
      await alice.request('DELETE', '/v1/buckets/stored');
      expect(
        await reader.get({ kind: 'quota', parent: storedParent('/buckets/stored') }, 'bucket_info'),
      ).toBeUndefined();
    });

    it('are correct after sixteen concurrent writers and deleters.', async () => {
      const bucket = '/v1/buckets/busy';
      await alice.request('PUT', bucket);
      const collections = ['a', 'b', 'c'];
      for (const id of collections) await alice.request('PUT', `${bucket}/collections/${id}`);
      const statuses = new Map<number, number>();
      const send = async (method: string, path: string, data?: object): Promise<void> => {
        const { status } = await alice.request(method, path, data === undefined ? {} : { body: { data } });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      };
      const work = async (writer: number): Promise<void> => {
        const own = `${bucket}/collections/${collections[writer % 3]!}/records`;
        const shared = `${bucket}/collections/${collections[(writer + 1) % 3]!}/records/shared`;
        await send('PUT', `${own}/w${writer}`, { t: 'é'.repeat(writer) });
        await send('PUT', shared, { t: 'x'.repeat(writer) });
        await send('POST', own, { n: writer });
        const below = own.slice('/v1'.length);
        const requests = [
          { method: 'PUT', path: `/buckets/busy/collections/${collections[(writer + 2) % 3]!}/records/b${writer}` },
          { method: 'PUT', path: `${below}/b${writer}` },
          { method: 'PUT', path: `/buckets/busy/groups/g${writer}` },
        ];
        await alice.request('POST', '/v1/batch', { body: { requests: writer % 2 ? requests : requests.toReversed() } });
        if (writer % 4 === 0) await send('DELETE', `${own}/w${writer}`);
        if (writer % 8 === 1) await send('DELETE', `${own}?like_id=b`);
        if (writer === 7) await send('DELETE', `${bucket}/collections/c`);
      };
      await Promise.all(Array.from({ length: 16 }, (_, writer) => work(writer)));
      expect([...statuses.keys()].filter((status) => status >= 500 || status === 409)).toEqual([]);
      expect(await findWrongCounters('busy')).toEqual([]);
    });

    it('do not block writers of many collections.', async () => {
      const bucket = '/v1/buckets/wide';
      await alice.request('PUT', bucket);
      const collections = Array.from({ length: 8 }, (_, n) => `${bucket}/collections/c${n}`);
      for (const collection of collections) await alice.request('PUT', collection);
      const work = Array.from({ length: 16 }, async (_, writer) => {
        for (let n = 0; n < 6; n++) {
          const { status } = await alice.request('PUT', `${collections[writer % 8]!}/records/w${writer}-${n}`);
          expect(status).toBe(201);
        }
      });
      await Promise.all(work);
      expect(await findWrongCounters('wide')).toEqual([]);
    });

    it('are correct after any sequence of requests.', { timeout: 120_000 }, async () => {
      const below = fc.constantFrom('', '/collections/c', '/collections/d', '/groups/g');
      const records = fc.constantFrom(
        ...['c', 'd'].flatMap((c) => ['r', 's', 't'].map((id) => `/collections/${c}/records/${id}`)),
      );
      const request = fc.record({
        method: fc.constantFrom('PUT', 'PUT', 'PATCH', 'DELETE'),
        path: fc.oneof({ weight: 2, arbitrary: below }, { weight: 5, arbitrary: records }),
        data: fc.record({ t: fc.string({ unit: 'grapheme' }) }),
      });
      const lists = fc.record({
        method: fc.constant('DELETE'),
        path: fc.constantFrom('/collections', '/collections/c/records', '/collections/d/records', '/groups'),
        data: fc.constant({}),
      });
      const one = fc.oneof({ weight: 9, arbitrary: request }, { weight: 1, arbitrary: lists });
      let count = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(one, { minLength: 1, maxLength: 8 }), { maxLength: 6 }), async (steps) => {
          const bucket = `any${(count += 1)}`;
          const setUp = ['', '/collections/c', '/collections/d'].map((path) => ({ method: 'PUT', path, data: {} }));
          for (const step of [setUp, ...steps]) {
            const requests = step.map(({ method, path, data }) => {
              const asked = { method, path: `/buckets/${bucket}${path}` };
              return method === 'DELETE' ? asked : { ...asked, body: { data } };
            });
            const response = await alice.request('POST', '/v1/batch', { body: { requests } });
            expect(response.status).toBe(200);
            expect(await findWrongCounters(bucket)).toEqual([]);
          }
        }),
        { numRuns: inExtent(10, 25) },
      );
    });
  });
});
