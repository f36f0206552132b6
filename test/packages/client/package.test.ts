// The package of the client: its size, its contents, its declarations, and the examples of its README.
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { installPackages, TestedPackage } from '../package-checks.ts';

const tested = new TestedPackage('client');

describe('The package @coffer/client', () => {
  it('has at most 8 KB, minified and compressed', async () => {
    expect(await tested.size([])).toBeLessThanOrEqual(8192);
  });

  it('imports nothing but its own files, in no circle', () => {
    expect(tested.foreignImports()).toEqual([]);
    expect(Object.keys(tested.manifest).filter((name) => /ependencies/.test(name))).toEqual([]);
  });

  it('has short files with kebab-case names, each opening with a comment', () => tested.checkTidiness());

  it('has the version of the project, and contains what its sources produce', () => tested.checkContents());

  it('runs the examples of its README', () => tested.checkReadme({ least: 4 }));

  it('has types that accept right programs and refuse wrong ones', () =>
    tested.checkTypes(
      path.join(import.meta.dirname, 'fixtures', 'use-of-types.ts'),
      { exactOptionalPropertyTypes: true, skipLibCheck: false },
      (modules) => installPackages(modules, ['client']),
    ));
});
