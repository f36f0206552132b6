// Storage, permissions and cache from packages and files: how they are found, and that a service runs on them.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { BackendModule } from '../../src/contracts/backend-module.ts';
import {
  cacheCases,
  createBackendContexts,
  createTestClock,
  startTestService,
  storageCases,
  transactionCases,
  type TestService,
} from '../../src/testing/index.ts';
import { ModuleFolder } from '../support/modules.ts';

/** Wraps the memory backends and records each open and close. */
const wrapper = `
const log = (globalThis.wrapperLog ??= []);
export async function openDatabase({ kind, url, setting, openBuiltIn }) {
  log.push(['open', kind, url, setting('wrapper.color')].join(' '));
  const { database, storage, permission } = await openBuiltIn('memory');
  const wrapped = {
    name: 'wrapped',
    abilities: database.abilities,
    begin: () => { log.push('begin'); return database.begin(); },
    initializeSchema: (options) => database.initializeSchema(options),
    close: async () => { log.push('close'); await database.close(); },
  };
  const ours = (inner) => ({ database: wrapped, reader: inner.reader, writer: (transaction) => inner.writer(transaction) });
  return { database: wrapped, storage: () => ours(storage()), permission: () => ours(permission()) };
}
`;

/** A cache that forgets nothing before its time. */
const mapCache = `
const isPlain = (value) => typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
const copy = (value) => {
  if (Array.isArray(value)) return value.map(copy);
  return isPlain(value) ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, copy(part)])) : value;
};
export const openCache = ({ clock }) => {
  const values = new Map();
  const live = (key) => {
    const found = values.get(key);
    if (found !== undefined && found.until > clock.now()) return found;
    values.delete(key);
    return undefined;
  };
  return {
    name: 'map',
    async set(key, value, ttlSeconds) { values.set(key, { value: copy(value), until: clock.now() + ttlSeconds * 1000 }); },
    async get(key) { return copy(live(key)?.value); },
    async delete(key) { const found = live(key); values.delete(key); return found?.value; },
    async advance(key, by, from, ttlSeconds) {
      const value = Math.max(from, live(key)?.value ?? from) + by;
      values.set(key, { value, until: clock.now() + ttlSeconds * 1000 });
      return value;
    },
    async expire(key, ttlSeconds) {
      const found = live(key);
      if (found !== undefined) found.until = clock.now() + ttlSeconds * 1000;
    },
    async flush() { values.clear(); },
    async initializeSchema() { return []; },
    async close() {},
  };
};
`;

/** A cache that another process flushes before some of its first reads. */
const flushedCache = `
import { openCache as open } from 'map-cache';
export const openCache = (context) => {
  const cache = open(context);
  let flushes = Number(context.setting('flushed.times'));
  return {
    ...cache,
    async get(key) {
      if (flushes-- > 0) await cache.flush();
      return cache.get(key);
    },
  };
};
`;

let folder: ModuleFolder;
beforeAll(async () => {
  folder = await ModuleFolder.enter();
  await folder.write('wrapper.redis.mjs', wrapper);
  await folder.install('map-cache', mapCache);
  await folder.write('flushed.mjs', flushedCache);
  await folder.write('empty.mjs', 'export const something = 1;');
  await folder.write(
    'half.mjs',
    'export const openDatabase = (context) => context.openBuiltIn("memory").then(({ database }) => ({ database }));',
  );
  await folder.write('nothing.mjs', 'export const openDatabase = () => undefined; export const openCache = () => 5;');
  await folder.write('odd.mjs', 'export const openDatabase = (context) => context.openBuiltIn("paper");');
  await folder.write('failing.mjs', 'export const openDatabase = () => { throw new Error("no coffee left"); };');
});
afterAll(() => folder.remove());

const log = (): string[] => Reflect.get(globalThis, 'wrapperLog') as string[];
const start = (settings: Record<string, string>): Promise<TestService> => startTestService({ settings });
let service: TestService | undefined;
afterEach(() => service?.close());

describe('modules as backends', () => {
  it('are opened once for storage and permissions at one location, share transactions, and are closed.', async () => {
    service = await start({
      storage_backend: './wrapper.redis.mjs',
      permission_backend: './wrapper.redis.mjs',
      storage_url: 'there',
      permission_url: 'there',
      cache_backend: 'map-cache',
      'wrapper.color': 'red',
    });
    expect(log()).toEqual(['open storage there red']);
    const alice = service.asUser('alice');
    expect(await alice.request('PUT', '/v1/buckets/b', { body: { data: { a: 1 } } })).toMatchObject({ status: 201 });
    expect(log()).toEqual(['open storage there red', 'begin']);
    expect(await alice.request('GET', '/v1/buckets/b')).toMatchObject({ status: 200, body: { data: { a: 1 } } });
    expect(await service.request('GET', '/v1/__heartbeat__')).toMatchObject({
      status: 200,
      body: { storage: true, permission: true, cache: true },
    });
    await service.close();
    service = undefined;
    expect(log().filter((line) => line === 'close')).toHaveLength(1);
  });

  it.each([
    ['1', 200, true],
    ['2', 503, false],
  ])('that lose the value of the heartbeat %s times in a row make it respond %i.', async (times, status, cache) => {
    service = await start({ cache_backend: './flushed.mjs', 'flushed.times': times });
    expect(await service.request('GET', '/v1/__heartbeat__')).toMatchObject({ status, body: { cache } });
  });

  // Proves S-019.
  it('are opened twice for two locations, and can be combined with other backends.', async () => {
    log().length = 0;
    service = await start({
      storage_backend: './wrapper.redis.mjs',
      permission_backend: './wrapper.redis.mjs',
      storage_url: 'here',
      permission_url: 'there',
    });
    expect(log()).toEqual(['open storage here ', 'open permission there ']);
    await service.close();
    service = await start({ permission_backend: './wrapper.redis.mjs' });
    expect(await service.asUser('alice').request('PUT', '/v1/buckets/b')).toMatchObject({ status: 201 });
  });

  it.each([
    [
      { storage_backend: 'postgres-ql' },
      /storage_backend names postgres-ql, and built in are memory.*No package postgres-ql was found/,
    ],
    [{ storage_backend: './missing.mjs' }, /storage_backend names \.\/missing\.mjs.*No module exists at/],
    [{ permission_backend: './empty.mjs' }, /permission_backend names .*exports no function openDatabase/],
    [{ cache_backend: './empty.mjs' }, /cache_backend names .*exports no function openCache/],
    [{ storage_backend: './half.mjs' }, /storage_backend names \.\/half\.mjs, whose openDatabase does not return one/],
    [{ storage_backend: './nothing.mjs' }, /openDatabase of the module returned nothing/],
    [{ cache_backend: './nothing.mjs' }, /openCache of the module returned nothing/],
    [{ storage_backend: './odd.mjs' }, /no built-in backend is called paper; built in are memory/],
    [{ storage_backend: './failing.mjs' }, /storage_backend names .*no coffee left/],
    [
      { storage_backend: 'kinto.core.storage.cassandra' },
      /expected one of memory, sqlite, postgresql, redis, or a package/,
    ],
  ])('prevent the start as %o.', async (settings, message) => {
    await expect(start(settings)).rejects.toThrow(message);
  });

  it('pass the contract suites when they are correct.', async () => {
    const load = async (file: string): Promise<BackendModule> =>
      (await import(/* @vite-ignore */ `${folder.path}/${file}`)) as BackendModule;
    const { openDatabase } = await load('wrapper.redis.mjs');
    for (const testCase of [...storageCases.slice(0, 40), ...transactionCases.slice(0, 10)]) {
      const clock = createTestClock();
      const parts = await openDatabase!(createBackendContexts(clock).database);
      const context = { database: parts.database, storage: parts.storage!(), permission: parts.permission!(), clock };
      await testCase.run(context);
      await parts.database.close();
    }
    const { openCache } = await load('node_modules/map-cache/index.js');
    for (const testCase of cacheCases) {
      const clock = createTestClock();
      await testCase.run({ cache: await openCache!(createBackendContexts(clock).cache), clock });
    }
  });
});
