// The walls of the console: what its folders import, and files that are short and say what they hold (admin/README.md).
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { importsOf, projectRoot } from './source-tree.ts';

const root = path.join(projectRoot, 'admin', 'src');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .map((name) => name.split(path.sep).join('/'))
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => ({ name, text: readFileSync(path.join(root, name), 'utf8') }));

/** Returns whether a file of the console may import another one. */
function isAllowed(from: string, to: string): boolean {
  const [room = '', area = ''] = from.split('/');
  const isOf = (...rooms: readonly string[]): boolean => rooms.includes(to.split('/')[0] ?? '');
  if (room === 'core') return isOf('core');
  if (room === 'ui') return isOf('core', 'ui');
  if (room === 'app') return isOf('core', 'ui', 'app') || to === 'areas/area.ts' || to === 'areas/registry.ts';
  if (room === 'main.tsx') return isOf('app');
  if (from === 'areas/registry.ts') return /^areas\/(?:area|[a-z-]+\/index)\.ts$/.test(to);
  return isOf('core', 'ui') || to === 'areas/area.ts' || to.startsWith(`areas/${area}/`);
}

/** Imports of other files of the console, as pairs of paths. */
const imports = files.flatMap(({ name, text }) =>
  importsOf(text).flatMap(({ specifier }) =>
    specifier?.startsWith('.') === true ? [[name, path.posix.join(path.posix.dirname(name), specifier)] as const] : [],
  ),
);

describe('The console', () => {
  it('imports downwards: areas know neither each other nor the frame', () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(imports.filter(([from, to]) => !isAllowed(from, to))).toEqual([]);
  });

  it('loads the views of areas on first use', () => {
    const eager = files.filter(
      ({ name, text }) => /^areas\/[a-z-]+\/index\.ts$/.test(name) && /^import .*\.tsx';$/m.test(text),
    );
    expect(eager.map(({ name }) => name)).toEqual([]);
  });

  it('has short files with kebab-case names, each opening with a comment', () => {
    const untidy = files.filter(
      ({ name, text }) =>
        text.split('\n').length > 400 || !text.startsWith('//') || !/^(?:[a-z0-9-]+\/)*[a-z0-9-]+\.tsx?$/.test(name),
    );
    expect(untidy.map(({ name }) => name)).toEqual([]);
  });
});
