// Requests that read long lists do not delay other requests, on the backends that run in the process itself.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storedParent } from '../../src/core/objects/uris.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import { StoredObject } from '../../src/core/objects/stored.ts';
import type { Stores } from '../../src/engine/unit-of-work.ts';
import { testBackends, type TestService } from '../../src/testing/index.ts';
import { inUnit } from '../../src/testing/contract/unit-of-work.ts';

const list = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
const records = '/v1/buckets/b/collections/c/records';
const count = 20_000;
const entries = Array.from(
  { length: count },
  (_, n) => new StoredObject(`r${n}`, 1000 + n, JSON.stringify({ n: (n * 7919) % count, text: `Text ${n}` })),
);

const inProcess = testBackends.filter(({ name }) => name === 'memory' || name === 'sqlite');

describe.each(inProcess)('a long list on $name', ({ start }) => {
  let service: TestService;
  let stores: Stores | undefined;

  beforeAll(async () => {
    const plugin = definePlugin({
      name: 'stores',
      setup(host) {
        stores = host.stores;
        return {};
      },
    });
    service = await start({ plugins: [plugin] });
    await service.request('PUT', '/v1/buckets/b', { auth: 'alice' });
    await service.request('PUT', '/v1/buckets/b/collections/c', { auth: 'alice' });
    const { storage } = stores!;
    await inUnit(storage.database, (transaction) =>
      storage.writer(transaction).restore(list, { clock: 100_000, entries }),
    );
  });
  afterAll(() => service.close());

  it.each(['?n=-1', '?like_text=nothing', '?_sort=n&_limit=10', '?_sort=-text&_limit=10'])(
    'with %s serves requests that arrive meanwhile first',
    async (query) => {
      const answered: string[] = [];
      const ask = async (name: string, method: string, path: string, body?: unknown): Promise<number> => {
        const options = body === undefined ? {} : { body };
        const { status } = await service.request(method, path, { auth: 'alice', ...options });
        answered.push(name);
        return status;
      };
      // Connections are there already: what is compared is the work alone.
      await Promise.all([1, 2, 3].map(() => ask('warm', 'GET', `${records}/r1`)));
      answered.length = 0;
      const statuses = await Promise.all([
        ask('long', 'GET', `${records}${query}`),
        ask('read', 'GET', `${records}/r7`),
        ask('write', 'PATCH', '/v1/buckets/b', { data: { query } }),
      ]);
      expect(statuses).toEqual([200, 200, 200]);
      // How long the write takes is up to the disk.
      expect(answered.indexOf('read')).toBeLessThan(answered.indexOf('long'));
    },
  );

  it('is counted correctly', async () => {
    const { headers } = await service.request('HEAD', `${records}?gt_n=9999`, { auth: 'alice' });
    expect(headers['total-records']).toBe('10000');
  });
});
