// The package of the plugin: its size, its contents, its declarations, and the examples of its README.
import { symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../architecture/source-tree.ts';
import { installPackages, TestedPackage } from '../package-checks.ts';

const tested = new TestedPackage('rxdb', {
  platform: 'node',
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
});

describe('The package @coffer/rxdb', () => {
  it('has at most 8 KB, minified and compressed, without what it builds on', async () => {
    expect(await tested.size(['@coffer/client', 'rxdb', 'rxdb/*', 'rxjs'])).toBeLessThanOrEqual(8192);
  });

  it('imports nothing but its own files, the client, and its peers, in no circle', () => {
    expect(tested.foreignImports()).toEqual(['@coffer/client', 'rxdb', 'rxdb/plugins/replication', 'rxjs']);
    const { dependencies, peerDependencies } = tested.manifest;
    expect(Object.keys(dependencies as object)).toEqual(['@coffer/client']);
    expect(Object.keys(peerDependencies as object)).toEqual(['rxdb', 'rxjs']);
    // The plugin depends on parts of RxDB that may change in any minor version: see `takesOver`.
    const { version } = createRequire(import.meta.url)('rxdb/package.json') as { readonly version: string };
    const [major, minor] = version.split('.').map(Number);
    expect((peerDependencies as { rxdb: string }).rxdb).toBe(`>=${major}.${minor}.0 <${major}.${minor! + 1}.0`);
  });

  it('has short files with kebab-case names, each opening with a comment', () => tested.checkTidiness());

  it('has the version of the project, and contains what its sources produce', () => tested.checkContents());

  it('runs the examples of its README', () => tested.checkReadme({ least: 3 }));

  it('has types that accept right programs and refuse wrong ones', () =>
    tested.checkTypes(
      path.join(import.meta.dirname, 'fixtures', 'use-of-types.ts'),
      // The declarations of RxDB need packages that are optional.
      { exactOptionalPropertyTypes: true, skipLibCheck: true },
      (modules) => {
        installPackages(modules, ['client', 'rxdb']);
        for (const name of ['rxdb', 'rxjs']) {
          symlinkSync(path.join(projectRoot, 'node_modules', name), path.join(modules, name));
        }
      },
    ));
});
