// What editors of a signed collection cannot reach: other users' memory and time, and a publication without a review.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Plugin } from '../../src/http/plugin.ts';
import { startTestService, type TestClient, type TestService } from '../../src/testing/index.ts';
import { createKeys, dataOf, fetchChangeset, isTrue, setStatus, userIdOf } from '../support/signing.ts';

const keys = createKeys();
afterAll(() => keys.remove());

const settings = {
  includes: 'changes signer',
  'signer.resources': '/buckets/staging -> /buckets/preview -> /buckets/main',
  'signer.to_review_enabled': 'true',
  ...keys.settings,
};
const collection = '/buckets/staging/collections/c';
const published = '/buckets/main/collections/c';

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

async function sendBatch(client: TestClient, requests: readonly Entry[]): Promise<readonly number[]> {
  const { body } = await client.request('POST', '/v1/batch', { body: { requests } });
  return (body as { readonly responses: readonly { readonly status: number }[] }).responses.map(({ status }) => status);
}

/** Starts a service with a collection that Alice edits and Bob reviews. */
async function start(
  more: Readonly<Record<string, string>> = {},
  plugins: readonly Plugin[] = [],
): Promise<TestService> {
  const service = await startTestService({ settings: { ...settings, ...more }, plugins });
  const alice = service.asUser('alice');
  await alice.request('PUT', '/v1/buckets/staging', { body: { permissions: { read: ['system.Everyone'] } } });
  await alice.request('PUT', `/v1${collection}`);
  const members = [await userIdOf(service.asUser('bob'))];
  await alice.request('PATCH', '/v1/buckets/staging/groups/c-reviewers', { body: { data: { members } } });
  return service;
}

describe('A collection that is too large for memory', () => {
  let service: TestService;
  beforeEach(async () => {
    service = await start({ memory_budget_bytes: '8000000' });
    const alice = service.asUser('alice');
    const text = 'x'.repeat(50_000);
    for (let n = 0; n < 40; n++) {
      await alice.request('PUT', `/v1${collection}/records/r${n}`, { body: { data: { text } } });
    }
    return () => service.close();
  });

  it('cannot be published, and stays as it is.', async () => {
    const alice = service.asUser('alice');
    const before = await dataOf(alice, collection);
    expect(await setStatus(alice, collection, 'to-review')).toMatchObject({ status: 413 });
    expect(await dataOf(alice, collection)).toEqual(before);
    const { headers } = await alice.request('HEAD', `/v1${collection}/records`);
    expect(headers['total-objects']).toBe('40');
  });

  it('can be rolled back, and deleted with its published records.', async () => {
    const [alice, bob] = [service.asUser('alice'), service.asUser('bob')];
    expect(await setStatus(alice, collection, 'to-rollback')).toMatchObject({ status: 200 });
    const text = 'x'.repeat(50_000);
    for (let n = 0; n < 40; n++) {
      await alice.request('PUT', `/v1${collection}/records/r${n}`, { body: { data: { text } } });
      if (n % 10 !== 9) continue;
      expect(await setStatus(alice, collection, 'to-review')).toMatchObject({ status: 200 });
      expect(await setStatus(bob, collection, 'to-sign')).toMatchObject({ status: 200 });
    }
    expect(await alice.request('DELETE', `/v1${collection}`)).toMatchObject({ status: 200 });
    expect((await alice.request('GET', `/v1${published}/records`)).body).toEqual({ data: [] });
  });

  it('can be signed again once it was published in parts.', async () => {
    const [alice, bob] = [service.asUser('alice'), service.asUser('bob')];
    const paths = Array.from({ length: 40 }, (_, n) => `/v1${collection}/records/r${n}`);
    for (const path of paths) await alice.request('DELETE', path);
    const text = 'x'.repeat(50_000);
    for (const path of paths) {
      await alice.request('PUT', path, { body: { data: { text } } });
      expect(await setStatus(alice, collection, 'to-review')).toMatchObject({ status: 200 });
      expect(await setStatus(bob, collection, 'to-sign')).toMatchObject({ status: 200 });
    }
    expect(await setStatus(alice, collection, 'to-resign')).toMatchObject({ status: 200 });
    const changeset = await fetchChangeset(bob, 'main', 'c');
    expect(changeset.changes).toHaveLength(40);
    expect(isTrue(changeset, keys.publicKey)).toBe(true);
  });
});

describe('A batch', () => {
  it('signs each target once, however often it changes the status.', async () => {
    let changes = 0;
    const watch: Plugin = {
      name: 'watch',
      setup: () => ({
        subscribers: [
          {
            name: 'watch',
            on: 'ResourceChanged',
            kinds: ['collection'],
            handle: (event) => {
              if (event.action === 'update' && event.list.parent === '/buckets/preview')
                changes += event.changes.length;
            },
          },
        ],
      }),
    };
    const service = await start({}, [watch]);
    const alice = service.asUser('alice');
    await alice.request('PUT', `/v1${collection}/records/a`, { body: { data: { n: 1 } } });
    changes = 0;
    const requests = Array.from({ length: 12 }, (_, n) => ({
      method: 'PATCH',
      path: collection,
      body: { data: { status: ['to-review', 'to-resign', 'work-in-progress'][n % 3] } },
    }));
    expect(await sendBatch(alice, requests)).toEqual(requests.map(() => 200));
    expect(changes).toBe(1);
    expect(await dataOf(alice, collection)).toMatchObject({ status: 'work-in-progress' });
    const preview = await fetchChangeset(alice, 'preview', 'c');
    expect(preview.changes).toMatchObject([{ id: 'a' }]);
    expect(isTrue(preview, keys.publicKey)).toBe(true);
    await service.close();
  });

  describe('that deletes the source and creates it again', () => {
    let service: TestService;
    let alice: TestClient;
    beforeEach(async () => {
      service = await start();
      alice = service.asUser('alice');
      await alice.request('PUT', `/v1${collection}/records/a`, { body: { data: { n: 1 } } });
      await setStatus(alice, collection, 'to-review');
      expect(await setStatus(service.asUser('bob'), collection, 'to-sign')).toMatchObject({ status: 200 });
      return () => service.close();
    });

    it('leaves nothing of the old one published, below new attributes.', async () => {
      const create = { method: 'PUT', path: collection, body: { data: { flags: ['new'] } } };
      expect(await sendBatch(alice, [{ method: 'DELETE', path: collection }, create])).toEqual([200, 201]);
      const changeset = await fetchChangeset(alice, 'main', 'c');
      expect(changeset.changes).toEqual([]);
      expect(changeset.metadata).toMatchObject({ flags: ['new'] });
    });

    it('keeps the destination if the settings delete destinations with their source.', async () => {
      const deleting = await start({ 'signer.hard_delete_destination_on_source_deletion': 'true' });
      const client = deleting.asUser('alice');
      await client.request('PUT', `/v1${collection}/records/a`);
      await setStatus(client, collection, 'to-review');
      expect(await setStatus(deleting.asUser('bob'), collection, 'to-sign')).toMatchObject({ status: 200 });
      const [remove, create] = [
        { method: 'DELETE', path: collection },
        { method: 'PUT', path: collection, body: {} },
      ];
      for (const entries of [
        [remove, create],
        [remove, create, remove, create],
      ]) {
        await sendBatch(client, entries);
        const changeset = await fetchChangeset(client, 'main', 'c');
        expect(changeset.changes).toEqual([]);
        expect(isTrue(changeset, keys.publicKey)).toBe(true);
      }
      await deleting.close();
    });

    it('does not call records signed that no review covers.', async () => {
      const record = (id: string): Entry => ({
        method: 'PUT',
        path: `${collection}/records/${id}`,
        body: { data: {} },
      });
      const again = [
        { method: 'DELETE', path: collection },
        { method: 'PUT', path: collection, body: {} },
      ];
      await sendBatch(alice, [record('first'), ...again, record('second')]);
      expect(await dataOf(alice, collection)).toMatchObject({ status: 'work-in-progress' });
      expect((await alice.request('GET', `/v1${published}/records`)).body).toEqual({ data: [] });
    });
  });
});

it('A status of a million characters is not repeated in the refusal.', async () => {
  const service = await start();
  const { status, text } = await setStatus(service.asUser('alice'), collection, 'x'.repeat(1_000_000));
  expect(status).toBe(400);
  expect(text.length).toBeLessThan(1000);
  await service.close();
});
