// A store that was used through the API with all plugins that store data, and with ids of a generator of a plugin: its export
// can be imported.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { settingsOf } from '../../../src/backends/load-settings.ts';
import { definePlugin } from '../../../src/http/plugin.ts';
import { startTestService, type TestService } from '../../../src/testing/index.ts';
import { exportInto, importFrom } from '../../../src/transfer/export/export.ts';
import { ownedKinds } from '../../http/owned-kinds.ts';
import { upload } from '../../support/attachments.ts';

const generators = definePlugin({
  name: 'generators',
  setup: () => ({
    idGenerators: { Odd: { generate: () => 'é:|~ 1', match: (id: string) => id.includes(':') } },
    kinds: ownedKinds,
  }),
});

const placeOf = (file: string): Record<string, string> => ({
  storage_backend: 'sqlite',
  storage_url: file,
  permission_backend: 'sqlite',
  permission_url: file,
});

async function fill(service: TestService): Promise<void> {
  const alice = service.asUser('alice');
  const send = async (method: string, path: string, body: unknown = { data: {} }): Promise<void> => {
    const { status, text } = await alice.request(method, `/v1${path}`, { body });
    expect([path, status < 300 ? '' : text]).toEqual([path, '']);
  };
  const account = { data: { password: 'sesame-123' } };
  const { status: created } = await service.request('PUT', '/v1/accounts/zoe@example.org', { body: account });
  expect(created).toBe(201);
  await send('PUT', '/buckets/b', { data: {}, permissions: { read: ['a\tb', 'système', '/buckets/b/groups/g'] } });
  await send('PUT', '/buckets/b/groups/g', { data: { members: ['account:zoe@example.org', 'x y'] } });
  await send('PUT', '/buckets/b/collections/c');
  await send('POST', '/buckets/b/collections/c/records', { data: { deleted: false, n: { id: 1 } } });
  await send('PUT', '/buckets/b/collections/c/records/a:1');
  await send('PATCH', '/buckets/b/collections/c/records/a:1', { data: { last_modified: 2 ** 52 } });
  await send('PUT', '/buckets/b/collections/c/records/a:2', { data: { after: 'the latest timestamp' } });
  await send('DELETE', '/buckets/b/collections/c/records/a:2');
  await send('PUT', '/buckets/default/collections/own');
  await send('POST', '/vaults');
  await send('PUT', '/tasks/t');
  await send('PUT', '/tasks/t/steps/s');
  const { status: uploaded } = await upload(alice, '/buckets/b/collections/c/records/with:file', {
    filename: 'ä "b".txt',
  });
  expect(uploaded).toBe(201);
}

test('the export of a store with all plugins is imported completely', { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-plugins-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const settings = {
    userid_hmac_secret: 'secret',
    includes: 'accounts history attachments default_bucket quotas changes flush operations',
    'multiauth.policies': 'account basicauth',
    'multiauth.policy.account.use': 'AccountsPolicy',
    'attachment.base_path': join(folder, 'files'),
    account_create_principals: 'system.Everyone',
    account_hash_cost: '10',
    record_id_generator: 'Odd',
    event_listeners: 'partner',
    'event_listeners.partner.use': 'webhook',
    'event_listeners.partner.url': 'http://127.0.0.1:1/',
    'event_listeners.partner.secret': 'a-secret-of-enough-characters',
    'event_listeners.partner.allow_private_addresses': 'true',
  };
  const place = placeOf(join(folder, 'old.sqlite3'));
  const service = await startTestService({ settings: { ...settings, ...place }, plugins: [generators] });
  try {
    await fill(service);
  } finally {
    await service.close();
  }
  const file = join(folder, 'x.ndjson');
  const summary = await exportInto(file, settingsOf({ ...settings, ...place }));
  expect(summary.lists).toBeGreaterThan(15);
  const target = settingsOf({ ...settings, ...placeOf(join(folder, 'new.sqlite3')) });
  expect(await importFrom(file, target, { mode: 'refuse', verifies: true })).toEqual({ summary, differences: [] });
});
