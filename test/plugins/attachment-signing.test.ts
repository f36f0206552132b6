// Files of records that the signer publishes: they are as public as the published records, and no other file becomes public.
import { afterAll, describe, expect, it } from 'vitest';
import { FileFolder, upload } from '../support/attachments.ts';
import { forEachBackend } from '../support/backends.ts';
import { createKeys, dataOf, fetchChangeset, isTrue, setStatus } from '../support/signing.ts';

const keys = createKeys();
afterAll(() => keys.remove());

forEachBackend((backend) => {
  describe(`Files of signed records on ${backend.name}`, () => {
    it('are as public as the records, and files under review are not.', async () => {
      const folder = await FileFolder.create();
      const source = '/buckets/staging/collections/c';
      const settings = {
        includes: 'changes signer attachments',
        'attachment.base_path': folder.path,
        'signer.resources': '/buckets/staging -> /buckets/main',
        ...keys.settings,
      };
      const service = await backend.start({ settings });
      try {
        const alice = service.asUser('alice');
        await alice.request('PUT', '/v1/buckets/staging');
        await alice.request('PUT', `/v1${source}`);
        const put = async (content: string): Promise<string> => {
          const { body } = await upload(alice, `${source}/records/r`, { content });
          return (body as { location: string }).location;
        };
        const publicly = async (location: string): Promise<number> => (await service.request('GET', location)).status;
        const first = await put('first');
        expect(await publicly(first)).toBe(401);
        expect((await setStatus(alice, source, 'to-sign')).status).toBe(200);
        expect(await publicly(first)).toBe(200);
        const changeset = await fetchChangeset(service, 'main', 'c');
        expect(changeset.changes).toMatchObject([{ attachment: { location: first } }]);
        expect(isTrue(changeset, keys.publicKey)).toBe(true);

        const second = await put('second');
        expect([await publicly(first), await publicly(second)]).toEqual([200, 401]);
        expect((await setStatus(alice, source, 'to-rollback')).status).toBe(200);
        expect(await dataOf(alice, `${source}/records/r`)).toMatchObject({ attachment: { location: first } });
        expect(await alice.request('GET', first)).toMatchObject({ status: 200, text: 'first' });
        expect(folder.names).toHaveLength(1);

        const third = await put('third');
        expect((await setStatus(alice, source, 'to-sign')).status).toBe(200);
        expect([await publicly(first), await publicly(third)]).toEqual([401, 200]);
        expect(folder.names).toHaveLength(1);

        // An editor names a private file of another user in a source record, which is published unchanged.
        const bob = service.asUser('bob');
        for (const uri of ['/buckets/bob', '/buckets/bob/collections/c']) await bob.request('PUT', `/v1${uri}`);
        const { body } = await upload(bob, '/buckets/bob/collections/c/records/r', { content: 'secret' });
        const forged = { data: { attachment: body } };
        expect((await alice.request('PUT', `/v1${source}/records/forged`, { body: forged })).status).toBe(201);
        expect((await setStatus(alice, source, 'to-sign')).status).toBe(200);
        expect(await dataOf(alice, '/buckets/main/collections/c/records/forged')).toMatchObject(forged.data);
        const { location } = body as { location: string };
        expect(await publicly(location)).toBe(401);
        expect((await alice.request('GET', location)).status).toBe(403);

        await alice.request('DELETE', `/v1${source}/records/r`);
        expect(await publicly(third)).toBe(200);
        expect((await setStatus(alice, source, 'to-sign')).status).toBe(200);
        expect(await publicly(third)).toBe(401);
        expect(await bob.request('GET', location)).toMatchObject({ status: 200, text: 'secret' });
        expect(folder.names).toHaveLength(1);
      } finally {
        await service.close();
        await folder.remove();
      }
    });
  });
});
