// The files of a service: private to their owner, undamaged, and on a writable disk. Otherwise the start reports what is
// wrong and how to repair it.
import { execFile } from 'node:child_process';
import type { Stats } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, open, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test, type TestContext } from 'vitest';
import { checkService } from '../../src/app/check.ts';
import type { Finding } from '../../src/maintenance/check-backends.ts';
import { createService } from '../../src/app/service.ts';
import { silentLogger, type Logger } from '../../src/contracts/logger.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import { startTestService, type TestService } from '../../src/testing/service/service-client.ts';

const run = promisify(execFile);
const isPosix = process.platform !== 'win32';

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'coffer-files-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function settingsIn(folder: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const file = join(folder, 'coffer.sqlite3');
  return {
    'multiauth.policies': 'basicauth',
    userid_hmac_secret: 'a secret that is long enough for tests',
    storage_backend: 'sqlite',
    permission_backend: 'sqlite',
    storage_url: file,
    permission_url: file,
    ...more,
  };
}

function collectWarnings(): { readonly logger: Logger; readonly warnings: string[] } {
  const warnings: string[] = [];
  const warn = (text: unknown): void => void warnings.push(typeof text === 'string' ? text : '');
  return { logger: { ...silentLogger, warn }, warnings };
}

/** Starts a service, and collects its warnings. */
async function start(settings: Readonly<Record<string, string>>): Promise<TestService & { warnings: string[] }> {
  const { logger, warnings } = collectWarnings();
  return { ...(await startTestService({ settings, logger })), warnings };
}

/** Returns the output of `coffer check` without the lines that report success. */
async function check(settings: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const found: Finding[] = [];
  await checkService(settingsOf(settings), (finding) => found.push(finding), { maxObjects: 0, problems: [] });
  return found.filter(({ kind }) => kind !== 'ok').map(({ kind, text }) => `${kind}: ${text}`);
}

/** Returns the files and folders in a folder, itself included, without those that the service has just deleted. */
async function statsOf(folder: string): Promise<readonly (readonly [name: string, stats: Stats])[]> {
  const names = await readdir(folder, { recursive: true });
  const each = ['.', ...names].map(async (name) => {
    try {
      return [[name, await stat(join(folder, name))] as const];
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOENT' });
      return [];
    }
  });
  return (await Promise.all(each)).flat();
}

const modeOf = ({ mode }: Stats): string => (mode & 0o7777).toString(8);

async function modes(folder: string): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries((await statsOf(folder)).map(([name, stats]) => [name, modeOf(stats)]));
}

async function put(service: TestService, path: string, data: object): Promise<number> {
  return (await service.asUser('alice').request('PUT', `/v1${path}`, { body: { data } })).status;
}

async function upload(service: TestService, id: string): Promise<number> {
  const boundary = 'limit';
  const disposition = 'Content-Disposition: form-data; name="attachment"; filename="a.txt"';
  const raw = `--${boundary}\r\n${disposition}\r\nContent-Type: text/plain\r\n\r\ntext\r\n--${boundary}--\r\n`;
  const headers = { 'Content-Type': `multipart/form-data; boundary=${boundary}` };
  const path = `/v1/buckets/b/collections/c/records/${id}/attachment`;
  return (await service.asUser('alice').request('POST', path, { raw, headers })).status;
}

describe.skipIf(!isPosix)('the files of a service', () => {
  test('are private to their owner with any umask, attachments included', async () => {
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const parent = await temporaryFolder();
    const folder = join(parent, 'deep', 'data');
    const cache = { cache_backend: 'sqlite', cache_url: join(folder, 'coffer.sqlite3') };
    const files = { includes: 'attachments', 'attachment.base_path': join(parent, 'files') };
    const service = await start(settingsIn(folder, { ...cache, ...files }));
    expect([await put(service, '/buckets/b', {}), await put(service, '/buckets/b/collections/c', {})]).toEqual([
      201, 201,
    ]);
    expect(await upload(service, 'r')).toBe(201);
    const found = await statsOf(parent);
    expect(found.length).toBeGreaterThan(10);
    for (const [name, stats] of found)
      expect([name, modeOf(stats)]).toEqual([name, stats.isDirectory() ? '700' : '600']);
    expect(service.warnings).toEqual([]);
    await service.close();
  });

  test('are closed to others by the start, which warns about a folder that may be open on purpose', async () => {
    const folder = await temporaryFolder();
    const settings = settingsIn(folder, { allowed_hosts: 'loopback' });
    await (await start(settings)).close();
    const file = join(folder, 'coffer.sqlite3');
    await chmod(file, 0o644);
    await chmod(folder, 0o755);
    expect(await check(settings)).toEqual([
      expect.stringMatching(/^warning: .*\(mode 0755\): chmod it/),
      expect.stringMatching(/^warning: .*coffer\.sqlite3 is open .*\(mode 0644\): the start will set 0600/),
    ]);
    expect((await modes(folder))['coffer.sqlite3']).toBe('644');
    const service = await start(settings);
    expect(service.warnings).toEqual([expect.stringMatching(/ is open to other users .*\(mode 0755\): chmod it/)]);
    expect((await modes(folder))['coffer.sqlite3']).toBe('600');
    await service.close();
  });

  test('are shared with the group of a folder that has the setgid bit', async () => {
    const parent = await temporaryFolder();
    const [folder, files] = [join(parent, 'data'), join(parent, 'files')];
    for (const each of [folder, files]) {
      await mkdir(each);
      await chmod(each, 0o2750);
    }
    const settings = settingsIn(folder, { includes: 'attachments', 'attachment.base_path': files });
    await (await start(settings)).close();
    await chmod(join(folder, 'coffer.sqlite3'), 0o664);
    const service = await start(settings);
    expect([service.warnings, (await modes(folder))['coffer.sqlite3']]).toEqual([[], '660']);
    await put(service, '/buckets/b', {});
    await put(service, '/buckets/b/collections/c', {});
    expect(await upload(service, 'r')).toBe(201);
    const attachments = Object.entries(await modes(files)).filter(([name]) => name.endsWith('.txt'));
    expect(attachments.map(([, mode]) => mode)).toEqual(['640']);
    await service.close();
  });
});

describe('a damaged file', () => {
  /** Writes a file with damaged pages in the middle. */
  async function damagedFile(): Promise<Record<string, string>> {
    const settings = settingsIn(await temporaryFolder());
    const service = await start(settings);
    await put(service, '/buckets/b', {});
    await put(service, '/buckets/b/collections/c', {});
    for (let n = 0; n < 60; n++) {
      await put(service, `/buckets/b/collections/c/records/r${n}`, { text: 'x'.repeat(3000), n });
    }
    await service.close();
    const file = await open(settings['storage_url']!, 'r+');
    const { size } = await file.stat();
    for (let at = Math.floor(size / 8192) * 4096; at < size; at += 4096) {
      await file.write(Buffer.alloc(4096, 0xa5), 0, 4096, at);
    }
    await file.close();
    return settings;
  }

  test('is refused at the start, with a remedy', async () => {
    const settings = await damagedFile();
    const refusal = /is damaged; stop the service and restore a backup, or rescue .*\.recover/;
    await expect(start(settings)).rejects.toThrow(refusal);
    expect(await check(settings)).toContainEqual(expect.stringMatching(refusal));
  });

  test('is found by check and does not end the service when it is too large for the check at each start', async () => {
    const settings = { ...(await damagedFile()), sqlite_start_check_mb: '0', sqlite_memory_mb: '0' };
    expect(await check(settings)).toContainEqual(expect.stringMatching(/problem: storage: sqlite is damaged: /));
    const service = await start(settings);
    onTestFinished(() => service.close());
    const client = service.asUser('alice');
    const list = '/v1/buckets/b/collections/c/records';
    const statuses = new Set<number>();
    for (const query of ['', '?_limit=5', '?n=7', '?_sort=-n', '?_since=1', '?_limit=5&_sort=-n']) {
      const { status, headers } = await client.request('GET', list + query);
      statuses.add(status);
      if (status !== 200) expect(headers['retry-after']).toBe('3');
    }
    for (let n = 0; n < 60; n += 3) statuses.add((await client.request('GET', `${list}/r${n}`)).status);
    expect([...statuses].filter((status) => status !== 200)).toEqual([503]);
    const heartbeat = await service.request('GET', '/v1/__heartbeat__');
    expect([heartbeat.status, heartbeat.body]).toEqual([503, { storage: false, permission: false, cache: true }]);
  });

  test('is refused at the start, with a remedy, when it is not a database', async () => {
    const settings = settingsIn(await temporaryFolder());
    const file = await open(settings['storage_url']!, 'w');
    await file.write('This is a letter and no database. '.repeat(200));
    await file.close();
    await expect(start(settings)).rejects.toThrow(/not a SQLite database; stop the service and restore a backup/);
  });
});

describe('a disk that cannot be written', () => {
  /** Returns a store with a bucket on a read-only disk; skips the test where none can be mounted. */
  async function storeOnLockedDisk({ skip }: TestContext): Promise<Record<string, string>> {
    const original = settingsIn(await temporaryFolder());
    const service = await start(original);
    expect(await put(service, '/buckets/b', { n: 1 })).toBe(201);
    await service.close();
    const folder = await temporaryFolder();
    try {
      await run('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', folder]);
    } catch {
      skip('this system lets the tests mount no disk');
    }
    onTestFinished(() => run('umount', ['--lazy', folder]).then(() => undefined));
    const settings = settingsIn(folder);
    await copyFile(original['storage_url']!, settings['storage_url']!);
    await run('mount', ['-o', 'remount,ro', folder]);
    return settings;
  }

  test('is reported by the start and by check, and serves its contents with readonly', async (context) => {
    const settings = await storeOnLockedDisk(context);
    const refusal = /coffer\.sqlite3 cannot be written \(EROFS\).*readonly = true/;
    await expect(start(settings)).rejects.toThrow(refusal);
    expect(await check(settings)).toContainEqual(expect.stringMatching(refusal));
    const readonly = { ...settings, readonly: 'true' };
    expect((await check(readonly)).filter((line) => line.startsWith('problem'))).toEqual([]);
    const service = await start(readonly);
    onTestFinished(() => service.close());
    const { status, body } = await service.asUser('alice').request('GET', '/v1/buckets/b');
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ data: expect.objectContaining({ n: 1 }) as unknown }),
    ]);
    expect((await service.request('GET', '/v1/__heartbeat__')).status).toBe(200);
    expect(await put(service, '/buckets/b', { n: 2 })).toBe(405);
  });

  test('is refused for a cache, with readonly too', async (context) => {
    const settings = await storeOnLockedDisk(context);
    const cache = { readonly: 'true', cache_backend: 'sqlite', cache_url: settings['storage_url']! };
    await expect(start({ ...settings, ...cache })).rejects.toThrow(/cannot be written \(EROFS\).*cache_backend/);
  });
});

describe('a service that is reachable over the network', () => {
  test.each([
    ['Basic authentication and all users', { bucket_create_principals: 'system.Authenticated' }, true],
    [
      'all clients',
      { bucket_create_principals: 'system.Everyone', 'multiauth.policies': 'account', includes: 'accounts' },
      true,
    ],
    ['named users', { bucket_create_principals: 'basicauth:abc' }, false],
    [
      'all users that a policy knows',
      { bucket_create_principals: 'system.Authenticated', 'multiauth.policies': 'account', includes: 'accounts' },
      false,
    ],
  ])('and that lets %s create buckets warns at the start when it should: %o', async (_, settings, isRisky) => {
    const log = collectWarnings();
    const given = { userid_hmac_secret: 'a secret that is long enough for tests', host: '0.0.0.0', ...settings };
    const service = await createService({ settings: settingsOf(given), logger: log.logger });
    await service.close();
    const warnings = log.warnings.filter((text) => text.includes('any client may create buckets'));
    expect(warnings).toHaveLength(isRisky ? 1 : 0);
    expect(warnings.every((text) => text.startsWith('host is 0.0.0.0'))).toBe(true);
  });
});
