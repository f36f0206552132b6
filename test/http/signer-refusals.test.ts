// Requests and settings that the signer refuses, its events, its start and its capability.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/core/errors.ts';
import type { NamedEvent } from '../../src/engine/events/event.ts';
import type { Plugin } from '../../src/http/plugin.ts';
import { startTestService, type TestClient, type TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { createKeys, dataOf, fetchChangeset, isTrue, setStatus, userIdOf } from '../support/signing.ts';

const keys = createKeys();
const others = createKeys();
const wrongCurve = createKeys('P-256');
afterAll(() => [keys, others, wrongCurve].forEach((each) => each.remove()));

const settings = {
  includes: 'changes signer',
  'signer.resources':
    '/buckets/staging -> /buckets/preview -> /buckets/main\n/buckets/one/collections/in -> /buckets/two/collections/out',
  'signer.to_review_enabled': 'true',
  'signer.one.to_review_enabled': 'false',
  'signer.staging.loose.allow_floats': 'true',
  'signer.staging.loose.reviewers_group': '{bucket_id}-trusted',
  ...keys.settings,
};

const invalid = { status: 400, body: { errno: 109, error: 'Bad Request', message: expect.any(String) } };
const forbidden = { status: 403, body: { errno: 121 } };
const collection = '/buckets/staging/collections/c';

describe('The signer refuses', () => {
  let service: TestService;
  let alice: TestClient;
  let bob: TestClient;

  beforeEach(async () => {
    service = await startTestService({ settings: { ...settings, experimental_permissions_endpoint: 'true' } });
    [alice, bob] = [service.asUser('alice'), service.asUser('bob')];
    for (const bucket of ['staging', 'preview', 'main']) await alice.request('PUT', `/v1/buckets/${bucket}`);
    await alice.request('PUT', `/v1${collection}`);
    await alice.request('PUT', `/v1${collection}/records/a`, { body: { data: { n: 1 } } });
    await alice.request('PATCH', '/v1/buckets/staging/groups/c-reviewers', {
      body: { data: { members: [await userIdOf(bob)] } },
    });
    return () => service.close();
  });

  const put = (path: string, data: object): ReturnType<TestClient['request']> =>
    alice.request('PUT', `/v1${path}`, { body: { data } });

  it.each(['signed', 'draft', null, 1, ''])('the status %j.', async (status) => {
    expect(await setStatus(alice, collection, status)).toMatchObject(invalid);
  });

  it('removal of the status.', async () => {
    expect(await put(collection, {})).toMatchObject(invalid);
    expect(await dataOf(alice, collection)).toMatchObject({ status: 'work-in-progress' });
  });

  it('creation with a status that clients cannot set.', async () => {
    for (const status of ['signed', 'draft', null]) {
      expect(await put('/buckets/staging/collections/d', { status })).toMatchObject(invalid);
    }
    for (const status of ['to-review', 'to-sign']) {
      expect(await put('/buckets/staging/collections/d', { status })).toMatchObject(forbidden);
    }
    expect(await put('/buckets/staging/collections/d', { status: 'work-in-progress' })).toMatchObject({ status: 201 });
    expect(await dataOf(alice, '/buckets/staging/collections/d')).toMatchObject({ status: 'work-in-progress' });
  });

  it.each(['last_edit_by', 'last_edit_date', 'last_review_request_by', 'last_review_date', 'last_signature_by'])(
    'to change %s.',
    async (field) => {
      expect(await alice.request('PATCH', `/v1${collection}`, { body: { data: { [field]: 'me' } } })).toMatchObject(
        invalid,
      );
      expect(await put('/buckets/staging/collections/d', { [field]: 'me' })).toMatchObject(invalid);
    },
  );

  it('rollbacks of signed collections.', async () => {
    await put('/buckets/staging/collections/d', {});
    expect(await setStatus(alice, '/buckets/staging/collections/d', 'to-rollback')).toMatchObject(invalid);
  });

  it.each([
    [{ n: 1.5 }, 'The number at n in'],
    [{ deep: [{ n: 0.1 }] }, 'The number at deep.0.n in'],
  ])('records with floats: %j.', async (data, message) => {
    const refused = await put(`${collection}/records/f`, data);
    expect(refused).toMatchObject(invalid);
    expect(refused.text).toContain(message);
    expect(await alice.request('GET', `/v1${collection}/records/f`)).toMatchObject({ status: 404 });
    await put('/buckets/staging/collections/loose', {});
    expect(await put('/buckets/staging/collections/loose/records/f', data)).toMatchObject({ status: 201 });
  });

  it('floats in every spelling.', async () => {
    for (const number of ['1.0', '1e3', '1E400']) {
      const raw = `{"data":{"n":${number}}}`;
      const headers = { 'Content-Type': 'application/json' };
      const response = await alice.request('PUT', `/v1${collection}/records/f`, { raw, headers });
      expect(response.status).toBe(400);
    }
  });

  it('deletion of previews, destinations, groups and buckets in use.', async () => {
    for (const path of [
      '/buckets/main/collections/c',
      '/buckets/preview/collections/c',
      '/buckets/preview/collections',
      '/buckets/main',
      '/buckets/staging/groups/c-editors',
      '/buckets/staging/groups',
    ]) {
      expect(await alice.request('DELETE', `/v1${path}`), path).toMatchObject(forbidden);
    }
    const other = await put('/buckets/staging/groups/other', { members: [] });
    expect(other.status).toBe(201);
    expect(await alice.request('DELETE', '/v1/buckets/staging/groups/other')).toMatchObject({ status: 200 });
    const batch = [collection, '/buckets/main/collections/c'].map((path) => ({ method: 'DELETE', path }));
    expect(await alice.request('POST', '/v1/batch', { body: { requests: batch } })).toMatchObject({ status: 200 });
    expect(await alice.request('DELETE', '/v1/buckets/main')).toMatchObject({ status: 200 });
  });

  it('client writes to records and signatures of destinations while the source exists.', async () => {
    const main = '/buckets/main/collections/c';
    expect(await put(`${main}/records/x`, { n: 1 })).toMatchObject(forbidden);
    expect(await put('/buckets/preview/collections/c/records/x', { n: 1 })).toMatchObject(forbidden);
    const forged = { signature: { signature: 'forged', mode: 'p384ecdsa', x5u: '' } };
    expect(await alice.request('PATCH', `/v1${main}`, { body: { data: forged } })).toMatchObject(invalid);
    expect(await put(main, {})).toMatchObject(invalid);
    const harmless = await alice.request('PATCH', `/v1${main}`, { body: { data: { cache_expires: 60 } } });
    expect(harmless.status).toBe(200);
    expect(isTrue(await fetchChangeset(service, 'main', 'c'), keys.publicKey)).toBe(true);
    await alice.request('DELETE', `/v1${collection}`);
    expect(await put(`${main}/records/x`, { n: 1 })).toMatchObject({ status: 201 });
  });

  it('approval in a batch that also changes records.', async () => {
    const evil = { method: 'PUT', path: `${collection}/records/evil`, body: { data: { n: 666 } } };
    const sign = { method: 'PATCH', path: collection, body: { data: { status: 'to-sign' } } };
    for (const requests of [
      [sign, evil],
      [evil, sign],
    ]) {
      await setStatus(alice, collection, 'to-review');
      expect(await dataOf(alice, collection)).toMatchObject({ status: 'to-review' });
      expect(await bob.request('POST', '/v1/batch', { body: { requests } })).toMatchObject(invalid);
      expect((await fetchChangeset(service, 'main', 'c')).changes).toEqual([]);
      expect(await bob.request('GET', `/v1${collection}/records/evil`)).toMatchObject({ status: 404 });
      await setStatus(alice, collection, 'work-in-progress');
    }
  });

  it('a review request and its approval in one batch.', async () => {
    const members = [await userIdOf(alice)];
    await alice.request('PATCH', '/v1/buckets/staging/groups/c-reviewers', { body: { data: { members } } });
    const requests = ['to-review', 'to-sign'].map((status) => ({
      method: 'PATCH',
      path: collection,
      body: { data: { status } },
    }));
    expect(await alice.request('POST', '/v1/batch', { body: { requests } })).toMatchObject(forbidden);
    expect(await dataOf(alice, collection)).toMatchObject({ status: 'work-in-progress' });
  });

  it('neither a review request with records in one batch, nor several changes of status.', async () => {
    await setStatus(alice, collection, 'to-review');
    await setStatus(bob, collection, 'to-sign');
    const patch = (status: string): object => ({ method: 'PATCH', path: collection, body: { data: { status } } });
    const record = { method: 'PUT', path: `${collection}/records/b`, body: { data: { n: 2 } } };
    const send = (...requests: readonly object[]): ReturnType<TestClient['request']> =>
      alice.request('POST', '/v1/batch', { body: { requests } });
    expect(await send(record, patch('to-review'))).toMatchObject({ status: 200 });
    expect(await dataOf(alice, collection)).toMatchObject({ status: 'to-review' });
    expect((await fetchChangeset(alice, 'preview', 'c')).changes).toHaveLength(2);
    expect(await send(patch('work-in-progress'), patch('to-review'), patch('work-in-progress'))).toMatchObject({
      status: 200,
    });
    expect(await dataOf(alice, collection)).toMatchObject({ status: 'work-in-progress' });
    expect(await send(patch('to-resign'), patch('to-review'))).toMatchObject({ status: 200 });
    expect(await dataOf(alice, collection)).toMatchObject({ status: 'to-review' });
  });

  it('nothing in other collections: any status and any record is accepted.', async () => {
    await alice.request('PUT', '/v1/buckets/free');
    const status = { status: 'signed', last_edit_by: 'me' };
    expect(await put('/buckets/free/collections/c', status)).toMatchObject({ status: 201 });
    expect(await put('/buckets/free/collections/c/records/r', { n: 1.5 })).toMatchObject({ status: 201 });
    await alice.request('PUT', '/v1/buckets/one');
    expect(await put('/buckets/one/collections/else', status)).toMatchObject({ status: 201 });
  });
});

describe('Review events', () => {
  const source = '/buckets/one/collections/in';

  it('can be refused by subscribers inside the transaction, which rolls back everything.', async () => {
    const service = await startTestService({
      settings,
      plugins: [
        {
          name: 'censor',
          setup: () => ({
            subscribers: [
              {
                name: 'censor',
                on: 'NamedEvent',
                events: ['ReviewApproved'],
                handle({ payload }) {
                  throw new ServiceError('forbidden', {
                    message: `not ${JSON.stringify(payload['changes_count'])} at once`,
                  });
                },
              },
            ],
          }),
        },
      ],
    });
    const alice = service.asUser('alice');
    await alice.request('PUT', '/v1/buckets/one');
    await alice.request('PUT', `/v1${source}`);
    await alice.request('PUT', `/v1${source}/records/a`);
    const refused = await setStatus(alice, source, 'to-sign');
    expect(refused).toMatchObject({ status: 403, body: { message: 'not 1 at once' } });
    expect(await dataOf(alice, source)).toMatchObject({ status: 'work-in-progress' });
    expect((await fetchChangeset(service, 'two', 'out')).changes).toEqual([]);
    await service.close();
  });

  it('reach configured listeners that accept named events.', async () => {
    const heard: string[] = [];
    const plugin = (hearsAll: boolean): Plugin => ({
      name: 'ears',
      setup: () => ({
        listeners: {
          ears: () => ({
            handle: () => {},
            ...(hearsAll ? { handleNamed: ({ name }: NamedEvent) => void heard.push(name) } : {}),
          }),
        },
      }),
    });
    const listening = {
      ...settings,
      event_listeners: 'ears',
      'event_listeners.ears.use': 'ears',
      'event_listeners.ears.events': 'ReviewApproved ReviewCanceled',
    };
    const service = await startTestService({ settings: listening, plugins: [plugin(true)] });
    const alice = service.asUser('alice');
    await alice.request('PUT', '/v1/buckets/one');
    await alice.request('PUT', `/v1${source}`);
    for (const status of ['to-sign', 'to-review', 'to-rollback']) {
      await alice.request('PUT', `/v1${source}/records/a`, { body: { data: { status } } });
      expect((await setStatus(alice, source, status)).status).toBe(200);
    }
    expect(heard).toEqual(['ReviewApproved', 'ReviewCanceled']);
    await service.close();
    const deaf = startTestService({ settings: listening, plugins: [plugin(false)] });
    await expect(deaf).rejects.toThrow('does not handle ReviewApproved, ReviewCanceled');
  });
});

describe('The deletion of a source bucket', () => {
  it.each([false, true])('empties destinations, or deletes them (%s).', async (deletes) => {
    const service = await startTestService({
      settings: {
        ...settings,
        'signer.hard_delete_destination_on_source_deletion': String(deletes),
        'signer.to_review_enabled': 'false',
      },
    });
    const alice = service.asUser('alice');
    await alice.request('PUT', '/v1/buckets/staging');
    await alice.request('PUT', '/v1/buckets/one');
    const sources = ['/buckets/staging/collections/c', '/buckets/staging/collections/d', '/buckets/one/collections/in'];
    const targets = ['main/c', 'preview/c', 'main/d', 'two/out'].map((pair) => pair.split('/') as [string, string]);
    for (const source of sources) {
      await alice.request('PUT', `/v1${source}`);
      await alice.request('PUT', `/v1${source}/records/a`, { body: { data: { n: 1 } } });
      expect(await setStatus(alice, source, 'to-sign')).toMatchObject({ status: 200 });
    }
    for (const [bucket, id] of targets) expect((await fetchChangeset(service, bucket, id)).changes).toHaveLength(1);
    // The buckets of the targets belong to Alice too, because her requests created them.
    expect((await alice.request('DELETE', '/v1/buckets?in_id=staging,one')).status).toBe(200);
    for (const [bucket, id] of targets) {
      if (deletes) {
        const address = `/v1/buckets/${bucket}/collections/${id}`;
        expect([401, 404]).toContain((await service.request('GET', address)).status);
      } else {
        const changeset = await fetchChangeset(service, bucket, id);
        expect(changeset.changes).toEqual([]);
        expect(isTrue(changeset, keys.publicKey)).toBe(true);
      }
    }
    await service.close();
  });
});

describe('A service with the signer', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ settings });
  });
  afterAll(() => service.close());

  it('lists signed collections and their groups in its capability.', async () => {
    const { body } = await service.request('GET', '/v1/');
    const groups = { editors_group: '{collection_id}-editors', reviewers_group: '{collection_id}-reviewers' };
    const lines = {
      preview: { bucket: 'preview', collection: null },
      destination: { bucket: 'main', collection: null },
    };
    expect((body as { capabilities: { signer: object } }).capabilities.signer).toEqual({
      description: expect.any(String),
      url: expect.any(String),
      version: expect.any(String),
      plugin_user_id: 'plugin:remote-settings',
      plugin_userid: 'plugin:remote-settings',
      group_check_enabled: true,
      to_review_enabled: true,
      ...groups,
      resources: [
        {
          source: { bucket: 'staging', collection: 'loose' },
          preview: { bucket: 'preview', collection: 'loose' },
          destination: { bucket: 'main', collection: 'loose' },
          to_review_enabled: true,
          ...groups,
          reviewers_group: '{bucket_id}-trusted',
        },
        { source: { bucket: 'staging', collection: null }, ...lines, to_review_enabled: true, ...groups },
        {
          source: { bucket: 'one', collection: 'in' },
          destination: { bucket: 'two', collection: 'out' },
          to_review_enabled: false,
          ...groups,
        },
      ],
    });
  });

  it('announces the check of groups for clients, also without reviews.', async () => {
    const unreviewed = await startTestService({ settings: { ...settings, 'signer.to_review_enabled': 'false' } });
    const { body } = await unreviewed.request('GET', '/v1/');
    expect(body).toMatchObject({ capabilities: { signer: { group_check_enabled: true, to_review_enabled: false } } });
    await unreviewed.close();
  });

  it('reports in its heartbeat whether it can sign.', async () => {
    expect(await service.request('GET', '/v1/__heartbeat__')).toMatchObject({ status: 200, body: { signer: true } });
  });

  it('records its own changes under the user id of the plugin.', async () => {
    const owners: (string | undefined)[] = [];
    const watched = await startTestService({
      settings: { ...settings, 'signer.to_review_enabled': 'false' },
      plugins: [
        {
          name: 'watch',
          setup: () => ({
            subscribers: [
              {
                name: 'watch',
                on: 'ResourceChanged',
                handle: ({ userId, kind }) => void owners.push(`${kind} ${userId?.split(':')[0]}`),
              },
            ],
          }),
        },
      ],
    });
    const alice = watched.asUser('alice');
    await alice.request('PUT', '/v1/buckets/staging');
    await alice.request('PUT', '/v1/buckets/staging/collections/c');
    await alice.request('PUT', '/v1/buckets/staging/collections/c/records/a');
    owners.length = 0;
    await setStatus(alice, '/buckets/staging/collections/c', 'to-sign');
    expect(owners).toEqual([
      'collection basicauth',
      'record plugin',
      'record plugin',
      'collection plugin',
      'collection plugin',
      'collection plugin',
    ]);
    await watched.close();
  });

  it('creates its sources once at start if configured.', async () => {
    const options = {
      ...settings,
      'signer.auto_create_resources': 'true',
      'signer.auto_create_resources_principals': 'system.Authenticated',
    };
    const created = await startTestService({ settings: options });
    const alice = created.asUser('alice');
    expect(await alice.request('PUT', '/v1/buckets/staging/collections/c')).toMatchObject({ status: 201 });
    const source = '/buckets/one/collections/in';
    expect(await dataOf(alice, source)).toMatchObject({ status: 'signed', last_edit_by: 'plugin:remote-settings' });
    await alice.request('PUT', `/v1${source}/records/a`, { body: { data: { n: 1 } } });
    expect(await setStatus(alice, source, 'to-sign')).toMatchObject({ status: 200 });
    const changeset = await fetchChangeset(created, 'two', 'out');
    expect(changeset.changes).toHaveLength(1);
    expect(isTrue(changeset, keys.publicKey)).toBe(true);
    await created.close();
  });
});

describe('The signer at start', () => {
  it.each([
    [{ 'signer.resources': '' }, 'signer.resources is empty'],
    [{ 'signer.resources': '' }, '/buckets/main-workspace -> /buckets/main-preview -> /buckets/main'],
    [{ 'signer.resources': 'a -> b' }, 'signer.resources'],
    [{ 'signer.ecdsa.private_key': '' }, 'signer.ecdsa.private_key is required'],
    [{ 'signer.ecdsa.private_key': '/nowhere/key.pem' }, 'cannot be read'],
    [{ 'signer.ecdsa.private_key': keys.publicFile }, 'cannot be read'],
    [{ 'signer.ecdsa.public_key': others.publicFile }, 'is not the public key of'],
    [wrongCurve.settings, 'does not contain a key on the curve P-384'],
    [{ 'signer.staging.c.ecdsa.public_key': others.publicFile }, 'is not the public key of'],
    [{ 'signer.staging.signer_backend': 'autograph' }, 'signer.autograph.server_url is required'],
    [{ 'signer.editors_group': '{collection_id}/editors' }, 'not a valid group id'],
    [{ 'signer.staging.to_review_enabled': 'maybe' }, 'to_review_enabled'],
  ])('refuses %j.', async (wrong, message) => {
    await expect(startTestService({ settings: { ...settings, ...wrong } })).rejects.toThrow(message);
  });

  it('accepts names and values of existing deployments.', async () => {
    const service = await startTestService({
      settings: {
        ...Object.fromEntries(Object.entries(settings).filter(([key]) => key !== 'includes')),
        'kinto.includes': 'kinto_remote_settings kinto_signer',
        'signer.signer_backend': 'kinto_remote_settings.signer.backends.local_ecdsa',
      },
    });
    const { body } = await service.request('GET', '/v1/');
    expect(body).toMatchObject({ capabilities: { signer: {} } });
    await service.close();
  });
});

forEachBackend((backend) => {
  it(`on ${backend.name} publishes only reviewed records, even after writes through URLs with hostile ids`, async () => {
    const service = await backend.start({
      settings: { ...settings, bucket_create_principals: 'system.Authenticated' },
    });
    try {
      const [alice, bob] = [service.asUser('alice'), service.asUser('bob')];
      for (const bucket of ['staging', 'preview', 'main']) await alice.request('PUT', `/v1/buckets/${bucket}`);
      await alice.request('PUT', `/v1${collection}`);
      await alice.request('PUT', `/v1${collection}/records/a`, { body: { data: { n: 1 } } });
      const members = [await userIdOf(bob)];
      await alice.request('PATCH', '/v1/buckets/staging/groups/c-reviewers', { body: { data: { members } } });
      expect(await setStatus(alice, collection, 'to-review')).toMatchObject({ status: 200 });
      const { last_modified: reviewed } = await dataOf(alice, collection);
      const hostile = ['%00', '%00x', '%0A', '%20', '.', '%C2%A0'];
      for (const tail of hostile) {
        for (const path of [
          `/buckets/staging${tail}/collections/c/records/a`,
          `/buckets/staging/collections/c${tail}/records/a`,
          `/buckets/staging/collections/c/records/a${tail}`,
        ]) {
          for (const method of ['PUT', 'PATCH', 'DELETE']) {
            const body = method === 'DELETE' ? {} : { body: { data: { n: 666 } } };
            const { status } = await alice.request(method, `/v1${path}`, body);
            expect([path, method, [400, 403].includes(status)]).toEqual([path, method, true]);
          }
        }
      }
      expect(await dataOf(alice, collection)).toMatchObject({ status: 'to-review', last_modified: reviewed });
      expect(await setStatus(bob, collection, 'to-sign')).toMatchObject({ status: 200 });
      const { changes } = await fetchChangeset(alice, 'main', 'c');
      expect(changes).toMatchObject([{ id: 'a', n: 1 }]);
    } finally {
      await service.close();
    }
  });
});
