// The source files of the project as plain values, and where each belongs: what the architecture rules look at.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export interface SourceFile {
  /** Path below `src`, with slashes: `http/router.ts`. */
  readonly path: string;
  readonly text: string;
}

export interface ModuleImport {
  /** What stands in the quotes; `undefined` when it is computed while the program runs. */
  readonly specifier: string | undefined;
  /** Whether it passes names on (`export … from`). */
  readonly reExports: boolean;
}

/** The root folder of the project. */
export const projectRoot = path.resolve(import.meta.dirname, '../..');

/** Every TypeScript file below `src`. */
export function readSourceTree(): readonly SourceFile[] {
  const src = path.join(projectRoot, 'src');
  return readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ path: name.split(path.sep).join('/'), text: readFileSync(path.join(src, name), 'utf8') }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Rooms whose subfolders are rooms of their own: no backend knows another, no plugin knows another. */
const families: readonly string[] = ['backends', 'blobs', 'plugins'];

/** The room of a file: `http`, `backends/sqlite`, `plugins/flush`; `index` for the file at the top. */
export function roomOf(file: string): string {
  const [first = '', second = '', ...rest] = file.split('/');
  if (second === '') return first.replace(/\.ts$/, '');
  return families.includes(first) && rest.length > 0 ? `${first}/${second}` : first;
}

// The formatter puts every import and export at the start of a line and between single quotes.
const staticImport = /^(import|export)\b(?:[^'";=(]*?\bfrom)?\s*'([^'\n]+)'/gm;
const dynamicImport = /(?<![.#])\b(?:import|require|createRequire\([^()\n]*\))\((?:\s*'([^'\n]+)'|(?!\s*\)))/g;
const commentLine = /^\s*(?:\/\/|\*|\/\*)/;

/** Everything a file imports: statements, re-exports, `import()` as value or type, and `require`. */
export function importsOf(text: string): readonly ModuleImport[] {
  const found: ModuleImport[] = [];
  for (const [, keyword, specifier] of text.matchAll(staticImport)) {
    found.push({ specifier, reExports: keyword === 'export' });
  }
  const code = text
    .split('\n')
    .map((line) => (commentLine.test(line) ? '' : line.replace(/\s\/\/ .*$/, '')))
    .join('\n');
  for (const [, specifier] of code.matchAll(dynamicImport)) found.push({ specifier, reExports: false });
  return found;
}
