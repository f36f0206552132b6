// `coffer indexes`: lists the declared indexes of a store with their states, and completes them.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import { openStores } from '../../src/backends/open-backends.ts';
import { renewIndexes } from '../../src/maintenance/indexes.ts';
import { startTestService } from '../../src/testing/index.ts';
import { run, workingFolder, type Outcome } from './process.ts';

const collection = '/v1/buckets/b/collections/c';
const records = `${collection}/records`;

/** A store in a folder of its own: its settings, and the command on it. */
function newStore(): { settings: Record<string, string>; indexes: (...args: string[]) => Promise<Outcome> } {
  const cwd = workingFolder();
  const file = join(cwd, 'store.sqlite3');
  const settings = {
    storage_backend: 'sqlite',
    storage_url: file,
    permission_backend: 'sqlite',
    permission_url: file,
    userid_hmac_secret: 'secret for tests',
  };
  const environment = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [`SVC_${name.toUpperCase()}`, value]),
  );
  return { settings, indexes: (...args) => run(['indexes', ...args], { cwd, environment }) };
}

test('coffer indexes shows states, progress, sizes and uses, and completes what is not built.', async () => {
  const { settings, indexes } = newStore();
  const service = await startTestService({ settings });
  const alice = service.asUser('alice');
  await alice.request('PUT', '/v1/buckets/b');
  await alice.request('PUT', '/v1/buckets/b/collections/none');
  expect(await indexes()).toMatchObject({ code: 0, out: 'No collection declares indexes.\n' });

  const declared = [{ fields: ['n', '-m'] }, { fields: ['email'], unique: true }, { text: ['title', 'body'] }];
  await alice.request('PUT', collection, { body: { data: { indexes: declared } } });
  for (let n = 0; n < 3; n++) await alice.request('PUT', `${records}/r${n}`, { body: { data: { n, title: 'tea' } } });
  await alice.request('GET', `${records}?n=1`);
  const reported = async (): Promise<readonly { sizeBytes: number; lastUsed: number | null }[]> =>
    ((await alice.request('GET', `${collection}/indexes`)).body as { data: [] }).data;
  await expect.poll(async () => (await reported())[0]!.lastUsed).not.toBe(null);
  const sizes = (await reported()).map(({ sizeBytes }) => sizeBytes);
  const since = new Date((await reported())[0]!.lastUsed!).toISOString().slice(0, 16);
  await service.close();
  const listed = (state: string, uses: readonly string[]): string =>
    ['n,-m', 'email (unique)', 'text(title,body)']
      .map(
        (name, at) =>
          `/buckets/b/collections/c: ${name}: ${state} of 3 objects, about ${sizes[at]} bytes, ${uses[at]}\n`,
      )
      .join('');
  const never = ['never used', 'never used', 'never used'];
  expect(sizes.every((size) => size > 0)).toBe(true);
  expect(await indexes()).toEqual({ code: 0, out: listed('ready, 3', [`last used ${since}Z`, ...never]), err: '' });

  const stores = await openStores(settingsOf(settings), systemClock);
  await renewIndexes(stores.storage);
  await stores.close();
  expect((await indexes()).out).toBe(listed('building [........................] 0 %, 0', never));
  const built = await indexes('--build');
  expect(built.out).toBe(listed('ready, 3', never));
  expect(built.err).toMatch(/^objects: 3 in /);
  expect(await indexes('--quiet')).toEqual({ code: 0, out: '', err: '' });
});

test('coffer indexes names two records that prevent a unique index.', async () => {
  const { settings, indexes } = newStore();
  const service = await startTestService({ settings });
  const alice = service.asUser('alice');
  await alice.request('PUT', '/v1/buckets/b');
  await alice.request('PUT', collection);
  for (const id of ['a', 'b']) await alice.request('PUT', `${records}/${id}`, { body: { data: { email: 'x' } } });
  await alice.request('PATCH', collection, { body: { data: { indexes: [{ fields: ['email'], unique: true }] } } });
  await service.close();
  const { out } = await indexes('--build');
  expect(out).toMatch(
    /^\/buckets\/b\/collections\/c: email \(unique\): failed, 2 of 2 objects, .*; (?:a and b|b and a) have the same values\n$/,
  );
});
