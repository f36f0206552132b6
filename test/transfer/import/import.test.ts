// Imports from a running server of the protocol into every durable backend: what clients see afterwards is what they saw
// before.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { OpenStores } from '../../../src/contracts/open-backends.ts';
import { openStores } from '../../../src/backends/open-backends.ts';
import { importInto, type ImportOptions, type ImportResult } from '../../../src/transfer/import/import.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { settingsOf } from '../../../src/backends/load-settings.ts';
import { startTestService, type TestService } from '../../../src/testing/index.ts';
import { postgresqlSettings } from '../../support/backends.ts';
import { cloneDatabase } from '../../support/postgresql.ts';
import { openTestServer } from '../../support/redis.ts';
import { answersOf, fillSource, idOf, sourceOf } from './source-data.ts';
import { inExtent } from '../../support/extent.ts';

const secret = { userid_hmac_secret: 'secret for tests', includes: 'default_bucket' };
const cleanUps: (() => unknown)[] = [];

afterAll(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
});

type Values = Readonly<Record<string, string>>;

const places: Readonly<Record<string, () => Promise<Values>>> = {
  async sqlite() {
    const folder = mkdtempSync(join(tmpdir(), 'coffer-import-'));
    cleanUps.push(() => rmSync(folder, { recursive: true }));
    return { ...placed('sqlite', `sqlite://${join(folder, 'coffer.sqlite3')}`), sqlite_synchronous: 'OFF' };
  },
  async postgresql() {
    const { url, drop } = await cloneDatabase();
    cleanUps.push(drop);
    return postgresqlSettings(url);
  },
  async redis() {
    const { url, close } = await openTestServer();
    cleanUps.push(close);
    return { ...placed('redis', url), redis_prefix: `test-${randomUUID()}:` };
  },
  async 'two databases'() {
    return {
      ...(await places['sqlite']!()),
      permission_backend: 'postgresql',
      permission_url: (await cloneDatabase()).url,
    };
  },
};

function placed(backend: string, url: string): Values {
  return Object.fromEntries(
    ['storage', 'permission', 'cache'].flatMap((kind) => [
      [`${kind}_backend`, backend],
      [`${kind}_url`, url],
    ]),
  );
}

async function importTo(values: Values, options: Omit<ImportOptions, 'onRoot'>): Promise<ImportResult> {
  const settings = settingsOf({ ...secret, ...values });
  const stores: OpenStores = await openStores(settings, systemClock);
  try {
    for (const database of stores.databases) await database.initializeSchema({ dryRun: false });
    return await importInto(stores, settings, options);
  } finally {
    await stores.close();
  }
}

async function seenBy(values: Values, user: string): Promise<ReadonlyMap<string, unknown>> {
  const service = await startTestService({ settings: { ...secret, ...values } });
  try {
    return await answersOf(service, user);
  } finally {
    await service.close();
  }
}

let source: TestService;

beforeEach(async () => {
  source = await startTestService({ settings: { ...secret, paginate_by: '7', bucket_read_principals: '' } });
  await fillSource(source);
});

afterEach(() => source.close());

describe.each(inExtent(['sqlite', 'postgresql'], Object.keys(places)))('into %s', (name) => {
  test(
    'everything that clients see is the same after an import, and after changes and another run.',
    { timeout: 60_000 },
    async () => {
      const values = await places[name]!();
      const first = await importTo(values, { from: sourceOf(source), mode: 'refuse' });
      expect(first.parts.flatMap(({ differences }) => differences)).toEqual([]);
      expect(first).toMatchObject({
        isEqual: true,
        problems: [],
        unseen: ['/buckets/blog/collections/c2/records/of-bob'],
      });
      const seen = await answersOf(source, 'alice');
      expect(seen.size).toBeGreaterThan(200);
      expect(await seenBy(values, 'alice')).toEqual(seen);

      const alice = source.asUser('alice');
      const before = '/v1/buckets/shop/collections';
      await alice.request('DELETE', '/v1/buckets/a_b');
      await alice.request('PUT', '/v1/buckets/a_b', { body: { data: { again: true } } });
      await alice.request('DELETE', `${before}/c1`);
      await alice.request('DELETE', `${before}/c2/records/r0`);
      await alice.request('PATCH', `${before}/c2/records/r2`, { body: { permissions: { read: ['new'] } } });
      await alice.request('PUT', `${before}/new/records/r0`, { body: {} });
      await alice.request('PUT', `${before}/c3/records/old`, { body: { data: { last_modified: 12 } } });
      await alice.request('PATCH', '/v1/buckets/shop/groups/staff', { body: { data: { members: ['account:dave'] } } });
      const again = await importTo(values, { from: sourceOf(source), mode: 'resume' });
      expect(again.parts.flatMap(({ differences }) => differences)).toEqual([]);
      expect(await seenBy(values, 'alice')).toEqual(await answersOf(source, 'alice'));
      // What bob alone may see of permissions comes with an import as bob, and takes nothing away.
      const asBob = await importTo(values, { from: sourceOf(source, 'bob'), mode: 'resume' });
      expect(asBob.parts.flatMap(({ differences }) => differences)).toEqual([
        '/buckets: the source does not show a_b (403), which the target has',
      ]);
      expect(await seenBy(values, 'bob')).toEqual(await answersOf(source, 'bob'));
      expect(await seenBy(values, 'alice')).toEqual(await answersOf(source, 'alice'));
      const checked = await importTo(values, { from: sourceOf(source), mode: 'verify' });
      expect(checked).toMatchObject({ isEqual: true, problems: [] });
    },
  );
});

test('a target that is not empty is refused, and one with writes of its own is not overwritten.', async () => {
  const values = await places['sqlite']!();
  await importTo(values, { from: sourceOf(source), mode: 'refuse' });
  await expect(importTo(values, { from: sourceOf(source), mode: 'refuse' })).rejects.toThrow('--resume');
  const target = await startTestService({ settings: { ...secret, ...values } });
  await target.asUser('alice').request('PUT', '/v1/buckets/blog/collections/c5/records/mine', { body: {} });
  await target.close();
  await expect(importTo(values, { from: sourceOf(source), mode: 'resume' })).rejects.toThrow(
    '/buckets/blog/collections/c5/records: the target has mine with a later timestamp',
  );
  const checked = await importTo(values, { from: sourceOf(source), mode: 'verify' });
  expect(checked.parts.flatMap(({ differences }) => differences)).toEqual([
    '/buckets/blog/collections/c5/records: mine is only in the target',
  ]);
});

test('single buckets can be imported, and others later.', async () => {
  const values = await places['sqlite']!();
  const one = await importTo(values, { from: sourceOf(source), mode: 'refuse', buckets: ['shop'] });
  expect(one).toMatchObject({ isEqual: true, unseen: [] });
  const ids = [...(await seenBy(values, 'alice')).keys()].filter((path) => /^\/v1\/buckets\/[^/]+$/.test(path));
  expect(ids).toEqual(['/v1/buckets/shop']);
  await importTo(values, { from: sourceOf(source), mode: 'resume' });
  expect(await seenBy(values, 'alice')).toEqual(await answersOf(source, 'alice'));
  await expect(importTo(values, { from: sourceOf(source), mode: 'resume', buckets: ['nope'] })).rejects.toThrow(
    'shows no bucket nope',
  );
});

test('objects of other owners are imported and reported without permissions, and never overwrite existing permissions.', async () => {
  const values = await places['sqlite']!();
  const bob = await importTo(values, { from: sourceOf(source, 'bob'), mode: 'refuse' });
  expect(bob.isEqual).toBe(true);
  expect(bob.unseen).toContain('/buckets/blog');
  expect(bob.unseen).not.toContain('/buckets/blog/collections/c2/records/of-bob');
  // The other one may see the rest, and does not lose what the first has brought.
  const alice = await importTo(values, { from: sourceOf(source), mode: 'resume' });
  expect(alice).toMatchObject({ isEqual: true, unseen: ['/buckets/blog/collections/c2/records/of-bob'] });
  expect(await seenBy(values, 'bob')).toEqual(await answersOf(source, 'bob'));
  expect(await seenBy(values, 'alice')).toEqual(await answersOf(source, 'alice'));
});

test('a read-only source, which refuses batches, is read with single requests.', async () => {
  const place = await places['sqlite']!();
  const filled = await importTo(place, { from: sourceOf(source), mode: 'refuse' });
  expect(filled.isEqual).toBe(true);
  const readonly = await startTestService({ settings: { ...secret, ...place, readonly: 'true' } });
  try {
    const values = await places['sqlite']!();
    expect(await importTo(values, { from: sourceOf(readonly), mode: 'refuse' })).toMatchObject({ isEqual: true });
    expect(await seenBy(values, 'alice')).toEqual(await answersOf(source, 'alice'));
  } finally {
    await readonly.close();
  }
});

test('accounts imported by an administrator can log in with their passwords.', { timeout: 60_000 }, async () => {
  const accounts = {
    userid_hmac_secret: 'secret for tests',
    includes: 'accounts',
    'multiauth.policies': 'account',
    'multiauth.policy.account.use': 'AccountsPolicy',
    account_create_principals: 'system.Everyone',
    account_write_principals: 'account:admin',
    account_read_principals: 'account:admin',
    account_password_min_length: '1',
    account_hash_cost: '10',
  };
  const old = await startTestService({ settings: accounts });
  try {
    for (const id of ['admin', 'carol', 'dan@library.example']) {
      const body = { data: { password: `secret of ${id}`, shelf: 1 } };
      expect((await old.request('PUT', `/v1/accounts/${encodeURIComponent(id)}`, { body })).status).toBe(201);
    }
    await old.request('PUT', '/v1/buckets/mine', { auth: 'carol', body: {} });
    const values = { ...(await places['sqlite']!()), ...accounts };
    const asAdmin = await importTo(values, { from: sourceOf(old, 'admin'), mode: 'refuse' });
    expect(asAdmin).toMatchObject({ isEqual: true, problems: [] });
    expect(asAdmin.parts.find(({ name }) => name === 'accounts')?.target.objects).toBe(3);
    const asCarol = await importTo(values, { from: sourceOf(old, 'carol'), mode: 'resume' });
    expect(asCarol).toMatchObject({ isEqual: true, problems: [] });
    const target = await startTestService({ settings: values });
    try {
      for (const id of ['admin', 'carol', 'dan@library.example']) {
        const path = `/v1/accounts/${encodeURIComponent(id)}`;
        const [before, after] = [
          await old.request('GET', path, { auth: id }),
          await target.request('GET', path, { auth: id }),
        ];
        expect([after.status, after.body, after.headers['etag']]).toEqual([200, before.body, before.headers['etag']]);
      }
      expect((await target.request('GET', '/v1/buckets/mine', { auth: 'carol' })).body).toMatchObject({
        permissions: { write: ['account:carol'] },
      });
      expect((await target.request('GET', '/v1/accounts/dan@library.example', { auth: 'carol' })).status).toBe(403);
    } finally {
      await target.close();
    }
  } finally {
    await old.close();
  }
});

test('the history provides permissions that objects do not show, and is imported on request.', async () => {
  const settings = { ...secret, includes: 'default_bucket history' };
  const old = await startTestService({ settings });
  try {
    const [alice, bob] = [old.asUser('alice'), old.asUser('bob')];
    await alice.request('PUT', '/v1/buckets/b', { body: { permissions: { read: [await idOf(old, 'bob')] } } });
    await alice.request('PUT', '/v1/buckets/b/collections/c', { body: {} });
    await alice.request('PUT', '/v1/buckets/b/collections/c/records/r', { body: { permissions: { read: ['eve'] } } });
    const values = { ...(await places['sqlite']!()), includes: 'default_bucket history' };
    const from = sourceOf(old, 'bob');
    const result = await importTo(values, { from, mode: 'refuse', withHistory: true });
    expect(result).toMatchObject({ isEqual: true, problems: [], unseen: [] });
    const target = await startTestService({ settings: { ...settings, ...values } });
    try {
      const history = '/v1/buckets/b/history';
      expect((await target.request('GET', history, { auth: 'bob' })).text).toBe(
        (await bob.request('GET', history)).text,
      );
      expect((await target.request('GET', history, { auth: 'bob' })).body).toMatchObject({ data: { length: 3 } });
      expect(await answersOf(target, 'alice')).toEqual(await answersOf(old, 'alice'));
    } finally {
      await target.close();
    }
  } finally {
    await old.close();
  }
});

test('different secrets are reported, and so are unknown credentials.', async () => {
  const warningsWith = async (values: Values): Promise<readonly string[]> => {
    const settings = settingsOf({ ...secret, ...values });
    const stores = await openStores(settings, systemClock);
    let told: readonly string[] = [];
    const onRoot: ImportOptions['onRoot'] = (_root, warnings) => (told = warnings);
    await importInto(stores, settings, { from: sourceOf(source), mode: 'verify', onRoot });
    await stores.close();
    return told;
  };
  expect(await warningsWith({})).toEqual([]);
  expect(await warningsWith({ userid_hmac_secret: 'other' })).toEqual([
    expect.stringContaining(`The source calls you ${await idOf(source, 'alice')}`),
    expect.stringContaining('Your personal bucket is'),
  ]);
  expect(await warningsWith({ default_bucket_hmac_secret: 'other' })).toEqual([
    expect.stringContaining('default_bucket_hmac_secret'),
  ]);
  const from = { ...sourceOf(source), headers: { authorization: 'Bearer nobody' } };
  await expect(importTo({}, { from, mode: 'refuse' })).rejects.toThrow('refused these credentials');
});
