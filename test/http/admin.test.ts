// The web console, built-in or another one: files of a folder, and nothing outside of it.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
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
    for (const ignored of [range, beyond]) {
      const { status, headers: sent } = await service.request('HEAD', '/v1/admin/assets/app.js', ignored);
      expect([status, sent['content-length'], sent['content-range']]).toEqual([200, '15', undefined]);
    }
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
  const admin = join(import.meta.dirname, '..', '..', 'admin');
  const root = join(admin, 'dist');
  const filesOf = (folder: string): readonly string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
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

  it('serves each of its files with its type, and lets browsers keep those with hashed names.', async () => {
    const names = filesOf(root);
    expect(names.length).toBeGreaterThan(15);
    for (const name of names) {
      const { status, headers, text } = await service.request('GET', `/v1/admin/${name}`);
      expect([name, status, text]).toEqual([name, 200, readFileSync(join(root, name), 'utf8')]);
      expect(headers['content-type']).toMatch(/javascript|text\/css|text\/html|text\/markdown|image\/svg/);
      const isHashed = /^assets\/.+-[\w-]{8}\.\w+$/.test(name);
      expect([name, isHashed]).toEqual([name, name.startsWith('assets/')]);
      expect([name, headers['cache-control']]).toEqual([
        name,
        isHashed ? 'public, max-age=31536000' : 'public, max-age=0',
      ]);
    }
  });

  it('is smaller than 300 kB compressed, and its first view smaller than 60 kB.', () => {
    const sizes = new Map(filesOf(root).map((name) => [name, gzipSync(readFileSync(join(root, name))).length]));
    const sum = (names: readonly string[]): number => names.reduce((total, name) => total + (sizes.get(name) ?? 0), 0);
    const code = [...sizes.keys()].filter((name) => /\.(?:js|css|html|svg)$/.test(name));
    expect(sum(code)).toBeLessThan(300_000);
    const lazy = readFileSync(join(root, 'index.html'), 'utf8');
    const first = code.filter((name) => name === 'index.html' || lazy.includes(name));
    expect(first.length).toBeGreaterThan(2);
    expect(sum(first)).toBeLessThan(60_000);
  });

  it('comes with the licences of the packages in it.', () => {
    const text = readFileSync(join(root, 'licences.md'), 'utf8');
    for (const name of ['preact', '@codemirror/view', 'diff', 'uplot', '@cfworker/json-schema'])
      expect(text).toContain(name);
  });

  it.each([
    '/v1/admin/tsconfig.json',
    '/v1/admin/../tsconfig.json',
    '/v1/admin/%2e%2e/tsconfig.json',
    '/v1/admin/..%2f..%2fpackage.json',
    '/v1/admin/src/main.tsx',
    '/v1/admin/assets',
    '/v1/admin/assets/..%2f..%2ftsconfig.json',
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
    const source = join(admin, 'src');
    const files = [...filesOf(source).map((name) => join(source, name)), join(admin, 'index.html')];
    expect(files.length).toBeGreaterThan(50);
    for (const name of files) {
      const text = readFileSync(name, 'utf8');
      const markup =
        /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySet|document\.write|\beval\b|new Function|style="|createContextualFragment/;
      expect([name, markup.exec(text)]).toEqual([name, null]);
      expect([name, /https?:\/\/(?!www\.w3\.org)/.exec(text)]).toEqual([name, null]);
    }
    // The packages in it neither compile code nor load from other origins.
    for (const name of filesOf(root).filter((each) => /\.(?:js|css|html)$/.test(each))) {
      const text = readFileSync(join(root, name), 'utf8');
      expect([name, /\beval\(|new Function\b|@import|url\(['"]?https?:/.exec(text)]).toEqual([name, null]);
    }
  });

  it('sends requests in one module, and stores data in the browser in one.', () => {
    const source = join(admin, 'src');
    const using = (pattern: RegExp): readonly string[] =>
      filesOf(source).filter((name) => pattern.test(readFileSync(join(source, name), 'utf8')));
    // The snippets are code that the console shows.
    const sending = using(/\bfetch\(|XMLHttpRequest|EventSource|WebSocket|sendBeacon/);
    expect(sending.filter((name) => name !== 'areas/developer/snippets.ts')).toEqual(['core/api.ts']);
    expect(using(/\b(?:local|session)Storage\b|indexedDB|document\.cookie/)).toEqual(['core/storage.ts']);
  });
});
