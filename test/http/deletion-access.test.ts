// A slow deletion deletes only what its caller may delete when the list is locked: during the search, the
// caller may lose access, and other objects may take the place of those that were found.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/contracts/logger.ts';
import { storedParent, storedUri } from '../../src/core/objects/uris.ts';
import type { Principal } from '../../src/core/permissions/principals.ts';
import { DatabaseUnit } from '../../src/engine/database-unit.ts';
import type { Writer } from '../../src/engine/unit-of-work.ts';
import type { TestService } from '../../src/testing/index.ts';
import { openDoor } from '../plugins/accounts/service.ts';
import { forEachBackend } from '../support/backends.ts';

const collection = '/buckets/b/collections/c';
const group = '/buckets/b/groups/g';
const records = `/v1${collection}/records`;
const list = { kind: 'record', parent: storedParent(collection) };
/** With these conditions, or with very many objects, a deletion selects ahead. */
const conditions = Array.from({ length: 150 }, (_, n) => `not_x${n}=1`).join('&');
const ids = Array.from({ length: 24 }, (_, n) => `r${n}`);
const uriOf = (id: string): ReturnType<typeof storedUri> => storedUri(`${collection}/records/${id}`);

type Response = Awaited<ReturnType<TestService['request']>>;

forEachBackend(({ name, start }) => {
  describe(`access of a slow deletion on ${name}`, () => {
    const { plugin, stores } = openDoor();
    let service: TestService;
    let bob: Principal;
    const ask = (method: string, path: string, body?: object, auth = 'alice'): Promise<Response> =>
      service.request(method, path, { auth, ...(body === undefined ? {} : { body }) });

    beforeAll(async () => {
      service = await start({ plugins: [plugin], settings: { max_query_work: '60', max_filters: '200' } });
      const { body } = await ask('GET', '/v1/', undefined, 'bob');
      bob = (body as { readonly user: { readonly id: Principal } }).user.id;
    });
    afterAll(() => service.close());
    beforeEach(async () => {
      await ask('DELETE', '/v1/buckets/b');
      await ask('PUT', '/v1/buckets/b');
      await ask('PUT', `/v1${collection}`);
      for (const id of ids) await ask('PUT', `${records}/${id}`, { data: { n: 1 } });
    });

    const deleteByBob = (query = conditions): Promise<Response> =>
      ask('DELETE', `${records}?n=1&${query}`, undefined, 'bob');

    /** While the deletion waits for the lock of the list, something is changed. */
    async function deleteDuring(
      change: (writer: Writer) => Promise<void>,
      remove: () => Promise<Response> = deleteByBob,
    ): Promise<Response> {
      const unit = new DatabaseUnit(stores(), silentLogger);
      const writer = await unit.writer();
      await writer.storage.lock(list);
      const deletion = remove();
      for (let n = 0; n < 10; n++) await ask('GET', records);
      await change(writer);
      await unit.end(true);
      return deletion;
    }

    const left = async (): Promise<readonly string[]> => {
      const { body } = await ask('GET', records);
      return (body as { readonly data: readonly { readonly id: string }[] }).data.map(({ id }) => id).toSorted();
    };

    it('ends with the refusal of a caller whose access was revoked', async () => {
      await ask('PATCH', `/v1${collection}`, { permissions: { write: [bob] } });
      const { status, body } = await deleteDuring(async ({ storage, permission }) => {
        await permission.removePrincipalFromAce(storedUri(collection), 'write', bob);
        await storage.create(list, 'new', '{"n":1}');
      });
      expect([status, body]).toMatchObject([403, { errno: 121 }]);
      expect(await left()).toEqual(['new', ...ids].toSorted());
    });

    it('ends with the refusal also where more objects match than are selected ahead', async () => {
      await ask('PATCH', `/v1${collection}`, { permissions: { write: [bob] } });
      const unit = new DatabaseUnit(stores(), silentLogger);
      const writer = await unit.writer();
      const many = Array.from({ length: 20_001 }, (_, n) => ({ id: `many${n}`, text: '{"n":1}' }));
      await writer.storage.createAll(list, many);
      await unit.end(true);
      const { status } = await deleteDuring(
        ({ permission }) => permission.removePrincipalFromAce(storedUri(collection), 'write', bob),
        () => deleteByBob('_sort=n&_limit=3'),
      );
      expect(status).toBe(403);
    });

    it('does not extend to a record that has taken the place of a shared one', async () => {
      for (const id of ids) await ask('PATCH', `${records}/${id}`, { permissions: { write: [bob] } });
      const { status } = await deleteDuring(async ({ storage, permission }) => {
        await storage.delete(list, 'r1');
        await permission.deleteObjectPermissions([uriOf('r1')]);
        await storage.create(list, 'r1', '{"n":1}');
      });
      expect(status).toBe(200);
      expect(await left()).toEqual(['r1']);
    });

    it('does not extend to such a record among very many shared ones, without a search', async () => {
      const unit = new DatabaseUnit(stores(), silentLogger);
      const { storage, permission } = await unit.writer();
      const many = Array.from({ length: 1001 }, (_, n) => ({ id: `many${n}`, text: '{}' }));
      await storage.createAll(list, many);
      await permission.addToAces(many.map(({ id }) => ({ objectId: uriOf(id), permissions: { write: [bob] } })));
      await unit.end(true);
      const { status } = await deleteDuring(
        async (writer) => {
          await writer.storage.delete(list, 'many1');
          await writer.permission.deleteObjectPermissions([uriOf('many1')]);
          await writer.storage.create(list, 'many1', '{}');
        },
        () => ask('DELETE', records, undefined, 'bob'),
      );
      expect(status).toBe(200);
      expect(await left()).toEqual(['many1', ...ids].toSorted());
    });

    it('shrinks to the records that remain shared', async () => {
      await ask('PATCH', `/v1${collection}`, { permissions: { write: [bob] } });
      await ask('PATCH', `${records}/r1`, { permissions: { write: [bob] } });
      const { status } = await deleteDuring(async ({ storage, permission }) => {
        await permission.removePrincipalFromAce(storedUri(collection), 'write', bob);
        await storage.create(list, 'new', '{"n":1}');
      });
      expect(status).toBe(200);
      expect(await left()).toEqual(['new', ...ids.filter((id) => id !== 'r1')].toSorted());
    });

    it.each(['request', 'batch'])('ends with a membership in a group (%s)', async (form) => {
      await ask('PUT', `/v1${group}`, { data: { members: [bob] } });
      await ask('PATCH', `/v1${collection}`, { permissions: { write: [group] } });
      const { status, body } = await deleteDuring(
        ({ permission }) => permission.removeUserPrincipal(bob, storedUri(group) as unknown as Principal),
        form === 'request'
          ? deleteByBob
          : () =>
              ask(
                'POST',
                '/v1/batch',
                { requests: [{ method: 'DELETE', path: `${records}?n=1&${conditions}` }] },
                'bob',
              ),
      );
      expect(form === 'request' ? { responses: [{ status }] } : body).toMatchObject({ responses: [{ status: 403 }] });
      expect(await left()).toEqual(ids.toSorted());
    });
  });
});
