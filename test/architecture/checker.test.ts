// The checker itself: planted violations, so that a silent checker is noticed.
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
import { importsOf, roomOf } from './source-tree.ts';

const page = `
Some text.

| Room | May import |
|---|---|
| \`base\` | nothing |
| \`core\` | \`base\` |
| \`backends/*\` | \`base\` \`core\` |
| \`plugins/*\` | \`base\` \`http\` |
| \`http\` | \`base\` \`core\` |
| \`app\` | \`base\` \`http\` \`backends/*\` \`plugins/*\` |

| Package | Imported in | For |
|---|---|---|
| \`fastify\` | \`http\` | serving |
| \`@scope/driver\` | \`backends/sqlite\` | data |
| \`re2js\` | \`core/schema\` | patterns |
| \`lru-cache\` | \`backends/*\` | caches |

The end.
`;
const table = parseImportTable(page);

function check(path: string, code: string): readonly string[] {
  return findForbiddenImports([{ path, text: `// A file.\n${code}\n` }], table);
}

describe('the table', () => {
  it('is read from the page, names in backticks only', () => {
    expect(table.rooms.get('app')).toEqual(['base', 'http', 'backends/*', 'plugins/*']);
    expect(table.rooms.get('base')).toEqual([]);
    expect(table.packages.get('@scope/driver')).toEqual(['backends/sqlite']);
    expect(table.rooms.size).toBe(6);
  });

  it('must be there', () => {
    expect(() => parseImportTable('| Room | May import |\n|---|---|\n| `base` | |')).toThrow('Package');
    expect(() => parseImportTable(page.replace('| Room |', '| Place |'))).toThrow('Room');
  });

  it('must name every room once', () => {
    expect(() => parseImportTable(page.replace('| `core` |', '| `base` |'))).toThrow('two rows');
    expect(() => parseImportTable(page.replace('| `core` |', '| core |'))).toThrow('no name in backticks');
  });
});

describe('reading imports', () => {
  const code = [
    "import a from './a.ts';",
    "import type { B } from './b.ts';",
    "import {\n  c,\n  type D,\n} from './c.ts';",
    "import './e.ts';",
    "import * as f from './f.ts';",
    "import data from './g.json' with { type: 'json' };",
    "export { h } from './h.ts';",
    "export * from './i.ts';",
    "export type { J } from './j.ts';",
    "const k = await import('./k.ts');",
    "type L = import('./l.ts').L;",
    "const m = createRequire(import.meta.url)('./m.ts');",
    "const n = require('./n.ts');",
    'const o = await import(name);',
  ].join('\n');

  it('finds every way to import', () => {
    const letters = importsOf(code).map(({ specifier }) => specifier?.slice(2, 3));
    expect(letters).toEqual(['a', 'b', 'c', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', undefined]);
  });

  it('distinguishes re-exports from imports', () => {
    const passedOn = importsOf(code).filter(({ reExports }) => reExports);
    expect(passedOn.map(({ specifier }) => specifier?.slice(2, 3))).toEqual(['h', 'i', 'j']);
  });

  it('takes neither comments nor own exports nor texts for imports', () => {
    const harmless = [
      "// import a from './a.ts';",
      " * import('./b.ts')",
      "export const c = 'from';",
      "export type D = 'x' | 'y';",
      "  const text = `import e from 'e'`;",
      "const f = import.meta.url; // import('./f.ts')",
      "export function g(from = './g.ts'): void {}",
      "export default 'h';",
      "this.#require('./i.ts'); loader.import(name);",
    ].join('\n');
    expect(importsOf(harmless)).toEqual([]);
  });

  it('knows the room of a file', () => {
    expect(roomOf('http/views/root.ts')).toBe('http');
    expect(roomOf('backends/sqlite/schema/first.ts')).toBe('backends/sqlite');
    expect(roomOf('plugins/flush/index.ts')).toBe('plugins/flush');
    expect(roomOf('index.ts')).toBe('index');
  });
});

describe('imports between rooms', () => {
  it('are fine inside a room and where the row allows them', () => {
    expect(check('core/a.ts', "import { b } from './b.ts';")).toEqual([]);
    expect(check('core/query/a.ts', "import { b } from '../../base/json.ts';")).toEqual([]);
    expect(check('app/a.ts', "import { b } from '../backends/memory/b.ts';")).toEqual([]);
    expect(check('plugins/flush/index.ts', "import { b } from '../../http/plugin.ts';")).toEqual([]);
  });

  it('are reported when they point upwards, as types, dynamically or passed on', () => {
    for (const code of [
      "import { b } from '../http/b.ts';",
      "import type { B } from '../http/b.ts';",
      "export { b } from '../http/b.ts';",
      "const b = await import('../http/b.ts');",
      "let b: import('../http/b.ts').B;",
      "import '../http/b.ts';",
    ]) {
      expect(check('core/a.ts', code)).toEqual(['core/a.ts imports ../http/b.ts: core may not import http']);
    }
  });

  it('are reported between backends and between plugins', () => {
    expect(check('backends/sqlite/a.ts', "import { b } from '../memory/b.ts';")).toHaveLength(1);
    expect(check('plugins/flush/a.ts', "import { b } from '../history/b.ts';")).toHaveLength(1);
  });

  it('are reported when the room is unknown, the file lies outside, or the ending is missing', () => {
    expect(check('attic/a.ts', "import { b } from '../base/b.ts';")[0]).toContain('no row');
    expect(check('core/a.ts', "import b from '../../package.json';")[0]).toContain('outside of src');
    expect(check('core/a.ts', "import { b } from './b';")[0]).toContain('.ts');
    expect(check('core/a.ts', "import { b } from './b.js';")[0]).toContain('.ts');
  });

  it('are computed in the loader only', () => {
    expect(check('loader/a.ts', 'const b = await import(name);')).toEqual([]);
    expect(check('http/a.ts', 'const b = await import(name);')).toEqual(['http/a.ts imports a computed name']);
  });
});

describe('imports of packages', () => {
  it('stay in the rooms of their row', () => {
    expect(check('http/server.ts', "import Fastify from 'fastify';")).toEqual([]);
    expect(check('backends/sqlite/open.ts', "import { D } from '@scope/driver/deep';")).toEqual([]);
    expect(check('core/schema/deep/a.ts', "import { RE2JS } from 're2js';")).toEqual([]);
    expect(check('backends/memory/a.ts', "import { LRUCache } from 'lru-cache';")).toEqual([]);
  });

  it('are reported elsewhere, as types too', () => {
    expect(check('app/a.ts', "import type { FastifyInstance } from 'fastify';")).toHaveLength(1);
    expect(check('backends/memory/a.ts', "const d = await import('@scope/driver');")).toHaveLength(1);
    expect(check('core/a.ts', "import { RE2JS } from 're2js';")).toHaveLength(1);
    expect(check('core/schema-more/a.ts', "import { RE2JS } from 're2js';")).toHaveLength(1);
    expect(check('http/a.ts', "import { LRUCache } from 'lru-cache';")).toHaveLength(1);
  });

  it('are reported when the package has no row', () => {
    expect(check('http/a.ts', "import _ from 'lodash';")[0]).toContain('no row');
  });

  it('of Node are named with node: and leave the outside world to the outer rooms', () => {
    expect(check('core/a.ts', "import { createHash } from 'node:crypto';")).toEqual([]);
    expect(check('http/a.ts', "import { readFile } from 'node:fs/promises';")).toEqual([]);
    expect(check('http/a.ts', "import { readFile } from 'fs';")[0]).toContain('node:');
    expect(check('core/a.ts', "import { readFile } from 'node:fs/promises';")[0]).toContain('outside world');
    expect(check('core/a.ts', "import { connect } from 'node:net';")[0]).toContain('outside world');
  });

  it('agree with the dependencies in both directions', () => {
    const files = [{ path: 'http/a.ts', text: "import 'fastify';\nimport '@scope/driver/x';\nimport 'lru-cache';" }];
    expect(findStrayPackages(files, table, ['fastify', '@scope/driver', 'lru-cache', 'lodash'])).toEqual([
      'lodash has no row in the table',
      're2js has a row in the table but is no dependency',
      'lodash is a dependency that no file imports',
    ]);
  });
});

describe('the look of files', () => {
  const untidy = (path: string, text: string): readonly string[] => findUntidyFiles([{ path, text }]);

  it('is fine with a kebab-case name, an opening comment and up to 400 lines', () => {
    expect(untidy('core/page-token.ts', `// Tokens.\n${'x;\n'.repeat(399)}`)).toEqual([]);
    expect(untidy('core/v1.ts', '/* Old. */\n')).toEqual([]);
  });

  it('is reported when a file is too long', () => {
    expect(untidy('core/page-token.ts', `// Tokens.\n${'x;\n'.repeat(400)}`)[0]).toContain('401 lines');
  });

  it('is reported when a name is not in kebab-case', () => {
    for (const path of ['core/pageToken.ts', 'core/page_token.ts', 'Core/token.ts', 'core/PageToken.ts']) {
      expect(untidy(path, '// Tokens.\n')).toHaveLength(1);
    }
  });

  it('is reported when no comment opens the file', () => {
    expect(untidy('core/token.ts', "import { a } from './a.ts';\n// Late.\n")).toHaveLength(1);
  });

  it('is reported when something is exported as default', () => {
    expect(untidy('core/token.ts', '// Tokens.\nexport default 1;\n')).toHaveLength(1);
  });

  it('is reported when a file passes on what others export, but for the public ones', () => {
    const text = "// Names.\nexport * from './a.ts';\n";
    expect(findBarrels([{ path: 'core/index.ts', text }])).toHaveLength(1);
    expect(findBarrels([{ path: 'core/names.ts', text: "export type { A } from './a.ts';" }])).toHaveLength(1);
    expect(findBarrels([{ path: 'index.ts', text }])).toEqual([]);
    expect(findBarrels([{ path: 'testing/index.ts', text }])).toEqual([]);
    expect(findBarrels([{ path: 'plugins/flush/index.ts', text: 'export const flush = 1;' }])).toEqual([]);
  });
});

describe('references between TypeScript projects', () => {
  const right = new Map([
    ['base', []],
    ['core', ['base']],
    ['http', ['base', 'core']],
    ['plugins', ['base', 'http']],
    ['backends/memory', ['base', 'core']],
    ['app', ['base', 'http', 'plugins', 'backends/memory']],
  ]);

  it('are fine when they are what the table says', () => {
    expect(findWrongReferences(right, table)).toEqual([]);
  });

  it('are reported when one is missing or too many', () => {
    expect(findWrongReferences(new Map([...right, ['core', ['base', 'http']]]), table)).toEqual([
      'the project core refers to http, which the table does not allow',
    ]);
    expect(findWrongReferences(new Map([...right, ['app', ['base', 'http', 'plugins']]]), table)).toEqual([
      'the project app lacks a reference to backends/memory',
    ]);
    expect(findWrongReferences(new Map([...right, ['attic', []]]), table)).toEqual([
      'attic has a project but no row in the table',
    ]);
  });
});

describe('circles of imports', () => {
  it('are found through type imports and other files, and reported once', () => {
    const files = [
      { path: 'core/a.ts', text: "import type { B } from './b.ts';\n" },
      { path: 'core/b.ts', text: "import { c } from '../base/c.ts';\n" },
      { path: 'base/c.ts', text: "export type C = import('../core/a.ts').A;\n" },
      { path: 'base/d.ts', text: "import { c } from './c.ts';\n" },
    ];
    expect(findImportCircles(files)).toEqual(['these files import each other: base/c.ts core/a.ts core/b.ts']);
  });

  it('are no two files that import the same third one', () => {
    const files = [
      { path: 'core/a.ts', text: "import type { C } from './c.ts';\n" },
      { path: 'core/b.ts', text: "import { a } from './a.ts';\nimport type { C } from './c.ts';\n" },
      { path: 'core/c.ts', text: 'export type C = string;\n' },
    ];
    expect(findImportCircles(files)).toEqual([]);
  });
});
