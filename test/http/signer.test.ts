// Signing over HTTP: records from editors through reviewers to clients that verify them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { NamedEvent } from '../../src/engine/events/event.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import type { TestClient, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import {
  createKeys,
  dataOf,
  fetchChangeset,
  isTrue,
  setStatus,
  userIdOf,
  type SignedRecord,
} from '../support/signing.ts';

const keys = createKeys();
afterAll(() => keys.remove());

const settings = {
  includes: 'changes signer',
  'changes.resources': '/buckets/main',
  'signer.resources': '/buckets/staging -> /buckets/preview -> /buckets/main',
  'signer.to_review_enabled': 'true',
  'signer.staging.free.to_review_enabled': 'false',
  'signer.staging.open.to_review_enabled': 'false',
  ...keys.settings,
};

let told: NamedEvent[] = [];
const audience = definePlugin({
  name: 'audience',
  setup: () => ({
    subscribers: [
      { name: 'all', on: 'AfterNamedEvent', handle: (event) => void told.push(event) },
      { name: 'none', on: 'AfterNamedEvent', events: ['Other'], handle: () => expect.unreachable() },
      {
        name: 'failing',
        on: 'AfterNamedEvent',
        handle() {
          throw new Error('too late to matter');
        },
      },
    ],
  }),
});

forEachBackend((backend) => {
  describe(`signing on ${backend.name}`, () => {
    let service: TestService;
    let [editor, reviewer, stranger]: readonly TestClient[] = [];
    let count = 0;
    let name = '';
    let source = '';

    beforeAll(async () => {
      service = await backend.start({ settings, plugins: [audience] });
      [editor, reviewer, stranger] = ['editor', 'reviewer', 'stranger'].map((user) => service.asUser(user));
      await editor!.request('PUT', '/v1/buckets/staging', {
        body: { permissions: { 'collection:create': ['system.Authenticated'] } },
      });
    });
    afterAll(() => service.close());
    beforeEach(async () => {
      name = `c${(count += 1)}`;
      source = `/buckets/staging/collections/${name}`;
      await create(name);
      told = [];
    });

    async function create(id: string): Promise<void> {
      const created = await editor!.request('PUT', `/v1/buckets/staging/collections/${id}`, {
        body: { data: { displayFields: ['title'], private: 1 } },
      });
      expect(created.status).toBe(201);
      await editor!.request('PATCH', `/v1/buckets/staging/groups/${id}-reviewers`, {
        body: { data: { members: [await userIdOf(reviewer!)] } },
      });
    }

    const put = async (id: string, data: object): Promise<void> => {
      const { status, text } = await editor!.request('PUT', `/v1${source}/records/${id}`, { body: { data } });
      expect(status, text).toBeLessThan(300);
    };
    const contents = async (bucket: string): Promise<unknown> => {
      const changeset = await fetchChangeset(service, bucket, name);
      expect(isTrue(changeset, keys.publicKey)).toBe(true);
      return Object.fromEntries(changeset.changes.map(({ id, title }) => [id, title]));
    };
    const approve = async (): Promise<void> => {
      expect(await setStatus(editor!, source, 'to-review')).toMatchObject({ status: 200 });
      expect(await setStatus(reviewer!, source, 'to-sign')).toMatchObject({ status: 200 });
    };

    it('a new source has groups, and an empty signed preview and destination that everyone can read.', async () => {
      const id = await userIdOf(editor!);
      expect(await dataOf(editor!, source)).toMatchObject({
        status: 'signed',
        last_edit_by: id,
        last_edit_date: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/),
        last_signature_by: id,
      });
      const { body } = await editor!.request('GET', `/v1${source}`);
      const groups = ['editors', 'reviewers'].map((group) => `/buckets/staging/groups/${name}-${group}`);
      const { write } = (body as { permissions: { write: string[] } }).permissions;
      expect(write.toSorted()).toEqual([...groups, id].toSorted());
      expect(await dataOf(editor!, groups[0]!)).toMatchObject({ members: [id] });
      expect(await contents('preview')).toEqual({});
      expect(await contents('main')).toEqual({});
      const main = await service.request('GET', `/v1/buckets/main/collections/${name}`);
      expect(main.body).toMatchObject({
        data: {
          displayFields: ['title'],
          signature: { mode: 'p384ecdsa', x5u: '', signature: expect.stringMatching(/^[\w-]{128}$/) },
          signatures: [{ mode: 'p384ecdsa' }],
        },
      });
      expect((main.body as { data: object }).data).not.toHaveProperty('private');
    });

    it('copies records to the preview for review, and to the destination on approval.', async () => {
      await put('a', { title: 'Ärger 😀' });
      await put('b', { title: 'two', n: 123 });
      expect(await dataOf(editor!, source)).toMatchObject({ status: 'work-in-progress' });
      const asked = await setStatus(editor!, source, 'to-review', { last_editor_comment: 'please' });
      expect(asked.status).toBe(200);
      expect(await dataOf(editor!, source)).toMatchObject({
        status: 'to-review',
        last_review_request_by: await userIdOf(editor!),
      });
      expect(await contents('preview')).toEqual({ a: 'Ärger 😀', b: 'two' });
      expect(await contents('main')).toEqual({});
      expect((await setStatus(reviewer!, source, 'to-sign', { last_reviewer_comment: 'fine' })).status).toBe(200);
      const by = await userIdOf(reviewer!);
      expect(await dataOf(editor!, source)).toMatchObject({
        status: 'signed',
        last_review_by: by,
        last_signature_by: by,
        last_signature_date: expect.any(String),
      });
      expect(await contents('main')).toEqual({ a: 'Ärger 😀', b: 'two' });
      const payload = { resource_name: 'collection', bucket_id: 'staging', collection_id: name, changes_count: 2 };
      expect(told.map((event) => [event.name, event.payload])).toMatchObject([
        ['ReviewRequested', { ...payload, comment: 'please', uri: source, user_id: await userIdOf(editor!) }],
        ['ReviewApproved', { ...payload, comment: 'fine', user_id: by }],
      ]);
      expect(told[0]!.payload['changes_size_bytes']).toBeGreaterThan(30);
    });

    it('copies get new timestamps in the order of their sources, and deletions leave tombstones.', async () => {
      await put('a', { title: 'one' });
      await put('b', { title: 'two' });
      await approve();
      const before = await fetchChangeset(service, 'main', name);
      await editor!.request('DELETE', `/v1${source}/records/a`);
      await put('d', { title: 'four' });
      await put('c', { title: 'three' });
      const edited = Number(
        (await editor!.request('GET', `/v1${source}/records`)).headers['etag']?.replaceAll('"', ''),
      );
      await approve();
      expect(await contents('main')).toEqual({ b: 'two', c: 'three', d: 'four' });
      const list = `/v1/buckets/main/collections/${name}/records?_since=${before.timestamp}`;
      const { data } = (await editor!.request('GET', list)).body as { data: SignedRecord[] };
      expect(data).toMatchObject([{ id: 'c' }, { id: 'd' }, { id: 'a', deleted: true }]);
      expect(data.filter((record) => record.last_modified <= edited)).toEqual([]);
    });

    it('a publication is new in the list of changes, although its edits are older than other publications.', async () => {
      const changes = '/v1/buckets/monitor/collections/changes/records';
      await put('a', { title: 'one' });
      await approve();
      await put('a', { title: 'two' });
      await setStatus(editor!, source, 'to-review');
      // Another collection, without review, is published before this one.
      const other = '/buckets/staging/collections/open';
      await editor!.request('PUT', `/v1${other}`);
      await editor!.request('PUT', `/v1${other}/records/x`, { body: { data: { n: count } } });
      expect(await setStatus(editor!, other, 'to-sign')).toMatchObject({ status: 200 });
      const seen = await service.request('GET', changes);
      expect(await setStatus(reviewer!, source, 'to-sign')).toMatchObject({ status: 200 });
      const news = await service.request('GET', `${changes}?_since=${seen.headers['etag']}`);
      const { data } = news.body as { data: readonly { readonly bucket: string; readonly collection: string }[] };
      expect(data.map(({ bucket, collection }) => `${bucket}/${collection}`)).toEqual([`main/${name}`]);
    });

    it('a rejected request returns to work-in-progress with a comment.', async () => {
      await put('a', { title: 'one' });
      await setStatus(editor!, source, 'to-review');
      const rejected = await setStatus(reviewer!, source, 'work-in-progress', { last_reviewer_comment: 'no' });
      expect(rejected.status).toBe(200);
      expect(await dataOf(editor!, source)).toMatchObject({ status: 'work-in-progress' });
      expect(await contents('main')).toEqual({});
      expect(told.at(-1)).toMatchObject({ name: 'ReviewRejected', payload: { comment: 'no', changes_count: 1 } });
    });

    it('a rollback restores the signed records and keeps the timestamps of unchanged ones.', async () => {
      await put('kept', { title: 'same' });
      await put('a', { title: 'one' });
      await put('b', { title: 'two' });
      await approve();
      const before = await dataOf(editor!, `${source}/records/kept`);
      await put('a', { title: 'changed' });
      await put('d', { title: 'new' });
      await editor!.request('DELETE', `/v1${source}/records/b`);
      await setStatus(editor!, source, 'to-review');
      expect(await contents('preview')).toEqual({ kept: 'same', a: 'changed', d: 'new' });
      told = [];
      expect((await setStatus(editor!, source, 'to-rollback')).status).toBe(200);
      expect(await dataOf(editor!, source)).toMatchObject({ status: 'signed' });
      expect(await contents('preview')).toEqual({ kept: 'same', a: 'one', b: 'two' });
      const { body } = await editor!.request('GET', `/v1${source}/records`);
      const titles = (body as { data: { id: string; title: string }[] }).data.map((record) => record.title);
      expect(titles.toSorted()).toEqual(['one', 'same', 'two']);
      expect(await dataOf(editor!, `${source}/records/kept`)).toEqual(before);
      expect(told).toMatchObject([{ name: 'ReviewCanceled', payload: { changes_count: 3 } }]);
    });

    it('a rollback without changes cancels nothing.', async () => {
      await put('a', { title: 'one' });
      await approve();
      const rollBack = async (): Promise<readonly unknown[]> => {
        told = [];
        expect(await setStatus(editor!, source, 'to-rollback')).toMatchObject({ status: 200 });
        expect(await dataOf(editor!, source)).toMatchObject({ status: 'signed' });
        return told.map((event) => event.name);
      };
      await setStatus(editor!, source, 'work-in-progress');
      expect(await rollBack()).toEqual([]);
      // The preview has a record that the source no longer has.
      await put('b', { title: 'two' });
      await setStatus(editor!, source, 'to-review');
      await editor!.request('DELETE', `/v1${source}/records/b`);
      expect(await rollBack()).toEqual(['ReviewCanceled']);
      expect(await contents('preview')).toEqual({ a: 'one' });
    });

    it('signing again copies no records and restores the status.', async () => {
      await put('a', { title: 'one' });
      await approve();
      await put('a', { title: 'changed' });
      const before = await fetchChangeset(service, 'main', name);
      expect((await setStatus(editor!, source, 'to-resign')).status).toBe(200);
      const after = await fetchChangeset(service, 'main', name);
      expect(isTrue(after, keys.publicKey)).toBe(true);
      expect(after.changes).toEqual(before.changes);
      expect(after.metadata.signature).not.toEqual(before.metadata.signature);
      expect(await dataOf(editor!, source)).toMatchObject({ status: 'work-in-progress' });
    });

    it('copies the attributes that clients need, and removes them with their originals.', async () => {
      const schema = { type: 'object', properties: { title: { type: 'string' } } };
      await editor!.request('PATCH', `/v1${source}`, {
        body: { data: { schema, sort: 'title', flags: ['startup'], attachment: { enabled: true } } },
      });
      await put('a', { title: 'one' });
      await approve();
      const main = `/buckets/main/collections/${name}`;
      expect(await dataOf(service, main)).toMatchObject({ schema, sort: 'title', flags: ['startup'] });
      await editor!.request('PATCH', `/v1${source}`, {
        headers: { 'Content-Type': 'application/merge-patch+json' },
        body: { data: { sort: null } },
      });
      await put('b', { title: 'two' });
      await approve();
      expect(await dataOf(service, main)).not.toHaveProperty('sort');
      expect(await contents('main')).toEqual({ a: 'one', b: 'two' });
    });

    it('without reviews any writer signs, also in one batch with the records.', async () => {
      name = 'free';
      source = '/buckets/staging/collections/free';
      await create('free');
      await put('a', { title: 'one' });
      expect((await setStatus(editor!, source, 'to-sign')).status).toBe(200);
      expect(await contents('main')).toEqual({ a: 'one' });
      expect((await setStatus(editor!, source, 'to-sign')).status).toBe(400);
      const { body } = await editor!.request('POST', '/v1/batch', {
        body: {
          requests: [
            { method: 'PUT', path: `${source}/records/b`, body: { data: { title: 'two' } } },
            { method: 'PATCH', path: source, body: { data: { status: 'to-sign' } } },
          ],
        },
      });
      expect(body).toMatchObject({ responses: [{ status: 201 }, { status: 200 }] });
      expect(await contents('main')).toEqual({ a: 'one', b: 'two' });
      expect(await dataOf(editor!, source)).toMatchObject({ status: 'signed' });
    });

    it('a deleted source leaves its preview and destination empty and signed, and can be recreated.', async () => {
      await put('a', { title: 'one' });
      await approve();
      expect((await editor!.request('DELETE', `/v1${source}`)).status).toBe(200);
      expect(await contents('main')).toEqual({});
      expect(await contents('preview')).toEqual({});
      const list = `/v1/buckets/main/collections/${name}/records?_since=0`;
      expect((await service.request('GET', list)).body).toMatchObject({ data: [{ id: 'a', deleted: true }] });
      await create(name);
      await put('b', { title: 'two' });
      await approve();
      expect(await contents('main')).toEqual({ b: 'two' });
    });

    it('only a reviewer who did not request the review can approve.', async () => {
      await put('a', { title: 'one' });
      expect(await setStatus(stranger!, source, 'to-review')).toMatchObject({ status: 403 });
      expect(await setStatus(reviewer!, source, 'to-review')).toMatchObject({ status: 403, body: { errno: 121 } });
      expect(await setStatus(editor!, source, 'to-review')).toMatchObject({ status: 200 });
      expect(await setStatus(editor!, source, 'to-sign')).toMatchObject({ status: 403, body: { errno: 121 } });
      const members = [await userIdOf(editor!), await userIdOf(reviewer!)];
      const group = `/v1/buckets/staging/groups/${name}-reviewers`;
      await editor!.request('PATCH', group, { body: { data: { members } } });
      expect(await setStatus(editor!, source, 'to-sign')).toMatchObject({ status: 403, body: { errno: 121 } });
      expect(await contents('main')).toEqual({});
      expect(await dataOf(editor!, source)).toMatchObject({ status: 'to-review' });
    });
  });
});
