// Checks that every package of `packages/` has to pass: tidy sources, complete contents, examples of the README that run, and
// declarations that programs compile against.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build, type BuildOptions } from 'esbuild';
import { afterAll, expect, vi } from 'vitest';
import { startTestService } from '../../src/testing/index.ts';
import { findBarrels, findImportCircles, findUntidyFiles } from '../architecture/rules.ts';
import { importsOf, projectRoot, type SourceFile } from '../architecture/source-tree.ts';
import { npm } from '../support/npm.ts';

export interface Manifest {
  readonly version: string;
  readonly [name: string]: unknown;
}

/** A package, and a folder for the files of its test. */
export class TestedPackage {
  readonly root: string;
  readonly folder: string;
  readonly sources: readonly SourceFile[];
  readonly #name: string;
  readonly #options: BuildOptions;

  /** @param options how programs with the package are bundled */
  constructor(name: string, options: BuildOptions = {}) {
    this.#name = name;
    this.#options = options;
    this.root = path.join(projectRoot, 'packages', name);
    this.folder = mkdtempSync(path.join(tmpdir(), `coffer-${name}-`));
    this.sources = readdirSync(path.join(this.root, 'src')).map((file) => ({
      path: file,
      text: readFileSync(path.join(this.root, 'src', file), 'utf8'),
    }));
    afterAll(() => {
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  get manifest(): Manifest {
    return manifestOf(this.root);
  }

  /**
   * Bundles a program with the package.
   *
   * @param external packages that are left out
   */
  async bundle(code: string, external: readonly string[] = []): Promise<string> {
    const names = new Set(['client', this.#name].filter((name) => !external.includes(`@coffer/${name}`)));
    const sourceOf = (name: string): string => path.join(projectRoot, 'packages', name, 'src', 'index.ts');
    const { outputFiles } = await build({
      stdin: { contents: code, resolveDir: projectRoot, loader: 'ts' },
      alias: Object.fromEntries(Array.from(names, (name) => [`@coffer/${name}`, sourceOf(name)])),
      external: [...external],
      bundle: true,
      minify: true,
      format: 'esm',
      target: 'es2022',
      ...this.#options,
      write: false,
    });
    return outputFiles[0]!.text;
  }

  /** Returns the size of the package without other packages, minified and compressed, in bytes. */
  async size(external: readonly string[]): Promise<number> {
    return gzipSync(await this.bundle(`export * from '@coffer/${this.#name}';`, external), { level: 9 }).length;
  }

  /** Returns the packages that the sources import, after checking that their own imports have no circle. */
  foreignImports(): readonly string[] {
    const imports = this.sources.flatMap(({ text }) => importsOf(text).map(({ specifier = '' }) => specifier));
    expect(findImportCircles(this.sources)).toEqual([]);
    return [...new Set(imports.filter((specifier) => !/^\.\/[a-z-]+\.ts$/.test(specifier)))].toSorted();
  }

  /** Checks names, lengths and opening comments of the sources. */
  checkTidiness(): void {
    expect(findUntidyFiles(this.sources)).toEqual([]);
    expect(findBarrels(this.sources)).toEqual([]);
  }

  /** Checks the version, and that the package contains what its sources produce. */
  async checkContents(): Promise<void> {
    expect(this.manifest.version).toBe(manifestOf(projectRoot).version);
    const out = JSON.parse(await npm(['pack', '--dry-run', '--json', '--ignore-scripts'], this.root)) as
      | readonly { readonly files: readonly { readonly path: string }[] }[]
      | Readonly<Record<string, { readonly files: readonly { readonly path: string }[] }>>;
    const files = Object.values(out)[0]!.files.map((file) => file.path);
    const produced = this.sources.flatMap(({ path: name }) => {
      const stem = `dist/${name.replace(/\.ts$/, '')}`;
      return [`${stem}.d.ts`, `${stem}.js`];
    });
    expect(files.toSorted()).toEqual([...produced, 'LICENSE', 'README.md', 'package.json'].toSorted());
    // Source maps are not published.
    for (const name of produced)
      expect(readFileSync(path.join(this.root, name), 'utf8')).not.toContain('sourceMappingURL');
  }

  /**
   * Runs the examples of the README as one program, and checks what it prints.
   *
   * @param options.least minimum number of examples
   * @param options.stop code of the end: the function `stop` of the program, which is called
   */
  async checkReadme({
    least,
    stop = 'async () => {}',
  }: {
    readonly least: number;
    readonly stop?: string;
  }): Promise<void> {
    const readme = readFileSync(path.join(this.root, 'README.md'), 'utf8');
    const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
    expect(blocks.length).toBeGreaterThanOrEqual(least);
    const service = await startTestService();
    const print = vi.spyOn(console, 'log').mockReturnValue();
    try {
      const file = path.join(this.folder, 'readme.mjs');
      const code = `${blocks.join('\n').replace('http://127.0.0.1:8888', service.origin)}\nexport const stop = ${stop};`;
      writeFileSync(file, await this.bundle(code));
      const program = (await import(file)) as { stop(): Promise<unknown> };
      const expected = blocks.flatMap((block) =>
        [...block.matchAll(/console\.log\(.*?\); \/\/ (.*)$/gm)].map(([, text = '']) => text),
      );
      expect(print.mock.calls.map((values) => values.join(' '))).toEqual(expected);
      await program.stop();
    } finally {
      print.mockRestore();
      await service.close();
    }
  }

  /**
   * Compiles a program against the declarations, whose faults are those that it names.
   *
   * @param program file of the program
   * @param addModules adds to the folder `node_modules` of the program
   */
  async checkTypes(
    program: string,
    compilerOptions: Readonly<Record<string, unknown>>,
    addModules: (modules: string) => void,
  ): Promise<void> {
    const cwd = path.join(this.folder, 'types');
    mkdirSync(cwd);
    addModules(path.join(cwd, 'node_modules'));
    writeFileSync(path.join(cwd, 'package.json'), '{ "type": "module" }');
    cpSync(program, path.join(cwd, 'use.ts'));
    const all = {
      strict: true,
      noEmit: true,
      noUncheckedIndexedAccess: true,
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
      types: [],
      ...compilerOptions,
    };
    writeFileSync(path.join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions: all, files: ['use.ts'] }));
    const compiler = path.join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc');
    const outcome = await promisify(execFile)(process.execPath, [compiler, '--project', cwd]).catch(
      (error: unknown) => error as { stdout: string },
    );
    expect(outcome.stdout).toBe('');
  }
}

/** Copies what packages of the project publish to a folder `node_modules`. */
export function installPackages(modules: string, names: readonly string[]): void {
  for (const name of names) {
    const from = path.join(projectRoot, 'packages', name);
    const to = path.join(modules, '@coffer', name);
    mkdirSync(to, { recursive: true });
    cpSync(path.join(from, 'dist'), path.join(to, 'dist'), { recursive: true });
    cpSync(path.join(from, 'package.json'), path.join(to, 'package.json'));
  }
}

function manifestOf(place: string): Manifest {
  return JSON.parse(readFileSync(path.join(place, 'package.json'), 'utf8')) as Manifest;
}
