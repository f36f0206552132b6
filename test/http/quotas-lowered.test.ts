// Quotas below the present use: what makes the use larger is refused, and no deletion is, also where other plugins write because
// of it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { startTestService, type TestClient } from '../../src/testing/index.ts';
import { FileFolder, upload } from '../support/attachments.ts';
import { databaseSettings } from '../support/backends.ts';
import { createKeys, setStatus, userIdOf } from '../support/signing.ts';

const keys = createKeys();
afterAll(() => keys.remove());

type Limits = Readonly<Record<string, string>>;

/** Returns a function that starts the service with limits, each time with the same data. */
async function createStore(): Promise<(limits: Limits) => Promise<TestClient>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'coffer-quotas-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const files = await FileFolder.create();
  onTestFinished(() => files.remove());
  let close = async (): Promise<void> => {};
  onTestFinished(() => close());
  return async (limits) => {
    await close();
    const service = await startTestService({
      settings: {
        ...databaseSettings('sqlite', path.join(folder, 'coffer.sqlite3')),
        includes: 'quotas signer attachments',
        'attachment.base_path': files.path,
        'signer.resources': '/buckets/staging -> /buckets/main',
        'user-data_delete_principals': 'system.Authenticated',
        ...keys.settings,
        ...limits,
      },
    });
    close = () => service.close();
    return service.asUser('alice');
  };
}

const source = '/buckets/staging/collections/c';

/** Publishes two records. */
async function publish(alice: TestClient): Promise<void> {
  await alice.request('PUT', '/v1/buckets/staging');
  await alice.request('PUT', `/v1${source}`);
  for (const id of ['a', 'b']) await alice.request('PUT', `/v1${source}/records/${id}`);
  expect(await setStatus(alice, source, 'to-sign')).toMatchObject({ status: 200 });
}

async function statusOf(client: TestClient, method: string, uri: string, data?: object): Promise<number> {
  return (await client.request(method, `/v1${uri}`, data === undefined ? {} : { body: { data } })).status;
}

it.each(['bucket_staging_max_bytes', 'collection_staging_max_bytes', 'bucket_staging_max_bytes_per_item'])(
  'A record of a reviewed collection is deleted above %s, although the status changes.',
  async (limit) => {
    const start = await createStore();
    await publish(await start({}));
    const alice = await start({ [`quotas.${limit}`]: '50' });
    expect(await statusOf(alice, 'PUT', `${source}/records/c`)).toBe(507);
    expect(await statusOf(alice, 'DELETE', `${source}/records/a`)).toBe(200);
    const requests = [{ method: 'DELETE', path: `${source}/records/b` }];
    const batch = await alice.request('POST', '/v1/batch', { body: { requests } });
    expect(batch.body).toMatchObject({ responses: [{ status: 200 }] });
  },
);

it.each([source, '/buckets/staging'])('%s is deleted although its signed copies exceed their limit.', async (uri) => {
  const start = await createStore();
  await publish(await start({}));
  const alice = await start({ 'quotas.bucket_main_max_bytes': '50' });
  expect(await statusOf(alice, 'DELETE', uri)).toBe(200);
});

it('A publication counts for the bucket of the copies, also in a batch with deletions.', async () => {
  const start = await createStore();
  await publish(await start({}));
  const alice = await start({ 'quotas.bucket_main_max_bytes': '50' });
  expect(await statusOf(alice, 'DELETE', `${source}/records/b`)).toBe(200);
  expect(await statusOf(alice, 'PATCH', `${source}/records/a`, { text: 'x'.repeat(200) })).toBe(200);
  const publication = await setStatus(alice, source, 'to-sign');
  expect(publication.status).toBe(507);
  expect(publication.text).toMatch(/The bucket would have \d+ bytes. The limit is 50./);
  const requests = [
    { method: 'DELETE', path: `${source}/records/a` },
    { method: 'PATCH', path: source, body: { data: { displayFields: ['x'.repeat(200)], status: 'to-sign' } } },
  ];
  expect(await alice.request('POST', '/v1/batch', { body: { requests } })).toMatchObject({ status: 507 });
});

it('What does not become larger may be changed above a limit.', async () => {
  const start = await createStore();
  const before = await start({});
  for (const uri of ['/buckets/b', '/buckets/b/collections/c']) await before.request('PUT', `/v1${uri}`);
  const record = '/buckets/b/collections/c/records/r';
  await upload(before, record, { data: { text: 'x'.repeat(300) } });
  await before.request('PUT', '/v1/buckets/b/collections/c/records/s');
  const user = await userIdOf(before);
  await before.request('PUT', '/v1/buckets/b/groups/g', { body: { data: { members: ['basicauth:bob', user] } } });
  const alice = await start({
    'quotas.bucket_max_items': '1',
    'quotas.bucket_max_bytes': '50',
    'quotas.collection_max_bytes': '50',
    'quotas.bucket_max_bytes_per_item': '50',
  });
  expect(await statusOf(alice, 'DELETE', `${record}/attachment`)).toBe(204);
  expect(await statusOf(alice, 'PATCH', record, { text: 'x'.repeat(299) })).toBe(200);
  expect(await statusOf(alice, 'PATCH', record, { text: 'x'.repeat(300) })).toBe(507);
  expect(await statusOf(alice, 'DELETE', '/__user_data__/basicauth:bob')).toBe(200);
  expect(await statusOf(alice, 'PUT', '/buckets/b/collections/c/records/t')).toBe(507);
  const requests = [
    { method: 'DELETE', path: '/buckets/b/collections/c/records/s' },
    { method: 'PUT', path: '/buckets/b/collections/c/records/t', body: { data: { more: 'than before' } } },
  ];
  expect(await alice.request('POST', '/v1/batch', { body: { requests } })).toMatchObject({ status: 507 });
});
