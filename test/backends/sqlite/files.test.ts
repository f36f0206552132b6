// The path of a database file: links on the way to it, and files that are removed, moved or replaced while the service runs.
import { copyFile, mkdir, readdir, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { withoutLinks } from '../../../src/backends/sqlite/database-path.ts';
import { startTestService, type TestService } from '../../../src/testing/service/service-client.ts';
import { openTestDatabase, records, temporaryPath } from './temporary.ts';

const place = '/v1/buckets/b/collections/c';
let folder: string;
beforeEach(async () => {
  folder = join(dirname(await temporaryPath()), 'data');
  await mkdir(folder);
});

async function start(path: string): Promise<TestService> {
  const kinds = ['storage', 'permission', 'cache'];
  const places = kinds.flatMap((kind) => [
    [`${kind}_backend`, 'sqlite'],
    [`${kind}_url`, `sqlite://${path}`],
  ]);
  const settings: Record<string, string> = Object.fromEntries(places);
  const service = await startTestService({ settings: { ...settings, security_state_backend: 'storage' } });
  onTestFinished(() => service.close());
  return service;
}

/** Creates the collection and a record in it. */
async function fill(service: TestService): Promise<void> {
  const client = service.asUser('alice');
  expect((await client.request('PUT', '/v1/buckets/b')).status).toBe(201);
  expect((await client.request('PUT', place)).status).toBe(201);
  expect(await write(service, 'before')).toBe(201);
}

async function write(service: TestService, id: string): Promise<number> {
  return (await service.asUser('alice').request('PUT', `${place}/records/${id}`, { body: { data: {} } })).status;
}

async function readIds(service: TestService): Promise<readonly string[]> {
  const { body } = await service.asUser('alice').request('GET', `${place}/records?_sort=id`);
  return (body as { data: { id: string }[] }).data.map(({ id }) => id);
}

async function heartbeat(service: TestService): Promise<unknown> {
  return (await service.request('GET', '/v1/__heartbeat__')).body;
}

describe('a link to a database file', () => {
  it.each([
    ['whose file exists', true],
    ['whose file does not exist yet', false],
  ])('%s serves the file, and the other files are next to it', async (_, exists) => {
    const [file, link] = [join(folder, 'real.sqlite3'), join(dirname(folder), 'link.sqlite3')];
    if (exists) await (await openTestDatabase({ path: file })).database.close();
    await symlink('data/real.sqlite3', link);
    const service = await start(link);
    await fill(service);
    expect(await readdir(dirname(folder))).toEqual(['data', 'link.sqlite3']);
    expect(await readdir(folder)).toEqual(
      expect.arrayContaining(['real.sqlite3', 'real.sqlite3-wal', 'real-cache.sqlite3', 'real-security.sqlite3']),
    );
    await service.close();
    expect(await readIds(await start(file))).toEqual(['before']);
  });

  it('is resolved by the database itself, also for flushes', async () => {
    const link = join(dirname(folder), 'link.sqlite3');
    await symlink(join(folder, 'real.sqlite3'), link);
    const test = await openTestDatabase({ path: link, synchronous: 'FULL' });
    await test.unit((storage) => storage.create(records, 'a', '{}'));
    expect(test.database.path).toBe(join(folder, 'real.sqlite3'));
  });

  it('is resolved in each part of a path, and a path without a file or with a circle stays', async () => {
    const top = dirname(folder);
    await symlink('data', join(top, 'one'));
    await symlink('../one/file', join(folder, 'two'));
    await symlink('circle', join(top, 'circle'));
    expect(withoutLinks(join(top, 'one', 'two'))).toBe(join(folder, 'file'));
    expect(withoutLinks(join(top, 'one', 'new', 'file'))).toBe(join(folder, 'new', 'file'));
    expect(withoutLinks(join(top, 'circle'))).toBe(join(top, 'circle'));
  });
});

describe('a database file in use', () => {
  it.each<[string, (file: string) => Promise<unknown>]>([
    ['is removed', (file) => rm(file)],
    ['loses its log', (file) => rm(`${file}-wal`)],
    ['loses the index of its log', (file) => rm(`${file}-shm`)],
    ['is moved with its folder', () => rename(folder, `${folder}-moved`)],
    [
      'is replaced by a copy',
      async (file) => {
        await copyFile(file, `${file}.copy`);
        await rename(`${file}.copy`, file);
      },
    ],
  ])('that %s refuses writes and copies, is reported by the heartbeat, and is still read', async (_, displace) => {
    const file = join(folder, 'coffer.sqlite3');
    const test = await openTestDatabase({ path: file });
    const service = await start(file);
    await fill(service);
    await displace(file);
    expect(await write(service, 'after')).toBe(503);
    const { status, text } = await service.asUser('alice').request('DELETE', `${place}/records/before`);
    expect([status, text]).toEqual([503, expect.stringContaining('removed, moved or replaced')]);
    expect(await heartbeat(service)).toMatchObject({ storage: false, permission: false });
    expect(await readIds(service)).toEqual(['before']);
    const copy = join(dirname(folder), 'copy.sqlite3');
    await expect(test.database.copyTo!(copy, new AbortController().signal)).rejects.toThrow(/put it back and restart/);
    expect(await readdir(dirname(folder))).not.toContain('copy.sqlite3');
  });

  it('is written again when it is back in its place, with everything that was confirmed', async () => {
    const file = join(folder, 'coffer.sqlite3');
    const service = await start(file);
    await fill(service);
    await rename(folder, `${folder}-moved`);
    expect(await write(service, 'refused')).toBe(503);
    await rename(`${folder}-moved`, folder);
    expect(await write(service, 'after')).toBe(201);
    expect(await heartbeat(service)).toMatchObject({ storage: true, permission: true });
    await service.close();
    expect(await readIds(await start(file))).toEqual(['after', 'before']);
  });
});
