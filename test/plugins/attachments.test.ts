// Attachments on every backend: effects of uploads, replacements, removals and deletions on records and files.
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { formatJson, type JsonObject } from '../../src/base/json.ts';
import { TransactionConflict } from '../../src/contracts/errors.ts';
import { ServiceError } from '../../src/core/errors.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import type { Endpoint } from '../../src/engine/endpoint.ts';
import { jsonResponse } from '../../src/engine/exchange.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import type { TestClient, TestService } from '../../src/testing/index.ts';
import { FileFolder, form, sha256, upload } from '../support/attachments.ts';
import { forEachBackend } from '../support/backends.ts';

/** Error of the next unit of work that changes a record, at its end. */
let failures: Error[] = [];

/** Plugin that fails on demand, and writes records as the service itself. */
const saboteur = definePlugin({
  name: 'saboteur',
  setup({ objects }) {
    const handle = (): void => {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
    };
    const write: Endpoint = {
      name: 'write',
      path: '/write/{bucket_id}/{collection_id}/{record_id}',
      isResource: false,
      operations: {
        POST: {
          id: 'write',
          async handle(context) {
            const attributes = context.request.body.parse() as JsonObject;
            await objects.write(context, { kind: 'record', ids: context.ids }, { attributes: () => attributes });
            return jsonResponse(200, {});
          },
        },
      },
    };
    const importLink: Endpoint = {
      name: 'import-link',
      path: '/import-link',
      isResource: false,
      operations: {
        POST: {
          id: 'import_link',
          async handle({ request, unit }) {
            const { storage } = await unit.writer();
            const list = { kind: 'attachments', parent: storedParent('__attachments__') };
            await storage.create(list, randomUUID(), formatJson(request.body.parse()));
            return jsonResponse(200, {});
          },
        },
      },
    };
    return {
      endpoints: [write, importLink],
      subscribers: [{ name: 'saboteur', on: 'ResourceChanged', kinds: ['record'], handle }],
    };
  },
});

interface Attachment {
  readonly filename: string;
  readonly location: string;
  readonly hash: string;
  readonly mimetype: string;
  readonly size: number;
}

forEachBackend((backend) => {
  describe(`Attachments on ${backend.name}`, () => {
    let folder: FileFolder;
    let service: TestService;
    let alice: TestClient;
    let bucket: string;
    let count = 0;

    beforeAll(async () => {
      folder = await FileFolder.create();
      service = await backend.start({
        plugins: [saboteur],
        settings: {
          includes: 'default_bucket attachments flush',
          experimental_collection_schema_validation: 'true',
          bucket_create_principals: 'system.Authenticated',
          'attachment.base_path': folder.path,
          'attachment.base_url': 'https://files.example.org/of',
          'attachment.resources.keeping.keep_old_files': 'true',
        },
      });
      alice = service.asUser('alice');
    });
    afterAll(async () => {
      await service.close();
      await folder.remove();
    });
    beforeEach(async () => {
      failures = [];
      bucket = `/buckets/b${count++}`;
      await alice.request('PUT', `/v1${bucket}`);
      await alice.request('PUT', `/v1${bucket}/collections/c`);
      expect(folder.names).toEqual([]);
      return async () => {
        await alice.request('DELETE', `/v1${bucket}`);
        expect(folder.names).toEqual([]);
      };
    });

    const record = (id = 'r'): string => `${bucket}/collections/c/records/${id}`;
    const read = async (id = 'r'): Promise<Record<string, unknown>> => {
      const { status, body } = await alice.request('GET', `/v1${record(id)}`);
      expect(status).toBe(200);
      return (body as { data: Record<string, unknown> }).data;
    };

    it('are uploaded with a new record.', async () => {
      const { status, headers, body } = await upload(alice, record(), {
        data: { title: 'Soup' },
        permissions: { read: ['system.Everyone'] },
      });
      expect(status).toBe(201);
      const [name = ''] = folder.names;
      expect(name).toMatch(/^[0-9a-f-]{36}\.txt$/);
      const attachment = {
        filename: 'hello.txt',
        location: `https://files.example.org/of/${name}`,
        hash: sha256('hello'),
        mimetype: 'text/plain',
        size: 5,
      };
      expect(body).toEqual(attachment);
      expect(headers['location']).toBe(`/v1${record()}`);
      expect(headers['access-control-expose-headers']).toContain('Location');
      const stored = await alice.request('GET', `/v1${record()}`);
      expect(stored.headers['etag']).toBe(headers['etag']);
      expect(stored.body).toMatchObject({
        data: { title: 'Soup', attachment },
        permissions: { read: ['system.Everyone'] },
      });
      expect(await readFile(join(folder.path, name), 'utf8')).toBe('hello');
    });

    it('are added to an existing record, whose other attributes stay.', async () => {
      await alice.request('PUT', `/v1${record()}`, { body: { data: { title: 'Soup', minutes: 20 } } });
      const { status } = await upload(alice, record(), { data: { minutes: 25 } });
      expect(status).toBe(200);
      expect(await read()).toMatchObject({ title: 'Soup', minutes: 25, attachment: { size: 5 } });
    });

    it('can be large without being held in memory.', async () => {
      const content = Buffer.alloc(12_000_000, 'All work and no play makes Jack a dull boy. ');
      const { status, body } = await upload(alice, record(), { content, filename: 'novel.txt' });
      expect([status, body]).toMatchObject([201, { size: content.length, hash: sha256(content) }]);
      const stored = await readFile(join(folder.path, folder.names[0]!));
      expect(createHash('sha256').update(stored).digest('hex')).toBe(sha256(content));
    });

    it('replace each other.', async () => {
      await upload(alice, record(), { content: 'one' });
      const [first] = folder.names;
      const { status, body } = await upload(alice, record(), { content: 'two' });
      expect(status).toBe(200);
      expect(folder.names).toHaveLength(1);
      expect(folder.names).not.toContain(first);
      expect((await read())['attachment']).toEqual(body);
    });

    it('are removed, and the record stays.', async () => {
      await upload(alice, record(), { data: { title: 'Soup' } });
      const { status, text, headers } = await alice.request('DELETE', `/v1${record()}/attachment`);
      expect([status, text]).toEqual([204, '']);
      expect(await read()).toMatchObject({ title: 'Soup', attachment: null });
      expect(headers['etag']).toMatch(/^"\d+"$/);
      expect(folder.names).toEqual([]);
      // A second removal succeeds, because the result is the same.
      expect((await alice.request('DELETE', `/v1${record()}/attachment`)).status).toBe(204);
      expect((await upload(alice, record())).status).toBe(200);
    });

    it('are deleted when clients remove the attribute.', async () => {
      await upload(alice, record('patched'));
      await upload(alice, record('replaced'));
      await alice.request('PATCH', `/v1${record('patched')}`, { body: { data: { attachment: null } } });
      await alice.request('PUT', `/v1${record('replaced')}`, { body: { data: { title: 'without' } } });
      expect(folder.names).toEqual([]);
    });

    it('are not changed by other writes.', async () => {
      const { body } = await upload(alice, record());
      const attachment = body as Attachment;
      for (const change of [
        { ...attachment, size: 6 },
        { ...attachment, location: 'https://elsewhere.example/' },
        'x',
      ]) {
        const refused = await alice.request('PATCH', `/v1${record()}`, { body: { data: { attachment: change } } });
        expect(refused).toMatchObject({ status: 400, body: { code: 400, errno: 999, error: 'Bad Request' } });
      }
    });

    it('stay after writes that repeat or omit them.', async () => {
      const { body } = await upload(alice, record());
      const written = await alice.request('PUT', `/v1${record()}`, { body: { data: { attachment: body, a: 1 } } });
      expect(written.status).toBe(200);
      expect((await alice.request('PATCH', `/v1${record()}`, { body: { data: { a: 2 } } })).status).toBe(200);
      expect(await read()).toMatchObject({ a: 2, attachment: body });
      expect(folder.names).toHaveLength(1);
    });

    it('roll back a batch that would change them.', async () => {
      const { body } = await upload(alice, record());
      const requests = [
        { method: 'PUT', path: record('other'), body: { data: {} } },
        { method: 'PATCH', path: record(), body: { data: { attachment: { ...(body as Attachment), size: 1 } } } },
      ];
      expect(await alice.request('POST', '/v1/batch', { body: { requests } })).toMatchObject({
        status: 400,
        body: { errno: 999 },
      });
      expect((await alice.request('GET', `/v1${record('other')}`)).status).toBe(404);
    });

    it('can be copied by the service itself.', async () => {
      const first = (await upload(alice, record('source'), { content: 'one' })).body as Attachment;
      await alice.request('PUT', `/v1${record('copy')}`, { body: { data: { attachment: first } } });
      const second = (await upload(alice, record('source'), { content: 'two' })).body as Attachment;
      const target = `/v1/write/${bucket.split('/').at(-1)}/c/copy`;
      expect((await alice.request('POST', target, { body: { attachment: second } })).status).toBe(200);
      expect((await read('copy'))['attachment']).toEqual(second);
      // The file belongs to the other record.
      await alice.request('DELETE', `/v1${record('copy')}`);
      expect(folder.names).toHaveLength(1);
    });

    it('are deleted with their record, alone or with a list.', async () => {
      await upload(alice, record('a'));
      await upload(alice, record('b'));
      await upload(alice, record('c'));
      await alice.request('PUT', `/v1${record('bare')}`);
      await alice.request('DELETE', `/v1${record('a')}`);
      expect(folder.names).toHaveLength(2);
      await alice.request('DELETE', `/v1${bucket}/collections/c/records`);
      expect(folder.names).toEqual([]);
    });

    it('are deleted with their collection, also in a batch, without those of others.', async () => {
      for (const collection of ['c', 'cc', 'd']) {
        await alice.request('PUT', `/v1${bucket}/collections/${collection}`);
        await upload(alice, `${bucket}/collections/${collection}/records/a`);
        await upload(alice, `${bucket}/collections/${collection}/records/b`);
      }
      await alice.request('DELETE', `/v1${bucket}/collections/c`);
      expect(folder.names).toHaveLength(4);
      const requests = [{ method: 'DELETE', path: `${bucket}/collections/d` }];
      await alice.request('POST', '/v1/batch', { body: { requests } });
      expect(folder.names).toHaveLength(2);
      await alice.request('DELETE', `/v1${bucket}/collections`);
      expect(folder.names).toEqual([]);
      await alice.request('PUT', `/v1${bucket}/collections/c`);
      expect((await upload(alice, record())).status).toBe(201);
    });

    it('are deleted with their bucket.', async () => {
      await upload(alice, record('a'));
      await alice.request('PUT', `/v1${bucket}b`);
      await alice.request('PUT', `/v1${bucket}b/collections/c`);
      await upload(alice, `${bucket}b/collections/c/records/r`);
      await alice.request('DELETE', `/v1${bucket}`);
      expect(folder.names).toHaveLength(1);
      await alice.request('DELETE', `/v1${bucket}b`);
      expect(folder.names).toEqual([]);
    });

    it('are deleted by a flush.', async () => {
      await upload(alice, record('a'));
      await upload(alice, record('b'));
      expect((await alice.request('POST', '/v1/__flush__')).status).toBe(202);
      expect(folder.names).toEqual([]);
    });

    it('work in personal buckets.', async () => {
      const path = '/buckets/default/collections/mine/records/r';
      expect((await upload(alice, path, { data: { title: 'Soup' } })).status).toBe(201);
      expect((await upload(alice, path)).status).toBe(200);
      expect(folder.names).toHaveLength(1);
      expect((await upload(service, path)).status).toBe(401);
      expect((await alice.request('DELETE', `/v1${path}/attachment`)).status).toBe(204);
      await upload(alice, path);
      await alice.request('DELETE', '/v1/buckets/default');
      expect(folder.names).toEqual([]);
    });

    it('can be removed but not uploaded in a batch.', async () => {
      await upload(alice, record());
      const requests = [{ method: 'DELETE', path: `${record()}/attachment` }, { path: record() }];
      const { body } = await alice.request('POST', '/v1/batch', { body: { requests } });
      expect(body).toMatchObject({
        responses: [{ status: 204 }, { status: 200, body: { data: { attachment: null } } }],
      });
      expect(folder.names).toEqual([]);
      const uploads = [{ method: 'POST', path: `${record()}/attachment`, body: { data: {} } }];
      const refused = await alice.request('POST', '/v1/batch', { body: { requests: uploads } });
      expect(refused.body).toMatchObject({ responses: [{ status: 400, body: { errno: 107 } }] });
    });

    it('require permission to write or create the record.', async () => {
      const bob = service.asUser('bob');
      const { body } = await bob.request('GET', '/v1/');
      const { id } = (body as { user: { id: string } }).user;
      expect((await upload(bob, record())).status).toBe(403);
      expect((await upload(service, record())).status).toBe(401);
      await alice.request('PATCH', `/v1${bucket}/collections/c`, { body: { permissions: { 'record:create': [id] } } });
      expect((await upload(bob, record('of-bob'))).status).toBe(201);
      await upload(alice, record('of-alice'));
      expect((await upload(bob, record('of-alice'))).status).toBe(403);
      expect((await bob.request('DELETE', `/v1${record('of-alice')}/attachment`)).status).toBe(403);
      expect((await upload(bob, '/buckets/nowhere/collections/c/records/r')).status).toBe(403);
      expect(folder.names).toHaveLength(2);
    });

    it('require a collection.', async () => {
      const refused = await upload(alice, `${bucket}/collections/missing/records/r`);
      expect(refused).toMatchObject({ status: 404, body: { errno: 111, details: { id: 'missing' } } });
      const absent = await alice.request('DELETE', `/v1${record('missing')}/attachment`);
      expect(absent).toMatchObject({ status: 404, body: { errno: 110 } });
    });

    it('respect preconditions.', async () => {
      const first = await upload(alice, record(), { headers: { 'If-None-Match': '*' } });
      expect(first.status).toBe(201);
      expect(await upload(alice, record(), { headers: { 'If-None-Match': '*' } })).toMatchObject({ status: 412 });
      const stale = { headers: { 'If-Match': '"1"' } };
      expect(await upload(alice, record(), stale)).toMatchObject({ status: 412, body: { errno: 114 } });
      expect(await alice.request('DELETE', `/v1${record()}/attachment`, stale)).toMatchObject({ status: 412 });
      expect(await upload(alice, record('absent'), stale)).toMatchObject({ status: 412 });
      expect(folder.names).toHaveLength(1);
      const match = { headers: { 'If-Match': first.headers['etag']! } };
      expect((await upload(alice, record(), match)).status).toBe(200);
      expect(folder.names).toHaveLength(1);
    });

    it('leave no file when the schema refuses the record.', async () => {
      const schema = { type: 'object', properties: { minutes: { type: 'integer' } } };
      await alice.request('PATCH', `/v1${bucket}/collections/c`, { body: { data: { schema } } });
      const refused = await upload(alice, record(), { data: { minutes: 'many' } });
      expect(refused).toMatchObject({ status: 400, body: { errno: 107 } });
      expect(folder.names).toEqual([]);
      expect(await upload(alice, record('no spaces'.replace(' ', '%20')))).toMatchObject({ status: 400 });
      expect(folder.names).toEqual([]);
    });

    it('leave no file and replace none when the change is refused at its end.', async () => {
      failures = [new ServiceError('forbidden')];
      expect((await upload(alice, record())).status).toBe(403);
      expect(folder.names).toEqual([]);
      const { body } = await upload(alice, record());
      const { names } = folder;
      for (const failure of [new ServiceError('forbidden'), new Error('broken')]) {
        failures = [failure];
        expect((await upload(alice, record())).status).toBeGreaterThanOrEqual(403);
        failures = [failure];
        expect((await alice.request('DELETE', `/v1${record()}`)).status).toBeGreaterThanOrEqual(403);
      }
      expect(folder.names).toEqual(names);
      expect((await read())['attachment']).toEqual(body);
    });

    it('are stored once when the unit of work is retried.', async () => {
      failures = [new TransactionConflict('once'), new TransactionConflict('twice')];
      const { status, body } = await upload(alice, record(), { content: 'again' });
      expect([status, body]).toMatchObject([201, { hash: sha256('again') }]);
      expect(folder.names).toHaveLength(1);
      expect(await readFile(join(folder.path, folder.names[0]!), 'utf8')).toBe('again');
    });

    it('uploaded concurrently to one record leave one file.', async () => {
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, index) => upload(alice, record(), { content: `number ${index}` })),
      );
      const statuses = answers.map(({ status }) => String(status)).toSorted();
      expect(statuses).toEqual(['200', '200', '200', '200', '200', '201']);
      const { attachment } = await read();
      expect(folder.names).toEqual([(attachment as Attachment).location.split('/').at(-1)]);
    });

    it('imported from Kinto are deleted like all others.', async () => {
      for (const id of ['deleted', 'replaced', 'removed', 'below', 'other']) {
        const location = `imported/${id}.txt`;
        await mkdir(join(folder.path, 'imported'), { recursive: true });
        await writeFile(join(folder.path, location), id);
        const attachment = { location: `https://files.example.org/${location}` };
        await alice.request('PUT', `/v1${record(id)}`, { body: { data: { attachment } } });
        const link = {
          location,
          bucket_uri: bucket,
          collection_uri: `${bucket}/collections/c`,
          record_uri: record(id),
        };
        await alice.request('POST', '/v1/import-link', { body: link });
      }
      await alice.request('DELETE', `/v1${record('deleted')}`);
      expect((await upload(alice, record('replaced'))).status).toBe(200);
      await alice.request('DELETE', `/v1${record('removed')}/attachment`);
      expect(folder.names.filter((name) => name.startsWith('imported'))).toEqual([
        'imported/below.txt',
        'imported/other.txt',
      ]);
      await alice.request('DELETE', `/v1${bucket}/collections/c`);
      expect(folder.names).toEqual([]);
    });

    it('stay if keep_old_files is enabled.', async () => {
      await alice.request('PUT', '/v1/buckets/keeping');
      await alice.request('PUT', '/v1/buckets/keeping/collections/c');
      const path = '/buckets/keeping/collections/c/records/r';
      await upload(alice, path);
      await upload(alice, path);
      await alice.request('DELETE', `/v1${path}/attachment`);
      await upload(alice, path);
      await alice.request('DELETE', `/v1${path}`);
      await alice.request('DELETE', '/v1/buckets/keeping');
      expect(folder.names).toHaveLength(3);
      await alice.request('POST', '/v1/__flush__');
    });

    it('are accepted only in forms.', async () => {
      const path = `/v1${record()}/attachment`;
      const json = await alice.request('POST', path, { body: { data: {} } });
      expect(json).toMatchObject({
        status: 400,
        body: { errno: 107, details: [{ location: 'header', name: 'Content-Type' }] },
      });
      expect((await alice.request('POST', path)).status).toBe(400);
      expect((await alice.request('POST', path, form([], { 'Content-Type': 'multipart/form-data' }))).status).toBe(400);
      expect((await alice.request('GET', path)).status).toBe(405);
    });
  });
});
