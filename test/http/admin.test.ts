// The web console, built-in or another one: files of a folder, and nothing outside of it.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readVersion } from '../../src/settings/version.ts';
import { startTestService, type TestService } from '../../src/testing/index.ts';

describe('Another web console', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-admin-'));
  const root = join(folder, 'build');
  const image = Uint8Array.from({ length: 256 }, (_byte, index) => index);
  let service: TestService;

  beforeAll(async () => {
    mkdirSync(join(root, 'assets'), { recursive: true });
    writeFileSync(join(root, 'index.html'), '<!doctype html><title>Console</title>');
    writeFileSync(join(root, 'VERSION'), '3.2.1\n');
    writeFileSync(join(root, 'assets', 'app.js'), 'console.log(1);');
    writeFileSync(join(root, 'assets', 'logo one.png'), image);
    writeFileSync(join(root, '.secret'), 'hidden');
    writeFileSync(join(folder, 'outside.txt'), 'outside');
    service = await startTestService({ settings: { includes: 'admin', admin_assets_path: root } });
  });
  afterAll(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  it('is a page with a policy that allows inline scripts.', async () => {
    const page = await service.request('GET', '/v1/admin/');
    expect(page).toMatchObject({ status: 200, text: '<!doctype html><title>Console</title>' });
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    expect(page.headers['content-security-policy']).toContain("script-src 'self' 'unsafe-inline'");
    expect(page.headers['x-content-type-options']).toBe('nosniff');
  });

  it('is found without the trailing slash and without the version.', async () => {
    const location = `${service.origin}/v1/admin/`;
    expect(await service.request('GET', '/v1/admin')).toMatchObject({ status: 307, headers: { location } });
    const unversioned = await service.request('GET', '/admin/');
    expect(unversioned).toMatchObject({ status: 307, headers: { location } });
  });

  it('has files of every kind, byte for byte.', async () => {
    const script = await service.request('GET', '/v1/admin/assets/app.js');
    expect(script).toMatchObject({ status: 200, text: 'console.log(1);' });
    expect(script.headers['content-type']).toMatch(/javascript/);
    const response = await fetch(`${service.origin}/v1/admin/assets/logo%20one.png`);
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(image);
  });

  it('supports HEAD, conditional requests and ranges.', async () => {
    const head = await service.request('HEAD', '/v1/admin/assets/app.js');
    expect(head).toMatchObject({ status: 200, text: '', headers: { 'content-length': '15' } });
    const headers = { 'If-None-Match': head.headers['etag']! };
    expect(await service.request('GET', '/v1/admin/assets/app.js', { headers })).toMatchObject({
      status: 304,
      text: '',
    });
    const range = { headers: { Range: 'bytes=0-6' } };
    expect(await service.request('GET', '/v1/admin/assets/app.js', range)).toMatchObject({
      status: 206,
      text: 'console',
    });
    const beyond = { headers: { Range: 'bytes=100-' } };
    expect(await service.request('GET', '/v1/admin/assets/app.js', beyond)).toMatchObject({ status: 416 });
  });

  it.each([
    '/v1/admin/missing.js',
    '/v1/admin/assets',
    '/v1/admin/.secret',
    '/v1/admin/../outside.txt',
    '/v1/admin/%2e%2e/outside.txt',
    '/v1/admin/..%2foutside.txt',
    '/v1/admin/%2e%2e%2foutside.txt',
    '/v1/admin/assets/../../outside.txt',
    '/v1/admin/..%5coutside.txt',
    '/v1/admin//etc/passwd',
    '/v1/admin/%00index.html',
    '/v1/admin/index.html%00.js',
    '/v1/admin/%252e%252e/outside.txt',
  ])('has nothing at %s.', async (path) => {
    const { status, text } = await service.request('GET', path);
    expect([307, 400, 404]).toContain(status);
    expect(text).not.toContain('outside\n');
    expect(text).not.toBe('outside');
    expect(text).not.toBe('hidden');
  });

  it('refuses writes.', async () => {
    expect(await service.request('PUT', '/v1/admin/index.html')).toMatchObject({ status: 405, body: { errno: 115 } });
  });

  it('has a capability and enables the permissions list.', async () => {
    const { body } = await service.request('GET', '/v1/');
    expect(body).toMatchObject({ capabilities: { admin: { version: '3.2.1' }, permissions_endpoint: {} } });
    expect(await service.asUser('alice').request('GET', '/v1/permissions')).toMatchObject({ status: 200 });
  });

  it('cannot be in a batch, which is refused as a whole.', async () => {
    const alice = service.asUser('alice');
    const requests = [{ method: 'PUT', path: '/buckets/of-batch' }, { path: '/admin/assets/app.js' }];
    expect(await alice.request('POST', '/v1/batch', { body: { requests } })).toMatchObject({ status: 400 });
    expect((await alice.request('GET', '/v1/buckets')).body).toEqual({ data: [] });
  });

  it('requires its files at start.', async () => {
    const settings = { includes: 'admin', admin_assets_path: folder };
    await expect(startTestService({ settings })).rejects.toThrow(/admin.*admin_assets_path.*index\.html/s);
  });

  it('exists only if included.', async () => {
    const bare = await startTestService();
    expect(await bare.request('GET', '/v1/admin/')).toMatchObject({ status: 307 });
    expect(await bare.request('GET', '/v1/admin')).toMatchObject({ status: 404, body: { errno: 111 } });
    await bare.close();
  });
});

describe('The web console of the package', () => {
  const root = join(import.meta.dirname, '..', '..', 'admin', 'public');
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({ settings: { includes: 'admin' } });
  });
  afterAll(() => service.close());

  it('is a page with a policy that allows only its own files.', async () => {
    const location = `${service.origin}/v1/admin/`;
    expect(await service.request('GET', '/v1/admin')).toMatchObject({ status: 307, headers: { location } });
    const page = await service.request('GET', '/v1/admin/');
    expect(page).toMatchObject({ status: 200, text: readFileSync(join(root, 'index.html'), 'utf8') });
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    const policy = page.headers['content-security-policy'];
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(page.headers['referrer-policy']).toBe('no-referrer');
  });

  it('serves each of its files with its type.', async () => {
    const names = readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
    expect(names.length).toBeGreaterThan(20);
    for (const name of names) {
      const { status, headers, text } = await service.request('GET', `/v1/admin/${name}`);
      expect([name, status, text]).toEqual([name, 200, readFileSync(join(root, name), 'utf8')]);
      expect(headers['content-type']).toMatch(/javascript|text\/css|text\/html|image\/svg/);
    }
  });

  it.each([
    '/v1/admin/tsconfig.json',
    '/v1/admin/../tsconfig.json',
    '/v1/admin/%2e%2e/tsconfig.json',
    '/v1/admin/..%2f..%2fpackage.json',
    '/v1/admin/parts',
    '/v1/admin/parts/..%2f..%2ftsconfig.json',
  ])('has nothing at %s.', async (path) => {
    const { status, text } = await service.request('GET', path);
    expect([307, 404]).toContain(status);
    expect(text).not.toContain('compilerOptions');
  });

  it('has a capability with the version of the service.', async () => {
    const { body } = await service.request('GET', '/v1/');
    expect(body).toMatchObject({ capabilities: { admin: { version: readVersion() }, permissions_endpoint: {} } });
  });

  it('never inserts data as markup and contains no other origin.', () => {
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.(?:js|css|html)$/.test(name),
    );
    for (const name of files) {
      const text = readFileSync(join(root, name), 'utf8');
      expect([name, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|style=/.exec(text)]).toEqual([
        name,
        null,
      ]);
      expect([name, /https?:\/\/(?!www\.w3\.org)/.exec(text)]).toEqual([name, null]);
    }
  });
});
