// A service on a copy answers as the one that was copied: objects, lists, tombstones, permissions, clocks.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { copyStores } from '../../src/transfer/copy/copy.ts';
import { settingsOfUrl } from '../../src/transfer/copy/places.ts';
import { startTestService, type TestClient, type TestResponse, type TestService } from '../../src/testing/index.ts';
import { postgresqlSettings } from '../support/backends.ts';
import { cloneDatabase } from '../support/postgresql.ts';

function sqliteSettings(file: string): Readonly<Record<string, string>> {
  const kinds = ['storage', 'permission'];
  return Object.fromEntries(
    kinds.flatMap((kind) => [[`${kind}_backend`, 'sqlite'] as const, [`${kind}_url`, file] as const]),
  );
}

const raw = (text: string): { readonly raw: string; readonly headers: Readonly<Record<string, string>> } => ({
  raw: text,
  headers: { 'Content-Type': 'application/json' },
});

async function start(settings: Readonly<Record<string, string>>): Promise<TestService> {
  const basics = {
    bucket_create_principals: 'system.Authenticated',
    'multiauth.policies': 'basicauth',
    includes: 'default_bucket',
  };
  return startTestService({ settings: { ...basics, ...settings } });
}

async function write(client: TestClient, path: string, text: string): Promise<void> {
  const { status, text: answer } = await client.request('PUT', `/v1${path}`, raw(text));
  expect(status, answer).toBe(201);
}

/** Something of everything, by two users. */
async function fill(service: TestService): Promise<void> {
  const [ann, tom] = [service.asUser('ann'), service.asUser('tom')];
  const { body } = await tom.request('GET', '/v1/');
  const { id: tomsId } = (body as { user: { id: string } }).user;
  await write(ann, '/buckets/food', '{"data":{"open":true}}');
  await write(ann, '/buckets/food/groups/cooks', JSON.stringify({ data: { members: [tomsId, 'x'.repeat(900)] } }));
  const permissions = {
    permissions: { read: ['/buckets/food/groups/cooks'], 'record:create': ['system.Authenticated'] },
  };
  await write(ann, '/buckets/food/collections/fruits', JSON.stringify(permissions));
  await write(ann, '/buckets/food/collections/empty', '{}');
  const records = '/buckets/food/collections/fruits/records';
  await write(ann, `${records}/exact`, '{"data":{"n":1.10,"big":123456789012345678901234567890,"__proto__":{"a":1}}}');
  await write(tom, `${records}/toms`, '{"data":{"title":"é \u{1F600}"}}');
  await write(ann, `${records}/future`, `{"data":{"last_modified":${2 ** 50}}}`);
  for (let n = 0; n < 60; n++) await write(ann, `${records}/many-${n}`, `{"data":{"n":${n % 7}}}`);
  for (const id of ['many-3', 'toms', 'many-50']) {
    expect((await ann.request('DELETE', `/v1${records}/${id}`)).status).toBe(200);
  }
  await write(tom, '/buckets/default/collections/own/records/one', '{"data":{}}');
  await write(ann, '/buckets/gone', '{}');
  expect((await ann.request('DELETE', '/v1/buckets/gone')).status).toBe(200);
}

const paths = [
  '/buckets',
  '/buckets?_since=0',
  '/buckets/food',
  '/buckets/food/groups/cooks',
  '/buckets/food/collections',
  '/buckets/food/collections/fruits',
  '/buckets/food/collections/fruits/records',
  '/buckets/food/collections/fruits/records?_since=0',
  '/buckets/food/collections/fruits/records?n=3&_sort=-n,id',
  '/buckets/food/collections/fruits/records/exact',
  '/buckets/food/collections/fruits/records/toms',
  '/buckets/food/collections/empty/records',
  '/buckets/default/collections/own/records?_since=0',
  '/buckets/gone',
  '/permissions',
];

async function answers(service: TestService): Promise<readonly unknown[]> {
  const seen: unknown[] = [];
  for (const user of ['ann', 'tom', 'eve']) {
    for (const path of paths) {
      const { status, headers, text } = await service.asUser(user).request('GET', `/v1${path}`);
      const { etag, 'total-objects': total, 'last-modified': lastModified } = headers;
      seen.push([user, path, status, etag, total, lastModified, text.replaceAll(service.origin, '')]);
    }
  }
  return seen;
}

function timestampOf({ headers }: TestResponse): number {
  return Number(headers['etag']?.replaceAll('"', ''));
}

test('a service on a copy of a copy responds like the original', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-copied-'));
  const postgresql = await cloneDatabase();
  onTestFinished(async () => {
    await postgresql.drop();
    rmSync(folder, { recursive: true });
  });
  const [first, last] = [join(folder, 'first.sqlite3'), join(folder, 'last.sqlite3')];
  const original = await start(sqliteSettings(first));
  await fill(original);
  // What is listed below a personal bucket gets its clock when it is first asked for.
  await answers(original);
  const expected = await answers(original);
  await original.close();

  const copy = async (from: string, to: string): Promise<void> => {
    const result = await copyStores({ source: settingsOfUrl(from), target: settingsOfUrl(to), mode: 'refuse' });
    expect(result.parts.flatMap(({ differences }) => differences)).toEqual([]);
  };
  await copy(`sqlite://${first}`, postgresql.url);
  await copy(postgresql.url, `sqlite://${last}`);
  for (const settings of [postgresqlSettings(postgresql.url), sqliteSettings(last)]) {
    const service = await start(settings);
    expect(await answers(service)).toEqual(expected);
    const records = '/v1/buckets/food/collections/fruits/records';
    const before = await service.asUser('ann').request('GET', records);
    const after = await service.asUser('ann').request('PUT', `${records}/next`, { body: { data: {} } });
    // The clock is ahead of the time, and goes on from where it was.
    expect(timestampOf(before)).toBeGreaterThan(2 ** 50);
    expect(timestampOf(after)).toBe(timestampOf(before) + 1);
    await service.close();
  }
});
