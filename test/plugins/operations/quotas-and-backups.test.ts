// Usage of quotas, and backups.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startTestService, testBackends } from '../../../src/testing/index.ts';
import { allBackends, forEachBackend } from '../../support/backends.ts';
import { operate, type Operated } from './operators.ts';

interface Usage {
  readonly uri: string;
}

forEachBackend((backend) => {
  test(`Usage on ${backend.name} is listed in pages, with the limits.`, { timeout: 60_000 }, async () => {
    const service = await operate(backend, {
      settings: {
        includes: 'operations quotas',
        'quotas.bucket_max_items': '100',
        'quotas.collection_b_c_max_bytes': '5000',
      },
    });
    const ann = service.asUser('ann');
    for (const path of ['/a', '/b', '/b/collections/c', '/b/collections/c/records/1', '/b/collections/d', '/gone']) {
      await ann.request('PUT', `/v1/buckets${path}`);
    }
    await ann.request('DELETE', '/v1/buckets/gone');
    const { data } = await service.read('quotas');
    expect(data).toMatchObject([
      { uri: '/buckets/a', collections: 0, records: 0, limits: { max_bytes: null, max_items: 100 } },
      { uri: '/buckets/b', collections: 2, records: 1, limits: { max_items: 100 } },
      { uri: '/buckets/b/collections/c', collections: null, records: 1, limits: { max_bytes: 5000, max_items: null } },
      { uri: '/buckets/b/collections/d', records: 0, limits: { max_bytes: null } },
    ]);
    const seen: string[] = [];
    let path = '/v1/operations/quotas?_limit=1';
    while (path !== '') {
      const { body, headers } = await service.reader.request('GET', path);
      seen.push(...(body as { readonly data: readonly Usage[] }).data.map(({ uri }) => uri));
      path = headers['next-page']?.slice(service.origin.length) ?? '';
    }
    expect(seen).toEqual((data as readonly Usage[]).map(({ uri }) => uri));
    await service.close();
  });
});

describe('Backups', () => {
  const sqlite = testBackends.find(({ name }) => name === 'sqlite')!;

  function temporaryFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'coffer-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  const backUp = async (service: Operated): Promise<number> =>
    (await service.writer.request('POST', '/v1/operations/backups')).status;

  interface Backups {
    readonly data: readonly { readonly name: string; readonly size_bytes: number }[];
    readonly state: { readonly is_running: boolean; readonly error: string | null };
  }

  /** Resolves when no backup is being made. */
  async function finished(service: Operated): Promise<Backups> {
    for (;;) {
      const body = (await service.read('backups')) as unknown as Backups;
      if (!body.state.is_running) return body;
      await nextTurn();
    }
  }

  test('A backup is a complete database that only its owner can read.', { timeout: 60_000 }, async () => {
    const folder = join(temporaryFolder(), 'backups');
    const service = await operate(sqlite, { settings: { operations_backup_folder: folder } });
    const ann = service.asUser('ann');
    await ann.request('PUT', '/v1/buckets/b');
    await ann.request('PUT', '/v1/buckets/b/collections/c');
    await ann.request('PUT', '/v1/buckets/b/collections/c/records/1', { body: { data: { n: 1 } } });
    expect((await service.read('backups')).data).toEqual([]);
    expect(await backUp(service)).toBe(202);
    // Writes go on during the copy.
    expect((await ann.request('PUT', '/v1/buckets/later')).status).toBe(201);
    const { data, state } = await finished(service);
    expect({ data, state }).toMatchObject({ data: [{ size_bytes: expect.any(Number) }], state: { error: null } });
    const path = join(folder, data[0]!.name);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    await service.close();

    const restored = await startTestService({
      settings: { storage_backend: 'sqlite', storage_url: path, permission_backend: 'sqlite', permission_url: path },
    });
    const record = await restored.asUser('ann').request('GET', '/v1/buckets/b/collections/c/records/1');
    expect(record.body).toMatchObject({ data: { n: 1 } });
    await restored.close();
  });

  test('Only the newest are kept, and other files stay.', { timeout: 60_000 }, async () => {
    const folder = temporaryFolder();
    let now = Date.parse('2026-01-02T03:04:05.006Z');
    const service = await operate(sqlite, {
      settings: { operations_backup_folder: folder, operations_backup_keep: '2' },
      clock: { now: () => now },
    });
    writeFileSync(join(folder, 'other.sqlite3'), '');
    writeFileSync(join(folder, 'coffer-20250101T000000000Z.sqlite3.partial'), '');
    for (let n = 0; n < 3; n++, now += 60_000) {
      expect(await backUp(service)).toBe(202);
      await finished(service);
    }
    const names = ['coffer-20260102T030605006Z.sqlite3', 'coffer-20260102T030505006Z.sqlite3'];
    expect((await finished(service)).data.map(({ name }) => name)).toEqual(names);
    expect(readdirSync(folder).toSorted()).toEqual([...names, 'other.sqlite3'].toSorted());
    await service.close();
  });

  test('Backups with names in the future push out no new one, and stay.', { timeout: 60_000 }, async () => {
    const folder = temporaryFolder();
    let now = Date.parse('2026-01-02T03:04:05.006Z');
    const service = await operate(sqlite, {
      settings: { operations_backup_folder: folder, operations_backup_keep: '2' },
      clock: { now: () => now },
    });
    const future = [1, 2, 3].map((day) => `coffer-2036010${day}T000000000Z.sqlite3`);
    for (const name of future) writeFileSync(join(folder, name), '');
    for (let n = 0; n < 3; n++, now += 60_000) {
      expect(await backUp(service)).toBe(202);
      expect((await finished(service)).state.error).toBe(null);
    }
    const names = ['coffer-20260102T030505006Z.sqlite3', 'coffer-20260102T030605006Z.sqlite3'];
    expect(readdirSync(folder).toSorted()).toEqual([...names, ...future]);
    await service.close();
  });

  test('One backup runs at a time, and ends with the service.', { timeout: 60_000 }, async () => {
    const folder = temporaryFolder();
    const service = await operate(sqlite, { settings: { operations_backup_folder: folder } });
    const statuses = await Promise.all([backUp(service), backUp(service), backUp(service)]);
    expect(statuses.toSorted()).toEqual([202, 409, 409]);
    await service.close();
    expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
  });

  test.skipIf(process.getuid?.() === 0)('A folder that cannot be written is reported.', async () => {
    const folder = join(temporaryFolder(), 'closed');
    mkdirSync(folder);
    chmodSync(folder, 0o500);
    const service = await operate(sqlite, { settings: { operations_backup_folder: folder } });
    expect(await backUp(service)).toBe(202);
    expect((await finished(service)).state.error).toContain('EACCES');
    await service.close();
  });

  test('A folder that is a file is reported.', async () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    const service = await operate(sqlite, { settings: { operations_backup_folder: file } });
    expect((await service.reader.request('GET', '/v1/operations/backups')).status).toBe(200);
    expect(await backUp(service)).toBe(202);
    expect((await finished(service)).state.error).toMatch(/EEXIST|ENOTDIR/);
    expect(existsSync(file)).toBe(true);
    await service.close();
  });

  test.each(allBackends.filter(({ name }) => name !== 'sqlite'))(
    'On $name the answer names the command.',
    async (backend) => {
      const service = await operate(backend, { settings: { operations_backup_folder: temporaryFolder() } });
      const { state } = (await service.read('backups')) as unknown as { readonly state: object };
      expect(state).toMatchObject({ is_available: false, advice: expect.stringContaining('coffer export') });
      expect(await backUp(service)).toBe(409);
      await service.close();
    },
  );

  test('Without a folder no backups are made.', async () => {
    const service = await operate(sqlite);
    const { status, body } = await service.writer.request('POST', '/v1/operations/backups');
    expect({ status, body }).toMatchObject({ status: 409, body: { message: expect.stringContaining('_folder') } });
    await service.close();
  });
});
