// The package of the adapter: its size, its contents, its types, and the examples of its README.
import { symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { projectRoot } from '../../architecture/source-tree.ts';
import { TestedPackage } from '../package-checks.ts';

const tested = new TestedPackage('tanstack-db');

describe('The package @coffer/tanstack-db', () => {
  afterEach(() => vi.restoreAllMocks());

  it('has at most 11 KB, minified and compressed, without the packages that it needs', async () => {
    expect(await tested.size(['@coffer/client', '@tanstack/db'])).toBeLessThanOrEqual(11 * 1024);
  });

  it('imports nothing but its own files, the client and TanStack DB, in no circle', () => {
    expect(tested.foreignImports()).toEqual(['@coffer/client', '@tanstack/db']);
    const { version, dependencies, peerDependencies } = tested.manifest;
    expect(dependencies).toEqual({ '@coffer/client': `^${version}` });
    expect(Object.keys(peerDependencies as object)).toEqual(['@tanstack/db']);
  });

  it('has short files with kebab-case names, each opening with a comment', () => tested.checkTidiness());

  it('has the version of the project, and contains what its sources produce', () => tested.checkContents());

  it('runs the examples of its README', async () => {
    // TanStack DB reports collections that end.
    vi.spyOn(console, 'warn').mockReturnValue();
    vi.spyOn(console, 'error').mockReturnValue();
    await tested.checkReadme({
      least: 3,
      stop: '() => Promise.all([open, soon, todos, archive, careful].map((each) => each.cleanup()))',
    });
  });

  it('has types that accept right programs and refuse wrong ones', () =>
    tested.checkTypes(
      path.join(import.meta.dirname, 'fixtures', 'use-of-types.ts'),
      { skipLibCheck: true },
      (modules) => symlinkSync(path.join(projectRoot, 'node_modules'), modules),
    ));
});
