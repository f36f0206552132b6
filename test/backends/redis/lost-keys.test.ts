// A server that evicts loses whole keys. Whichever key a bucket or a collection has lost, it can be deleted, which is the
// documented remedy, and nothing of it is left.
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deleteCollection } from '../../../src/maintenance/deletions.ts';
import { settingsOf } from '../../../src/settings/load.ts';
import { startTestService, type TestClient, type TestService } from '../../../src/testing/index.ts';
import { databaseSettings } from '../../support/backends.ts';
import { openInspector, RedisProcess } from '../../support/redis.ts';

let server: RedisProcess;
let redis: Redis;
let service: TestService;
let ann: TestClient;

beforeAll(async () => {
  server = await RedisProcess.start();
  redis = openInspector(server.url);
  service = await startTestService({ settings: settings() });
  ann = service.asUser('ann');
});

afterAll(async () => {
  await service.close();
  redis.disconnect();
  await server.remove();
});

function settings(): Readonly<Record<string, string>> {
  return { ...databaseSettings('redis', server.url), includes: 'history quotas', 'quotas.bucket_max_items': '1000' };
}

async function put(uri: string, body: object = {}): Promise<void> {
  expect((await ann.request('PUT', uri, { body })).status).toBe(201);
}

/** Creates a bucket whose lists have every kind of key. */
async function fill(bucket: string): Promise<string> {
  const uri = `/v1/buckets/${bucket}`;
  const collection = `${uri}/collections/c`;
  await put(uri);
  await put(`${uri}/collections/empty`);
  await put(`${uri}/groups/g`, { data: { members: ['basicauth:zoe'] } });
  await put(collection, { data: { indexes: [{ fields: ['n'] }] }, permissions: { read: ['zoe'] } });
  await expect
    .poll(async () => (await ann.request('GET', `${collection}/indexes`)).body)
    .toMatchObject({ data: [{ state: 'ready' }] });
  for (const n of [1, 2, 3]) await put(`${collection}/records/r${n}`, { data: { n }, permissions: { read: ['zoe'] } });
  for (const each of [`${collection}/records/r3`, `${uri}/collections/empty`]) await ann.request('DELETE', each);
  return uri;
}

/** Returns the keys below a bucket. */
async function keysBelow(bucket: string): Promise<readonly string[]> {
  return (await redis.keys(`{coffer:=/buckets/${bucket}[/}]*`)).toSorted();
}

/** Fills a bucket for each key below buckets, deletes the key, and returns what the work returns about each. */
async function withoutEach(
  name: string,
  isIncluded: (key: string) => boolean,
  work: (uri: string, bucket: string) => Promise<unknown>,
): Promise<readonly (readonly [key: string, outcome: unknown])[]> {
  await fill(name);
  const keys = (await keysBelow(name)).filter(isIncluded);
  const outcomes: [string, unknown][] = [];
  for (const [index, key] of keys.entries()) {
    const bucket = `${name}${index}`;
    const uri = await fill(bucket);
    expect(await redis.del(key.replaceAll(`/buckets/${name}`, `/buckets/${bucket}`)), key).toBe(1);
    outcomes.push([key, await work(uri, bucket)]);
  }
  return outcomes;
}

/** The usage counted for the quota of the bucket depends on that of the collection. Without it only the bucket can be deleted. */
const isOfCollection = (key: string): boolean => key.includes('/collections/c}') && !key.endsWith(':quota');

it('deletes a bucket that has lost any one key.', async () => {
  const outcomes = await withoutEach(
    'bucket',
    () => true,
    async (uri, bucket) => {
      const { status } = await ann.request('DELETE', uri);
      const left = (await keysBelow(bucket)).filter((key) => !key.includes('}m:'));
      await put(uri);
      await put(`${uri}/collections/c`);
      return [status, left, (await ann.request('GET', `${uri}/collections/c/records`)).body];
    },
  );
  expect(outcomes.length).toBeGreaterThan(20);
  for (const outcome of outcomes) expect(outcome).toEqual([outcome[0], [200, [], { data: [] }]]);
});

it('deletes a collection that has lost any one key.', async () => {
  const outcomes = await withoutEach('collection', isOfCollection, async (uri) => {
    const { status } = await ann.request('DELETE', `${uri}/collections/c`);
    await put(`${uri}/collections/c`);
    return [status, (await ann.request('GET', `${uri}/collections/c/records`)).body];
  });
  expect(outcomes.length).toBeGreaterThan(7);
  for (const outcome of outcomes) expect(outcome).toEqual([outcome[0], [200, { data: [] }]]);
});

it('deletes a collection that has lost any one key by the command.', async () => {
  const loaded = settingsOf({ ...settings(), userid_hmac_secret: 'secret'.repeat(9) });
  const outcomes = await withoutEach('command', isOfCollection, (_, bucket) =>
    deleteCollection(loaded, { bucket, collection: 'c' }),
  );
  for (const outcome of outcomes) expect(outcome).toEqual([outcome[0], 'done']);
});

it('moves the clock of a deleted list on when the clock was lost.', async () => {
  const uri = await fill('clock');
  const records = `${uri}/collections/c/records`;
  const future = Date.now() + 1_000_000;
  await put(`${records}/late`, { data: { last_modified: future } });
  await redis.del('{coffer:=/buckets/clock/collections/c}m:record');
  expect((await ann.request('DELETE', uri)).status).toBe(200);
  await put(uri);
  await put(`${uri}/collections/c`);
  const { headers } = await ann.request('GET', `${records}?_since="${future}"`);
  expect(headers).toMatchObject({ etag: `"${future + 1}"`, resync: `"${future + 1}"` });
});

it('reports a list that has lost its clock and has only tombstones.', async () => {
  const uri = await fill('tombstones');
  await ann.request('DELETE', `${uri}/collections/c/records`);
  await redis.del('{coffer:=/buckets/tombstones/collections/c}m:record');
  expect((await ann.request('PUT', `${uri}/collections/c/records/new`, { body: {} })).status).toBe(503);
});
