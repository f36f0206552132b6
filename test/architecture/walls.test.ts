// The walls of the house: every import, file and TypeScript project of src against docs/architecture.md.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseImportTable } from './import-table.ts';
import {
  findBarrels,
  findForbiddenImports,
  findImportCircles,
  findStrayPackages,
  findUntidyFiles,
  findWrongReferences,
} from './rules.ts';
import { projectRoot, readSourceTree, roomOf } from './source-tree.ts';

const files = readSourceTree();
const table = parseImportTable(readFileSync(path.join(projectRoot, 'docs/architecture.md'), 'utf8'));

/** Room → rooms its `tsconfig.json` refers to, for every TypeScript project below `src`. */
function readReferences(): ReadonlyMap<string, readonly string[]> {
  const src = path.join(projectRoot, 'src');
  const projects = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (name) => path.basename(name) === 'tsconfig.json',
  );
  return new Map(
    projects.map((name) => {
      const folder = path.posix.dirname(name.split(path.sep).join('/'));
      const { references = [] } = JSON.parse(readFileSync(path.join(src, name), 'utf8')) as {
        references?: { path: string }[];
      };
      return [folder === '.' ? 'index' : folder, references.map((each) => path.posix.join(folder, each.path))];
    }),
  );
}

describe('src', () => {
  it('is found at all', () => {
    expect(files.length).toBeGreaterThan(50);
  });

  it('imports only what docs/architecture.md allows', () => {
    expect(findForbiddenImports(files, table)).toEqual([]);
  });

  it('has no circle of imports, type imports included', () => {
    expect(findImportCircles(files)).toEqual([]);
  });

  it('has no file that only passes on names, but for the public ones', () => {
    expect(findBarrels(files)).toEqual([]);
  });

  it('has short files with kebab-case names, each opening with a comment', () => {
    expect(findUntidyFiles(files)).toEqual([]);
  });

  it('removes slashes at the end of texts in linear time, with `withoutSlashesAtEnd` only', () => {
    const quadratic = /^(?!\s*(?:\/\/|\*)).*\\\/[+*]\$\//m;
    expect(quadratic.test(String.raw`text.replace(/\/+$/, '')`)).toBe(true);
    expect(files.filter(({ text }) => quadratic.test(text)).map(({ path: name }) => name)).toEqual([]);
  });

  it('has only rooms that the table knows', () => {
    const unknown = [...new Set(files.map((file) => roomOf(file.path)))].filter(
      (room) => !table.rooms.has(room) && !table.rooms.has(`${path.posix.dirname(room)}/*`),
    );
    expect(unknown).toEqual([]);
  });

  it('has TypeScript projects that refer to each other as the table says', () => {
    expect(findWrongReferences(readReferences(), table)).toEqual([]);
  });

  it('uses the packages that package.json and the table name, and no others', () => {
    const { dependencies, optionalDependencies } = JSON.parse(
      readFileSync(path.join(projectRoot, 'package.json'), 'utf8'),
    ) as {
      dependencies: Record<string, string>;
      optionalDependencies: Record<string, string>;
    };
    const names = Object.keys({ ...dependencies, ...optionalDependencies });
    expect(findStrayPackages(files, table, names)).toEqual([]);
  });
});
