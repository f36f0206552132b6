// Rules of the protocol of signed collections: review requests of signed collections, comments, the groups of deleted
// sources, and the owners of buckets that the plugin creates.
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TestClient, TestResponse, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { createKeys, dataOf, fetchChangeset, isTrue, setStatus, userIdOf } from '../support/signing.ts';

const keys = createKeys();
afterAll(() => keys.remove());

const settings = {
  includes: 'changes history signer',
  'signer.resources': '/buckets/staging -> /buckets/preview -> /buckets/main\n/buckets/plain -> /buckets/published',
  'signer.to_review_enabled': 'true',
  'signer.plain.to_review_enabled': 'false',
  'signer.staging.shared.editors_group': 'everyone',
  'signer.staging.user.reviewers_group': 'c-reviewers',
  ...keys.settings,
};
const source = '/buckets/staging/collections/c';
const plain = '/buckets/plain/collections/c';

forEachBackend((backend) => {
  describe(`the signer on ${backend.name}`, () => {
    let service: TestService;
    let [alice, bob, carol]: readonly TestClient[] = [];

    beforeEach(async () => {
      service = await backend.start({ settings });
      [alice, bob, carol] = ['alice', 'bob', 'carol'].map((name) => service.asUser(name));
      const create = ['collection:create', 'group:create'];
      const body = {
        permissions: Object.fromEntries([...create, 'read'].map((name) => [name, ['system.Authenticated']])),
      };
      for (const bucket of ['staging', 'plain']) await alice!.request('PUT', `/v1/buckets/${bucket}`, { body });
      for (const uri of [source, plain]) expect((await alice!.request('PUT', `/v1${uri}`)).status).toBe(201);
      await setReviewers([await userIdOf(bob!)]);
    });
    afterEach(() => service.close());

    const setReviewers = (members: readonly string[]): Promise<TestResponse> =>
      alice!.request('PATCH', '/v1/buckets/staging/groups/c-reviewers', { body: { data: { members } } });
    const patch = (data: object): Promise<TestResponse> => alice!.request('PATCH', `/v1${source}`, { body: { data } });
    const membersOf = async (id: string): Promise<unknown> =>
      (await dataOf(alice!, `/buckets/staging/groups/${id}`))['members'];
    const entriesOf = async (uri: string): Promise<unknown> =>
      ((await alice!.request('GET', `/v1${uri}`)).body as { permissions: unknown }).permissions;
    const sendBatch = async (...requests: readonly object[]): Promise<readonly number[]> => {
      const { body } = await alice!.request('POST', '/v1/batch', { body: { requests } });
      return (body as { responses: { status: number }[] }).responses.map(({ status }) => status);
    };

    it('takes a change of attributes of a signed collection through a review.', async () => {
      await patch({ displayFields: ['title'] });
      expect(await dataOf(alice!, source)).toMatchObject({ status: 'signed' });
      expect(await setStatus(bob!, source, 'to-sign')).toMatchObject({ status: 400, body: { errno: 109 } });
      expect(await setStatus(bob!, source, 'to-review')).toMatchObject({ status: 403, body: { errno: 121 } });
      expect(await setStatus(alice!, source, 'to-review')).toMatchObject({ status: 200 });
      expect(await dataOf(alice!, source)).toMatchObject({
        status: 'to-review',
        last_review_request_by: await userIdOf(alice!),
      });
      expect((await fetchChangeset(service, 'preview', 'c')).metadata['displayFields']).toEqual(['title']);
      expect((await fetchChangeset(service, 'main', 'c')).metadata['displayFields']).toBeUndefined();
      await setReviewers([await userIdOf(alice!), await userIdOf(bob!)]);
      expect(await setStatus(alice!, source, 'to-sign')).toMatchObject({ status: 403, body: { errno: 121 } });
      expect(await setStatus(bob!, source, 'to-sign')).toMatchObject({ status: 200 });
      expect((await fetchChangeset(service, 'main', 'c')).metadata['displayFields']).toEqual(['title']);
    });

    it('does nothing when a status is set again.', async () => {
      expect(await setStatus(alice!, source, 'to-review', { last_editor_comment: 'please' })).toMatchObject({
        status: 200,
      });
      const [requested, preview] = [await dataOf(alice!, source), await fetchChangeset(service, 'preview', 'c')];
      // Bob is no editor.
      expect(await setStatus(bob!, source, 'to-review')).toMatchObject({ status: 200 });
      const { last_modified: before, ...attributes } = requested;
      expect(before).toBeTypeOf('number');
      expect(await dataOf(alice!, source)).toMatchObject(attributes);
      expect(await fetchChangeset(service, 'preview', 'c')).toEqual(preview);
    });

    it('empties the comment of an editor when a review is requested without one.', async () => {
      const request = async (data: object): Promise<unknown> => {
        await patch({ status: 'work-in-progress' });
        expect(await patch({ status: 'to-review', ...data })).toMatchObject({ status: 200 });
        return (await dataOf(alice!, source))['last_editor_comment'];
      };
      expect(await request({})).toBe('');
      expect(await request({ last_editor_comment: 'please' })).toBe('please');
      // The comment stays when the client sends it again.
      expect(await request({ last_editor_comment: 'please' })).toBe('please');
      await patch({ last_reviewer_comment: 'fine' });
      expect(await request({})).toBe('');
      expect(await dataOf(alice!, source)).toMatchObject({ last_reviewer_comment: 'fine' });
      await patch({ status: 'work-in-progress', last_editor_comment: 'later' });
      const steps = [
        { op: 'replace', path: '/data/status', value: 'to-review' },
        { op: 'add', path: '/data/last_editor_comment', value: 'later' },
      ];
      const headers = { 'Content-Type': 'application/json-patch+json' };
      expect(await alice!.request('PATCH', `/v1${source}`, { body: steps, headers })).toMatchObject({ status: 200 });
      expect(await dataOf(alice!, source)).toMatchObject({ status: 'to-review', last_editor_comment: 'later' });
    });

    it('keeps the comment of an editor without a preview.', async () => {
      await alice!.request('PATCH', `/v1${plain}`, { body: { data: { last_editor_comment: 'please' } } });
      expect(await setStatus(alice!, plain, 'to-review')).toMatchObject({ status: 200 });
      expect(await dataOf(alice!, plain)).toMatchObject({ status: 'to-review', last_editor_comment: 'please' });
    });

    it('empties both comments at a rollback.', async () => {
      await alice!.request('PUT', `/v1${source}/records/a`);
      await patch({ last_editor_comment: 'please', last_reviewer_comment: 'fine' });
      expect(await setStatus(alice!, source, 'to-rollback')).toMatchObject({ status: 200 });
      expect(await dataOf(alice!, source)).toMatchObject({
        status: 'signed',
        last_editor_comment: '',
        last_reviewer_comment: '',
      });
    });

    it('gives the buckets that it creates to the user whose request needs them, and no others.', async () => {
      const owners = { write: [await userIdOf(alice!)] };
      expect(await entriesOf('/buckets/preview')).toEqual(owners);
      expect(await entriesOf('/buckets/main')).toEqual(owners);
      expect(await carol!.request('PUT', '/v1/buckets/staging/collections/d')).toMatchObject({ status: 201 });
      expect(await entriesOf('/buckets/main')).toEqual(owners);
      expect(await carol!.request('GET', '/v1/buckets/main')).toMatchObject({ status: 403 });
      const data = { cache_expires: 60 };
      expect(await carol!.request('PATCH', '/v1/buckets/main/collections/d', { body: { data } })).toMatchObject({
        status: 403,
      });
    });

    it('gives no one a bucket that an anonymous request creates.', async () => {
      const body = { permissions: { 'collection:create': ['system.Everyone'], 'group:create': ['system.Everyone'] } };
      for (const uri of [source, plain]) await alice!.request('DELETE', `/v1${uri}`);
      await alice!.request('DELETE', '/v1/buckets/published');
      await alice!.request('PATCH', '/v1/buckets/plain', { body });
      expect(await service.request('PUT', `/v1${plain}`)).toMatchObject({ status: 201 });
      expect(await service.request('PATCH', '/v1/buckets/published')).toMatchObject({ status: 401 });
      expect(await alice!.request('GET', '/v1/buckets/published')).toMatchObject({ status: 403 });
    });

    it('creates no groups for a creator who lacks group:create, and signs the source nevertheless.', async () => {
      await alice!.request('PATCH', '/v1/buckets/staging', { body: { permissions: { 'group:create': [] } } });
      const path = '/buckets/staging/collections/d';
      expect(await carol!.request('PUT', `/v1${path}`)).toMatchObject({ status: 201 });
      const requests = ['DELETE', 'PUT', 'DELETE', 'PUT'].map((method) => ({ method, path }));
      for (const batch of [[], requests]) {
        if (batch.length > 0) await carol!.request('POST', '/v1/batch', { body: { requests: batch } });
        const body = (await carol!.request('GET', `/v1${path}`)).body;
        expect(body).toMatchObject({ data: { status: 'signed' }, permissions: { write: [await userIdOf(carol!)] } });
        expect(isTrue(await fetchChangeset(service, 'main', 'd'), keys.publicKey)).toBe(true);
        for (const group of ['d-editors', 'd-reviewers']) {
          expect(await alice!.request('GET', `/v1/buckets/staging/groups/${group}`)).toMatchObject({ status: 404 });
        }
      }
      // No user can request a review until one with group:create has created the groups.
      expect(await setStatus(carol!, path, 'to-review')).toMatchObject({ status: 403, body: { errno: 121 } });
    });

    it('signs nothing that the owner of a bucket has put into a destination before its source exists.', async () => {
      const planted = '/buckets/main/collections/new';
      await alice!.request('PUT', `/v1${planted}`);
      expect(await alice!.request('PUT', `/v1${planted}/records/evil`)).toMatchObject({ status: 201 });
      for (const data of [{}, { status: 'to-rollback' }]) {
        expect(await alice!.request('PUT', '/v1/buckets/staging/collections/new', { body: { data } })).toMatchObject({
          status: 201,
        });
        const changeset = await fetchChangeset(alice!, 'main', 'new');
        expect(changeset.changes).toEqual([]);
        expect(isTrue(changeset, keys.publicKey)).toBe(true);
        await alice!.request('DELETE', '/v1/buckets/staging/collections/new');
        expect(await alice!.request('PUT', `/v1${planted}/records/evil`)).toMatchObject({ status: 201 });
      }
    });

    it('deletes the groups of a deleted source, so that a new one does not have its members.', async () => {
      const other = '/v1/buckets/staging/groups/other';
      await alice!.request('PUT', other);
      for (const group of ['c-editors', 'c-reviewers']) {
        const refused = await alice!.request('DELETE', `/v1/buckets/staging/groups/${group}`);
        expect(refused).toMatchObject({ status: 403, body: { errno: 121 } });
      }
      expect(await alice!.request('DELETE', `/v1${source}`)).toMatchObject({ status: 200 });
      const { body } = await alice!.request('GET', '/v1/buckets/staging/groups?_since=0&_sort=id');
      expect((body as { data: object[] }).data).toMatchObject([
        { id: 'c-editors', deleted: true },
        { id: 'c-reviewers', deleted: true },
        { id: 'other' },
      ]);
      const history = await alice!.request('GET', '/v1/buckets/staging/history?resource_name=group&action=delete');
      expect((history.body as { data: object[] }).data).toMatchObject(
        ['c-reviewers', 'c-editors'].map((id) => ({ group_id: id, user_id: 'plugin:remote-settings' })),
      );
      expect(await carol!.request('PUT', `/v1${source}`)).toMatchObject({ status: 201 });
      expect(await membersOf('c-editors')).toEqual([await userIdOf(carol!)]);
      expect(await membersOf('c-reviewers')).toEqual([]);
      expect(await bob!.request('PUT', `/v1${source}/records/a`)).toMatchObject({ status: 403 });
    });

    it('gives a source that one request deletes and creates its groups anew.', async () => {
      const [remove, create] = [
        { method: 'DELETE', path: source },
        { method: 'PUT', path: source },
      ];
      expect(await sendBatch(remove, create)).toEqual([200, 201]);
      expect(await membersOf('c-reviewers')).toEqual([]);
      await setReviewers([await userIdOf(bob!)]);
      await alice!.request('DELETE', `/v1${source}`);
      expect(await sendBatch(create, remove, create)).toEqual([201, 200, 201]);
      expect(await membersOf('c-editors')).toEqual([await userIdOf(alice!)]);
      expect(await membersOf('c-reviewers')).toEqual([]);
      expect(await sendBatch({ method: 'DELETE', path: '/buckets/staging/collections' }, create)).toEqual([200, 201]);
      expect(await membersOf('c-editors')).toEqual([await userIdOf(alice!)]);
    });

    it('keeps groups that are not of the deleted source alone.', async () => {
      for (const id of ['shared', 'user']) await alice!.request('PUT', `/v1/buckets/staging/collections/${id}`);
      await alice!.request('DELETE', '/v1/buckets/staging/collections/shared');
      expect(await membersOf('everyone')).toEqual([await userIdOf(alice!)]);
      // The collection `user` has the same reviewers.
      await alice!.request('DELETE', `/v1${source}`);
      expect(await membersOf('c-reviewers')).toEqual([await userIdOf(bob!)]);
      const { body } = await alice!.request('GET', '/v1/buckets/staging/groups?_sort=id');
      expect((body as { data: object[] }).data).toMatchObject([
        { id: 'c-reviewers' },
        { id: 'everyone' },
        { id: 'user-editors' },
      ]);
    });
  });
});
