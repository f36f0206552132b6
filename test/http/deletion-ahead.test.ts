// A deletion with conditions selects its objects before it waits for the lock of the list, and tests them again under it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storedParent } from '../../src/core/objects/uris.ts';
import type { TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { openDoor } from '../plugins/accounts/service.ts';

const collection = '/buckets/b/collections/c';
const records = `/v1${collection}/records`;
const list = { kind: 'record', parent: storedParent(collection) };

forEachBackend(({ name, start }) => {
  describe(`a deletion with conditions on ${name}`, () => {
    const { plugin, stores } = openDoor();
    let service: TestService;
    const ask = (method: string, path: string, body?: object): ReturnType<TestService['request']> =>
      service.request(method, path, { auth: 'alice', ...(body === undefined ? {} : { body }) });
    const ids = (body: unknown): readonly string[] =>
      (body as { readonly data: readonly { readonly id: string }[] }).data.map(({ id }) => id).toSorted();

    beforeAll(async () => {
      service = await start({ plugins: [plugin] });
      await ask('PUT', '/v1/buckets/b');
      await ask('PUT', `/v1${collection}`);
    });
    afterAll(() => service.close());

    it.each(['', '&_sort=n', '&_sort=id', '&_limit=2'])(
      'deletes what still matches under the lock (%s)',
      async (more) => {
        await ask('DELETE', records);
        for (const [id, n] of Object.entries({ r1: 1, r2: 1, r3: 2 })) {
          await ask('PUT', `${records}/${id}`, { data: { n } });
        }
        const { storage } = stores();
        const transaction = await storage.database.begin();
        const writer = storage.writer(transaction);
        await writer.lock(list);
        const deletion = ask('DELETE', `${records}?n=1${more}`);
        // Meanwhile the deletion selects, and waits.
        for (let n = 0; n < 10; n++) await ask('GET', records);
        await writer.update(list, 'r1', '{"n":2}');
        await writer.update(list, 'r3', '{"n":1}');
        await transaction.commit();
        const { status, body, headers } = await deletion;
        expect([status, ids(body), headers['next-page']]).toEqual([200, ['r2'], undefined]);
        expect(ids((await ask('GET', records)).body)).toEqual(['r1', 'r3']);
      },
    );

    it('completes its page, and continues, when objects do not match any longer.', async () => {
      for (const changed of [1, 3]) {
        await ask('DELETE', records);
        const all = Array.from({ length: 7 }, (_, n) => `r${n}`);
        for (const id of all) await ask('PUT', `${records}/${id}`, { data: { n: 1 } });
        const { storage } = stores();
        const transaction = await storage.database.begin();
        const writer = storage.writer(transaction);
        await writer.lock(list);
        const first = ask('DELETE', `${records}?n=1&_limit=2`);
        for (let n = 0; n < 10; n++) await ask('GET', records);
        const kept = all.slice(-changed);
        for (const id of kept) await writer.update(list, id, '{"n":2}');
        await transaction.commit();
        const { body, headers } = await first;
        expect(ids(body)).toEqual(all.slice(-changed - 2, -changed));
        let next = headers['next-page'];
        while (next !== undefined) {
          const page = await ask('DELETE', next.replace(/^.*(?=\/v1\/)/, ''));
          expect(page.status).toBe(200);
          next = page.headers['next-page'];
        }
        expect(ids((await ask('GET', records)).body)).toEqual(kept);
      }
    });

    it('continues with a token of its own list only.', async () => {
      await ask('DELETE', records);
      const others = '/v1/buckets/b/collections/others/records';
      await ask('PUT', others.replace('/records', ''));
      for (const n of [1, 2]) {
        await ask('PUT', `${records}/r${n}`, { data: { n } });
        await ask('PUT', `${others}/r${n}`, { data: { n } });
      }
      const { headers } = await ask('DELETE', `${records}?_limit=1`);
      const query = headers['next-page']!.replace(/^[^?]*/, '');
      expect((await ask('DELETE', others + query)).body).toMatchObject({ code: 400, errno: 107 });
      expect(ids((await ask('GET', others)).body)).toEqual(['r1', 'r2']);
      const { status, body } = await ask('DELETE', records + query);
      expect([status, ids(body)]).toEqual([200, ['r1']]);
    });

    it('continues on the next page.', async () => {
      await ask('DELETE', records);
      for (let n = 0; n < 5; n++) await ask('PUT', `${records}/r${n}`, { data: { n: n % 4 } });
      let path: string | undefined = `${records}?in_n=0,1&_limit=2`;
      const deleted: string[][] = [];
      while (path !== undefined) {
        const { status, body, headers } = await ask('DELETE', path);
        expect(status).toBe(200);
        deleted.push([...ids(body)]);
        path = headers['next-page']?.replace(/^.*(?=\/v1\/)/, '');
      }
      expect(deleted).toEqual([['r1', 'r4'], ['r0']]);
      expect(ids((await ask('GET', records)).body)).toEqual(['r2', 'r3']);
    });
  });
});
