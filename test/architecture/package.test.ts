// What package.json says about the project to registries and to people.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { projectRoot } from './source-tree.ts';

interface Manifest {
  readonly version: string;
  readonly homepage: string;
  readonly bugs: { readonly url: string };
  readonly repository: { readonly type: string; readonly url: string };
  readonly keywords: readonly string[];
}

const read = (name: string): string => readFileSync(path.join(projectRoot, name), 'utf8');
const manifest = JSON.parse(read('package.json')) as Manifest;
const home = new URL(manifest.homepage);

describe('package.json', () => {
  it('names the home of the project, with repository, bugs and keywords', () => {
    expect(home.protocol).toBe('https:');
    expect(manifest.repository.type).toBe('git');
    expect(new URL(manifest.repository.url.replace(/^git\+/, '')).hostname).toBe(home.hostname);
    expect(new URL(manifest.bugs.url).hostname).toBe(home.hostname);
    expect(manifest.keywords.length).toBeGreaterThan(4);
  });

  it('is the only place that names the home, besides generated pages, so that one change moves it', () => {
    const folders = ['src', 'docs', 'examples', 'scripts', 'admin/src', 'assets', 'bin', '.vitepress'];
    const files = folders.flatMap((folder) =>
      readdirSync(path.join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.(?:tsx?|js|mjs|json|md|html)$/.test(name))
        .map((name) => path.join(folder, name))
        .filter((name) => name !== 'docs/reference/settings.md'),
    );
    const others = [...files, 'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'].filter((name) =>
      read(name).includes(home.host),
    );
    expect(others).toEqual([]);
  });

  it('has the version of the newest section of the changelog, and of the document that the service shows', () => {
    expect(/^## \[(\d+\.\d+\.\d+)\]/m.exec(read('CHANGELOG.md'))?.[1]).toBe(manifest.version);
    expect(JSON.parse(read('assets/version.json'))).toMatchObject({ version: manifest.version });
  });

  it('is not published while its home is a placeholder', () => {
    const script = path.join(projectRoot, 'scripts', 'require-home.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
    const isPlaceholder = home.hostname.endsWith('.example');
    expect([status, stderr]).toEqual(
      isPlaceholder ? [1, expect.stringContaining('homepage, repository and bugs')] : [0, ''],
    );
  });
});
