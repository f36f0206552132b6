import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cachePathFor, openSqliteCache } from '../../../src/backends/sqlite/cache.ts';
import type { CacheBackend } from '../../../src/contracts/cache.ts';
import { createTestClock, type TestClock } from '../../../src/testing/contract/contract-case.ts';
import { openConnection, openTestDatabase, records, temporaryPath } from './temporary.ts';

async function openCache(path: string, clock: TestClock = createTestClock(), prefix = ''): Promise<CacheBackend> {
  const cache = openSqliteCache({ path, clock, prefix });
  onTestFinished(() => cache.close());
  await cache.initializeSchema({ dryRun: false });
  return cache;
}

describe('the cache', () => {
  it('has a file of its own next to the database', async () => {
    const path = await temporaryPath();
    const cache = await openCache(path);
    await cache.set('a', 1, 60);
    await cache.close();
    const files = await readdir(dirname(path));
    expect(files).toContain('coffer-cache.sqlite3');
    expect(files).not.toContain('coffer.sqlite3');
  });

  it.each([
    ['data/coffer.sqlite3', 'data/coffer-cache.sqlite3'],
    ['data/coffer', 'data/coffer-cache'],
    ['./data.d/coffer', './data.d/coffer-cache'],
    ['a.b.db', 'a.b-cache.db'],
  ])('of %s is %s', (path, expected) => expect(cachePathFor(path)).toBe(expected));

  it('writes while the unit of work of the same request is the writer', async () => {
    const { path, unit } = await openTestDatabase();
    const cache = await openCache(path);
    await unit(async (storage) => {
      await storage.create(records, 'a', '{}');
      await cache.set('token', 'value', 60);
      expect(await cache.delete('token')).toBe('value');
    });
  });

  it('keeps its values when it is opened again', async () => {
    const path = await temporaryPath();
    const first = await openCache(path);
    await first.set('a', { n: [1, null] }, 60);
    await first.close();
    expect(await (await openCache(path)).get('a')).toEqual({ n: [1, null] });
  });

  it('gives a value to exactly one of two processes that take it', async () => {
    const path = await temporaryPath();
    const caches = [await openCache(path), await openCache(path)];
    for (let round = 0; round < 20; round++) {
      await caches[round % 2]!.set('token', round, 60);
      const taken = await Promise.all(caches.map((cache) => cache.delete('token')));
      expect(taken.filter((value) => value !== undefined)).toEqual([round]);
    }
  });

  it('waits while another process writes, and fails after the timeout', async () => {
    const path = await temporaryPath();
    await openCache(path);
    const cache = openSqliteCache({ path, clock: createTestClock(), busyTimeoutMs: 40 });
    onTestFinished(() => cache.close());
    const other = openConnection(cachePathFor(path));
    other.run('BEGIN IMMEDIATE');
    await expect(cache.set('a', 1, 60)).rejects.toMatchObject({ name: 'BackendUnavailable', backend: 'cache' });
    const patient = await openCache(path);
    const setting = patient.set('a', 2, 60);
    other.run('COMMIT');
    await setting;
    expect(await cache.get('a')).toBe(2);
  });

  it('flushes the keys with its own prefix only', async () => {
    const path = await temporaryPath();
    const [one, other] = [await openCache(path, undefined, 'a_'), await openCache(path, undefined, 'ab')];
    await one.set('k', 1, 60);
    await other.set('k', 2, 60);
    await one.flush();
    expect(await one.get('k')).toBeUndefined();
    expect(await other.get('k')).toBe(2);
  });

  it('deletes expired values in small parts as others are set', async () => {
    const path = await temporaryPath();
    const clock = createTestClock();
    const cache = await openCache(path, clock);
    for (let n = 0; n < 50; n++) await cache.set(`old${n}`, n, 1);
    clock.advance(1000);
    for (let n = 0; n < 50; n++) await cache.set(`new${n}`, n, 60);
    const rows = openConnection(cachePathFor(path)).get<[number]>('SELECT count(*) FROM cache')!;
    expect(rows).toEqual([50]);
  });

  it('reports the missing schema before its initialization', async () => {
    const cache = openSqliteCache({ path: await temporaryPath(), clock: createTestClock() });
    onTestFinished(() => cache.close());
    await expect(cache.get('a')).rejects.toThrow(/coffer migrate/);
    const planned = await cache.initializeSchema({ dryRun: true });
    expect(planned).toEqual(['create the table of the cache (SQLite schema version 1)']);
    expect(await cache.initializeSchema({ dryRun: false })).toEqual(planned);
    expect(await cache.initializeSchema({ dryRun: false })).toEqual([]);
  });

  it('refuses every call once closed', async () => {
    const cache = await openCache(await temporaryPath());
    await cache.close();
    await cache.close();
    await expect(cache.get('a')).rejects.toMatchObject({ backend: 'cache' });
  });
});
