// A deletion that may take long selects its objects before it waits for the lock of the list, and tests them again under it, with
// those that were written meanwhile. The result is that of a deletion that does everything under the lock.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StorageWriter } from '../../src/contracts/storage.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import type { TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { openDoor } from '../plugins/accounts/service.ts';

const collection = '/buckets/b/collections/c';
const records = `/v1${collection}/records`;
const list = { kind: 'record', parent: storedParent(collection) };

/** Makes deletions from lists of a dozen objects select ahead. */
const lowWork = { max_query_work: '1' };
const fillers = Array.from({ length: 12 }, (_, n) => `x${n}`);
const ten = Array.from({ length: 10 }, (_, n) => `r${n}`);

const idsOf = (body: unknown): readonly string[] =>
  (body as { readonly data: readonly { readonly id: string }[] }).data.map(({ id }) => id);

forEachBackend(({ name, start }) => {
  describe.each([
    ['selected ahead', true],
    ['selected under the lock', false],
  ])(`objects of a deletion, %s, on ${name}`, (_, isAhead) => {
    const { plugin, stores } = openDoor();
    let service: TestService;
    const ask = (method: string, path: string, body?: object): ReturnType<TestService['request']> =>
      service.request(method, path, { auth: 'alice', ...(body === undefined ? {} : { body }) });

    beforeAll(async () => {
      service = await start({ plugins: [plugin], settings: isAhead ? lowWork : {} });
      await ask('PUT', '/v1/buckets/b');
      await ask('PUT', `/v1${collection}`);
    });
    afterAll(() => service.close());

    /** Makes the list hold these objects, each with a value of `n`, and others. */
    async function fill(objects: Readonly<Record<string, number>>): Promise<void> {
      await ask('DELETE', records);
      for (const id of fillers) await ask('PUT', `${records}/${id}`, { data: { n: 9 } });
      for (const [id, n] of Object.entries(objects)) await ask('PUT', `${records}/${id}`, { data: { n } });
    }

    /** Returns the ids of the objects without the others. */
    const left = async (): Promise<readonly string[]> =>
      idsOf((await ask('GET', records)).body)
        .filter((id) => !fillers.includes(id))
        .toSorted();

    /** Deletes a page. While the deletion waits for the lock, the list is changed. */
    async function deleteDuring(
      query: string,
      change: (writer: StorageWriter) => Promise<void>,
    ): ReturnType<TestService['request']> {
      const { storage } = stores();
      const transaction = await storage.database.begin();
      const writer = storage.writer(transaction);
      await writer.lock(list);
      const deletion = ask('DELETE', `${records}${query}`);
      for (let n = 0; n < 10; n++) await ask('GET', records);
      await change(writer);
      await transaction.commit();
      return deletion;
    }

    /** Deletes page by page, from a path on. */
    async function deletePages(first: string | undefined): Promise<readonly (readonly string[])[]> {
      const pages: (readonly string[])[] = [];
      for (let path = first; path !== undefined;) {
        const { status, body, headers } = await ask('DELETE', path.replace(/^.*(?=\/v1\/)/, ''));
        expect(status).toBe(200);
        pages.push(idsOf(body));
        path = headers['next-page'];
      }
      return pages;
    }

    const orders = ['', '&_sort=n', '&_sort=id', '&_limit=3', '&_sort=last_modified'];
    it.each(orders)('are those that match under the lock (%s)', async (order) => {
      await fill({ r1: 1, r2: 1, r3: 2, r4: 1 });
      const { status, body, headers } = await deleteDuring(`?n=1${order}`, async (writer) => {
        await writer.update(list, 'r1', '{"n":2}');
        await writer.update(list, 'r3', '{"n":1}');
        await writer.update(list, 'r4', '{"n":1,"m":1}');
      });
      expect([status, idsOf(body).toSorted()]).toEqual([200, ['r2', 'r3', 'r4']]);
      expect((await deletePages(headers['next-page'])).flat()).toEqual([]);
      expect(await left()).toEqual(['r1']);
    });

    it('are continued when some do not match any longer, also after a page without objects', async () => {
      for (const order of ['', '&_sort=last_modified,n']) {
        for (const changed of [1, 2, 3]) {
          await fill(Object.fromEntries(ten.map((id) => [id, 1])));
          const inOrder = order === '' ? ten.toReversed() : ten;
          const { body, headers } = await deleteDuring(`?n=1&_limit=2${order}`, async (writer) => {
            for (const id of inOrder.slice(0, changed)) await writer.update(list, id, '{"n":2}');
          });
          // One more than the page is selected.
          const end = isAhead ? 3 : changed + 2;
          expect(idsOf(body)).toEqual(inOrder.slice(changed, end));
          expect((await deletePages(headers['next-page'])).flat()).toEqual(inOrder.slice(end));
          expect(await left()).toEqual(inOrder.slice(0, changed).toSorted());
        }
      }
    });

    it.each(['', '&_sort=n', '&_sort=last_modified', '&_limit=8', '&_sort=last_modified&_limit=8'])(
      'are not those that do not match any longer, with a past timestamp of their own (%s)',
      async (order) => {
        await fill(Object.fromEntries(ten.map((id) => [id, 1])));
        const before = (await ask('GET', `${records}?n=1&_sort=id`)).body as {
          readonly data: readonly { readonly last_modified: number }[];
        };
        const times = before.data.map((object) => object.last_modified);
        const newest = times.at(-1)!;
        await ask('PUT', `${records}/x0`, { data: { n: 9, last_modified: newest + 1000 } });
        const { status, body, headers } = await deleteDuring(`?n=1${order}`, async (writer) => {
          await writer.update(list, 'r1', '{"n":2}', newest + 5);
          for (const id of ['r2', 'r3', 'r4', 'r5']) await writer.delete(list, id);
          await writer.create(list, 'r2', '{"n":2}', newest - 1_000_000);
          // Still matches.
          await writer.create(list, 'r3', '{"n":1}', newest + 7);
          // Has the timestamp of another one that was found.
          await writer.create(list, 'r4', '{"n":2}', times[5]);
        });
        const pages = [idsOf(body), ...(await deletePages(headers['next-page']))];
        expect([status, pages.flat().toSorted()]).toEqual([200, ['r0', 'r3', 'r6', 'r7', 'r8', 'r9']]);
        expect(await left()).toEqual(['r1', 'r2', 'r4']);
      },
    );

    it('are not skipped when the oldest become the newest', async () => {
      await fill(Object.fromEntries(ten.map((id) => [id, 1])));
      const { body, headers } = await deleteDuring('?n=1&_sort=last_modified&_limit=3', async (writer) => {
        for (const id of ['r0', 'r1']) await writer.update(list, id, '{"n":1,"m":1}');
      });
      const pages = [idsOf(body), ...(await deletePages(headers['next-page']))];
      expect(pages.flat()).toEqual(['r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8', 'r9', 'r0', 'r1']);
      expect(await left()).toEqual([]);
    });

    it.each([
      { order: 'last_modified', moved: [0, 1], by: 1, expected: [2, 3, 4, 5, 6, 7, 8, 9, 0, 1] },
      { order: '-last_modified', moved: [9, 8], by: -1_000_000, expected: [7, 6, 5, 4, 3, 2, 1, 0, 8, 9] },
    ])('are the first when others get timestamps of their own ($order)', async ({ order, moved, by, expected }) => {
      await fill(Object.fromEntries(ten.map((id) => [id, 1])));
      const newest = Number((await ask('GET', `${records}?_limit=1`)).headers['etag']!.replaceAll('"', ''));
      await ask('PUT', `${records}/x0`, { data: { n: 9, last_modified: newest + 1000 } });
      const { body, headers } = await deleteDuring(`?n=1&_sort=${order}&_limit=3`, async (writer) => {
        for (const [n, id] of moved.entries()) {
          await writer.delete(list, `r${id}`);
          await writer.create(list, `r${id}`, '{"n":1}', newest + by + n);
        }
      });
      const pages = [idsOf(body), ...(await deletePages(headers['next-page']))];
      expect(pages.flat()).toEqual(expected.map((n) => `r${n}`));
    });

    it.each(['', '&_sort=m', '&_sort=id&_limit=3', '&_sort=last_modified&_limit=3'])(
      'are all that match all the time, however often they are changed (%s)',
      async (order) => {
        await fill(Object.fromEntries(ten.map((id) => [id, 1])));
        let isOver = false;
        const changing = [0, 1, 2].map(async (writer) => {
          for (let m = 0; !isOver; m++) {
            const id = ten[(m * 3 + writer) % ten.length]!;
            expect([200, 404]).toContain((await ask('PATCH', `${records}/${id}`, { data: { m } })).status);
          }
        });
        await deletePages(`${records}?n=1${order}`);
        isOver = true;
        await Promise.all(changing);
        expect(await left()).toEqual([]);
      },
    );

    it('are continued with a token of their own list only', async () => {
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
      expect(idsOf((await ask('GET', others)).body).toSorted()).toEqual(['r1', 'r2']);
      const { status, body } = await ask('DELETE', records + query);
      expect([status, idsOf(body)]).toEqual([200, ['r1']]);
    });

    it('are continued on the next page', async () => {
      await fill({ r0: 0, r1: 1, r2: 2, r3: 3, r4: 0 });
      expect(await deletePages(`${records}?in_n=0,1&_limit=2`)).toEqual([['r4', 'r1'], ['r0']]);
      expect(await left()).toEqual(['r2', 'r3']);
    });

    it('are none when a precondition fails, which is said before anything else', async () => {
      await fill({ r1: 1 });
      for (const condition of [{ 'If-Match': '"1"' }, { 'If-None-Match': '*' }]) {
        const { status } = await service.request('DELETE', `${records}?n=1`, { auth: 'alice', headers: condition });
        expect(status).toBe(412);
      }
      expect(await left()).toEqual(['r1']);
    });
  });
});
