// The package as users get it: packed from the checkout, installed in an empty folder, started, used and stopped.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectRoot, readSourceTree } from '../architecture/source-tree.ts';
import { basic, run, start } from '../cli/process.ts';
import { npm, packCheckout } from '../support/npm.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'coffer-package-'));
let tarball: string;

beforeAll(async () => {
  tarball = await packCheckout(projectRoot, folder);
}, 300_000);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const headers = { authorization: basic('alice'), 'content-type': 'application/json' };

function emptyFolder(name: string): string {
  const created = path.join(folder, name);
  mkdirSync(created);
  return created;
}

describe('The package', () => {
  test('holds what its sources produce, the console and the bill of materials, and neither sources nor maps.', () => {
    const files = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).trim().split('\n');
    const names = files.map((file) => file.replace(/^package\//, ''));
    const produced = readSourceTree().flatMap((source) => {
      const stem = `dist/${source.path.replace(/\.ts$/, '')}`;
      return [`${stem}.d.ts`, `${stem}.js`];
    });
    expect(names.filter((name) => name.startsWith('dist/')).toSorted()).toEqual(
      [...produced, 'dist/sbom.cdx.json'].toSorted(),
    );
    expect(names.filter((name) => !name.startsWith('dist/') && !name.startsWith('admin/dist/')).toSorted()).toEqual([
      'LICENSE',
      'README.md',
      'assets/api-docs/NOTICE.txt',
      'assets/api-docs/index.html',
      'assets/api-docs/page.css',
      'assets/api-docs/page.js',
      'assets/contribute.json',
      'assets/swagger-ui/swagger-ui-bundle.js',
      'assets/swagger-ui/swagger-ui.css',
      'assets/version.json',
      'bin/coffer.js',
      'package.json',
      'scripts/prepare.mjs',
    ]);
    const ofConsole = names.filter((name) => name.startsWith('admin/dist/'));
    expect(ofConsole).toEqual(expect.arrayContaining(['admin/dist/index.html', 'admin/dist/licences.md']));
  });

  test('is installed in an empty folder with its scripts allowed, and starts, stores and stops there.', async () => {
    const cwd = emptyFolder('installed');
    writeFileSync(path.join(cwd, 'package.json'), '{ "private": true }');
    await npm(['install', '--ignore-scripts=false', tarball], cwd);
    const has = (name: string): boolean => existsSync(path.join(cwd, 'node_modules', name));
    expect(['typescript', 'vitest', 'vitepress'].filter(has)).toEqual([]);

    const program = path.join(cwd, 'node_modules', '.bin', 'coffer');
    const service = await start([], { cwd, program });
    const response = await fetch(`${service.url}buckets/shop`, {
      method: 'PUT',
      headers,
      body: '{"data":{"open":true}}',
    });
    expect([response.status, await response.json()]).toMatchObject([201, { data: { id: 'shop', open: true } }]);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(existsSync(path.join(cwd, 'data', 'coffer.sqlite3'))).toBe(true);

    const again = await start([], { cwd, program });
    expect((await fetch(`${again.url}buckets/shop`, { headers })).status).toBe(200);
    again.kill('SIGTERM');
    expect(await again.ended).toBe(0);
  });

  test('needs no compiler when its dependencies are installed inside of it.', async () => {
    const cwd = emptyFolder('unpacked');
    execFileSync('tar', ['-xzf', tarball], { cwd });
    const place = path.join(cwd, 'package');
    await npm(['install', '--ignore-scripts=false', '--omit=dev'], place);
    expect(existsSync(path.join(place, 'node_modules', 'typescript'))).toBe(false);
    const { version } = JSON.parse(readFileSync(path.join(place, 'package.json'), 'utf8')) as {
      readonly version: string;
    };
    const outcome = await run(['version'], { cwd, program: path.join(place, 'bin', 'coffer.js') });
    expect([outcome.code, outcome.out]).toEqual([0, expect.stringContaining(version)]);
  });
});
