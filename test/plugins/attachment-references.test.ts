// Access to files by readers of copies that the service made of a record, and refusal for clients that write the same
// attachment into their own records.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OpenStores } from '../../src/contracts/open-backends.ts';
import { exportStores, importStores } from '../../src/transfer/export/export.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { storedId } from '../../src/core/objects/object-id.ts';
import { openFolderStore } from '../../src/blobs/folder/folder-store.ts';
import type { ObjectPlace } from '../../src/engine/objects.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import { findUnusedFiles } from '../../src/plugins/attachments/unused-files.ts';
import { startTestService, type TestClient, type TestResponse, type TestService } from '../../src/testing/index.ts';
import { FileFolder, upload } from '../support/attachments.ts';
import { forEachBackend } from '../support/backends.ts';
import { dataOf } from '../support/signing.ts';

function recordAt(uri: string): ObjectPlace {
  const [, , bucket = '', , collection = '', , record = ''] = uri.split('/');
  const ids = { bucket_id: storedId(bucket), collection_id: storedId(collection), record_id: storedId(record) };
  return { kind: 'record', ids };
}

/** Stores of the last started service. */
let stores: OpenStores;

/** Copies a record as the signer does: `POST /copy` with the URIs `from` and `to`. */
const copier = definePlugin({
  name: 'copier',
  setup: ({ objects, stores: ofService }) => ({
    start() {
      const { database } = ofService.storage;
      stores = { ...ofService, databases: [database], hasPermissions: true, close: () => Promise.resolve() };
    },
    endpoints: [
      {
        name: 'copy',
        path: '/copy',
        isResource: false,
        operations: {
          POST: {
            id: 'copy',
            async handle(context) {
              const { from, to } = context.request.body.parse() as { readonly from: string; readonly to: string };
              const source = recordAt(from);
              const { storage } = await context.unit.writer();
              await storage.lock(objects.kind('record').listKey(source.ids, context.caller));
              const attributes: JsonObject = (await objects.find(context, source))!.attributes;
              await objects.write(context, recordAt(to), {
                attributes: () => attributes,
                isVerbatim: true,
                copiedFrom: from,
              });
              return { status: 200, headers: {}, body: '{}' };
            },
          },
        },
      },
    ],
  }),
});

const open = { permissions: { read: ['system.Everyone'] } };
const original = '/buckets/private/collections/c/records/r';
const copy = '/buckets/public/collections/c/records/r';

forEachBackend((backend) => {
  describe(`Files of records that the service has copied, on ${backend.name},`, () => {
    let folder: FileFolder;
    let service: TestService;
    let alice: TestClient;
    let mallory: TestClient;

    beforeEach(async () => {
      folder = await FileFolder.create();
      const settings = {
        includes: 'default_bucket attachments',
        'attachment.base_path': folder.path,
        bucket_create_principals: 'system.Authenticated',
      };
      service = await backend.start({ settings, plugins: [copier] });
      alice = service.asUser('alice');
      mallory = service.asUser('mallory');
      await alice.request('PUT', '/v1/buckets/private');
      await alice.request('PUT', '/v1/buckets/private/collections/c');
      await alice.request('PUT', '/v1/buckets/public', { body: open });
      await alice.request('PUT', '/v1/buckets/public/collections/c');
    });
    afterEach(async () => {
      await service.close();
      await folder.remove();
    });

    const uploadTo = async (record: string, content: string): Promise<string> => {
      const { status, body } = await upload(alice, record, { content });
      expect(status).toBeLessThan(300);
      return (body as { location: string }).location;
    };
    const copyRecord = async (from: string, to: string): Promise<void> => {
      expect((await alice.request('POST', '/v1/copy', { body: { from, to } })).status).toBe(200);
    };
    const get = (client: TestClient, location: string): Promise<TestResponse> => client.request('GET', location);
    const attachmentOf = async (record: string): Promise<unknown> => (await dataOf(alice, record))['attachment'];

    it('are readable by readers of the copy at the URL in the copy, without access to the original.', async () => {
      const location = await uploadTo(original, 'hello');
      expect((await get(service, location)).status).toBe(401);
      await copyRecord(original, copy);
      expect(await attachmentOf(copy)).toEqual(await attachmentOf(original));
      expect(await get(service, location)).toMatchObject({ status: 200, text: 'hello' });
      expect(await get(mallory, location)).toMatchObject({ status: 200, text: 'hello' });
      expect((await get(service, `/v1${original}`)).status).toBe(401);
      const head = await service.request('HEAD', location);
      expect(head).toMatchObject({
        status: 200,
        headers: { 'content-length': '5', 'cache-control': 'private, no-cache' },
      });
    });

    it('are no longer readable after the copy becomes private or loses the file.', async () => {
      const location = await uploadTo(original, 'hello');
      await copyRecord(original, copy);
      const closed = { permissions: { read: [] } };
      await alice.request('PATCH', '/v1/buckets/public', { body: closed });
      expect((await get(service, location)).status).toBe(401);
      await alice.request('PATCH', '/v1/buckets/public', { body: open });
      expect((await get(service, location)).status).toBe(200);
      await alice.request('PATCH', `/v1${copy}`, { body: { data: { attachment: null } } });
      expect((await get(service, location)).status).toBe(401);
      expect(await get(alice, location)).toMatchObject({ status: 200, text: 'hello' });
    });

    it.each([
      ['the copy is deleted', ['DELETE', copy]],
      ['all records of its collection are deleted', ['DELETE', '/buckets/public/collections/c/records']],
      ['the collection of the copy is deleted', ['DELETE', '/buckets/public/collections/c']],
      ['all collections of its bucket are deleted', ['DELETE', '/buckets/public/collections']],
      ['the bucket of the copy is deleted', ['DELETE', '/buckets/public']],
      ['the copy is replaced by a record without a file', ['PUT', copy]],
    ] as const)(
      'are no longer readable when %s, even if a client recreates it with the same text.',
      async (_name, [method, target]) => {
        const location = await uploadTo(original, 'hello');
        await copyRecord(original, copy);
        const attachment = await attachmentOf(copy);
        expect(
          (await alice.request(method, `/v1${target}`, method === 'PUT' ? { body: { data: {} } } : {})).status,
        ).toBe(200);
        expect((await get(service, location)).status).toBe(401);
        for (const uri of ['/buckets/public', '/buckets/public/collections/c']) {
          await alice.request('PUT', `/v1${uri}`, { body: open });
        }
        expect(
          (await alice.request('PUT', `/v1${copy}`, { body: { data: { attachment }, ...open } })).status,
        ).toBeLessThan(300);
        expect(await attachmentOf(copy)).toEqual(attachment);
        expect((await get(service, location)).status).toBe(401);
        expect(await get(alice, location)).toMatchObject({ status: 200, text: 'hello' });
        expect(folder.names).toHaveLength(1);
      },
    );

    it('stay while a copy exists, and are deleted with the last record.', async () => {
      const first = await uploadTo(original, 'first');
      await copyRecord(original, copy);
      const second = await uploadTo(original, 'second');
      expect(await get(service, first)).toMatchObject({ status: 200, text: 'first' });
      expect((await get(service, second)).status).toBe(401);
      // Readers of the original get its new file. The old one belongs to the copy.
      expect(await get(alice, second)).toMatchObject({ status: 200, text: 'second' });
      expect(folder.names).toHaveLength(2);
      await copyRecord(original, copy);
      expect(await get(service, second)).toMatchObject({ status: 200, text: 'second' });
      expect((await get(service, first)).status).toBe(401);
      expect(folder.names).toHaveLength(1);
      await alice.request('DELETE', '/v1/buckets/private');
      expect(await get(service, second)).toMatchObject({ status: 200, text: 'second' });
      expect(folder.names).toHaveLength(1);
      await alice.request('DELETE', `/v1${copy}`);
      expect((await get(service, second)).status).toBe(401);
      expect(folder.names).toEqual([]);
    });

    it('also belong to a copy of a copy, and return to the original with it.', async () => {
      const first = await uploadTo(original, 'first');
      const third = '/buckets/public/collections/d/records/r';
      await alice.request('PUT', '/v1/buckets/public/collections/d');
      await copyRecord(original, copy);
      await copyRecord(copy, third);
      await alice.request('DELETE', `/v1${copy}`);
      expect(await get(service, first)).toMatchObject({ status: 200, text: 'first' });
      const second = await uploadTo(original, 'second');
      await copyRecord(third, original);
      expect(await get(alice, first)).toMatchObject({ status: 200, text: 'first' });
      expect((await get(alice, second)).status).toBe(404);
      expect(folder.names).toHaveLength(1);
      await alice.request('DELETE', `/v1${third}`);
      expect((await get(service, first)).status).toBe(401);
      expect(await get(alice, first)).toMatchObject({ status: 200, text: 'first' });
      await alice.request('DELETE', `/v1${original}`);
      expect(folder.names).toEqual([]);
    });

    it('are replaced when another file is uploaded to the copy.', async () => {
      const first = await uploadTo(original, 'first');
      await copyRecord(original, copy);
      const own = await uploadTo(copy, 'own');
      expect(await get(service, own)).toMatchObject({ status: 200, text: 'own' });
      expect((await get(service, first)).status).toBe(401);
      expect(folder.names).toHaveLength(2);
      await alice.request('DELETE', `/v1${copy}`);
      expect(folder.names).toHaveLength(1);
    });

    it('are in use while a copy exists, also after export and restore.', async () => {
      const location = await uploadTo(original, 'hello');
      await copyRecord(original, copy);
      const attachment = await attachmentOf(copy);
      await alice.request('PUT', '/v1/buckets/public/collections/c/records/forged', { body: { data: { attachment } } });
      await alice.request('DELETE', `/v1${original}`);
      const files = await openFolderStore({ kind: 'folder', path: folder.path });
      expect(await findUnusedFiles(files, stores.storage.reader, Infinity)).toEqual([]);
      const exported = path.join(folder.path, 'export.ndjson');
      await exportStores(stores, exported);
      await service.close();
      const settings = { includes: 'attachments', 'attachment.base_path': folder.path };
      service = await startTestService({ settings, plugins: [copier] });
      await importStores(exported, stores, { mode: 'empty', verifies: true });
      rmSync(exported);
      alice = service.asUser('alice');
      expect(await get(service, location)).toMatchObject({ status: 200, text: 'hello' });
      expect(await findUnusedFiles(files, stores.storage.reader, Infinity)).toEqual([]);
      await alice.request('DELETE', `/v1${copy}`);
      expect((await get(service, location)).status).toBe(401);
      expect(folder.names).toEqual([]);
    });

    it('are not readable through a record into which a client wrote the attachment.', async () => {
      const location = await uploadTo(original, 'secret');
      const attachment = await attachmentOf(original);
      const mine = '/v1/buckets/mine/collections/c/records';
      for (const uri of ['/v1/buckets/mine', '/v1/buckets/mine/collections/c']) await mallory.request('PUT', uri);
      const data = { attachment };
      const json = { 'Content-Type': 'application/json-patch+json' };
      const merge = { 'Content-Type': 'application/merge-patch+json' };
      const operations = [{ op: 'add', path: '/data/attachment', value: attachment }];
      for (const id of ['patched', 'merged', 'jsonpatched'])
        await mallory.request('PUT', `${mine}/${id}`, { body: {} });
      const answers = [
        await mallory.request('PUT', `${mine}/put`, { body: { data, ...open } }),
        // An id equal to that of the original must not matter.
        await mallory.request('PUT', `${mine}/r`, { body: { data } }),
        await mallory.request('POST', mine, { body: { data } }),
        await mallory.request('PATCH', `${mine}/patched`, { body: { data } }),
        await mallory.request('PATCH', `${mine}/merged`, { body: { data }, headers: merge }),
        await mallory.request('PATCH', `${mine}/jsonpatched`, { raw: JSON.stringify(operations), headers: json }),
        await mallory.request('PUT', '/v1/buckets/default/collections/c/records/r', { body: { data } }),
        await mallory.request('POST', '/v1/batch', {
          body: {
            requests: [
              { method: 'PUT', path: `${mine}/batch`, body: { data } },
              { method: 'DELETE', path: `${mine}/batch` },
              { method: 'PUT', path: `${mine}/batch`, body: { data } },
            ],
          },
        }),
      ];
      expect(answers.map(({ status }) => status < 300)).toEqual(answers.map(() => true));
      // A copy of such a record gives no access either.
      await copyRecord('/buckets/mine/collections/c/records/put', '/buckets/mine/collections/c/records/copied');
      await copyRecord('/buckets/mine/collections/c/records/put', copy);
      const name = location.split('/').at(-1)!;
      for (const client of [mallory, service]) {
        expect([401, 403]).toContain((await get(client, location)).status);
        for (const id of ['put', 'r', 'patched', 'merged', 'jsonpatched', 'batch', 'copied']) {
          const { status, text } = await get(client, `/v1/attachments/mine/c/${id}/${name}`);
          expect([id, [401, 403, 404].includes(status), text.includes('secret')]).toEqual([id, true, false]);
          const { status: signed } = await get(client, `${mine}/${id}/attachment/url`);
          expect([id, [401, 404].includes(signed)]).toEqual([id, true]);
        }
      }
      // Deleting these records does not affect the file.
      await mallory.request('DELETE', mine);
      await mallory.request('DELETE', '/v1/buckets/mine');
      await alice.request('DELETE', `/v1${copy}`);
      expect(await get(alice, location)).toMatchObject({ status: 200, text: 'secret' });
    });

    it('are not readable through a copy whose attachment was replaced in the same request.', async () => {
      const secret = await uploadTo('/buckets/private/collections/c/records/secret', 'secret');
      const attachment = await attachmentOf('/buckets/private/collections/c/records/secret');
      const own = await uploadTo(original, 'own');
      const requests = [
        { method: 'POST', path: '/copy', body: { from: original, to: copy } },
        { method: 'PATCH', path: copy, body: { data: { attachment: null } } },
        { method: 'PATCH', path: copy, body: { data: { attachment } } },
      ];
      expect((await alice.request('POST', '/v1/batch', { body: { requests } })).status).toBe(200);
      expect(await attachmentOf(copy)).toEqual(attachment);
      for (const location of [secret, own]) {
        expect((await get(service, location)).status).toBe(401);
        expect((await get(alice, location)).status).toBe(200);
      }
    });

    it('are not readable through a copy of a record whose attachment was replaced.', async () => {
      const secret = await uploadTo('/buckets/private/collections/c/records/secret', 'secret');
      const attachment = await attachmentOf('/buckets/private/collections/c/records/secret');
      const own = await uploadTo(original, 'own');
      const requests = [
        { method: 'PATCH', path: original, body: { data: { attachment: null } } },
        { method: 'PATCH', path: original, body: { data: { attachment } } },
        { method: 'POST', path: '/copy', body: { from: original, to: copy } },
      ];
      const { status, body } = await alice.request('POST', '/v1/batch', { body: { requests } });
      expect([status, (body as { responses: { status: number }[] }).responses.map((each) => each.status)]).toEqual([
        200,
        [200, 200, 200],
      ]);
      expect(await attachmentOf(copy)).toEqual(attachment);
      for (const location of [secret, own]) expect((await get(service, location)).status).toBe(401);
      expect(await get(alice, secret)).toMatchObject({ status: 200, text: 'secret' });
      expect(folder.names).toHaveLength(1);
    });

    it('are unaffected by a copy or its deletion that is rolled back.', async () => {
      const location = await uploadTo(original, 'hello');
      const undone = { method: 'PUT', path: '/buckets/private', headers: { 'If-None-Match': '*' } };
      const batch = (requests: readonly object[]): Promise<TestResponse> =>
        alice.request('POST', '/v1/batch', { body: { requests } });
      const conflict = {
        method: 'POST',
        path: '/copy',
        body: { from: '/buckets/private/collections/c/records/none', to: copy },
      };
      expect(
        (await batch([{ method: 'POST', path: '/copy', body: { from: original, to: copy } }, conflict])).status,
      ).toBe(500);
      expect((await get(service, location)).status).toBe(401);
      await copyRecord(original, copy);
      expect(
        (await batch([{ method: 'DELETE', path: copy }, { method: 'DELETE', path: original }, undone, conflict]))
          .status,
      ).toBe(500);
      expect(await get(service, location)).toMatchObject({ status: 200, text: 'hello' });
    });
  });
});
