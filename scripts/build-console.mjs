// Builds the web console: `admin/src` becomes the static files in `admin/dist`, with hashed names. `--if-stale` builds only
// when a source is newer than the files.
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const admin = path.join(root, 'admin');
const built = path.join(admin, 'dist', 'index.html');

/** Returns whether the files are missing, or older than a source, the build or the packages. */
function isStale() {
  if (!existsSync(built)) return true;
  const builtAt = statSync(built).mtimeMs;
  const source = path.join(admin, 'src');
  const names = readdirSync(source, { recursive: true, encoding: 'utf8' }).map((name) => path.join(source, name));
  const others = [path.join(admin, 'index.html'), path.join(root, 'package.json'), fileURLToPath(import.meta.url)];
  return [source, ...names, ...others].some((name) => statSync(name).mtimeMs > builtAt);
}

/** Folders of the packages in workers, which the list of licences of the bundler leaves out. @type {Set<string>} */
const ofWorkers = new Set();

const noteWorkerPackages = {
  name: 'note-worker-packages',
  /** @param {string} _code @param {string} id */
  transform(_code, id) {
    const match = /^(?<folder>.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id);
    if (match?.groups !== undefined) ofWorkers.add(match.groups['folder'] ?? '');
  },
};

/** Returns the licence of a package as a section of the list. @param {string} folder */
function licenceOf(folder) {
  /** @type {{ name: string, version: string, license: string, author?: string | { name: string } }} */
  const { name, version, license, author } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const owner = typeof author === 'string' ? author : author?.name;
  const text = file === undefined ? `Copyright ${owner}` : readFileSync(path.join(folder, file), 'utf8').trim();
  return `\n## ${name} - ${version} (${license})\n\n${text}\n`;
}

if (!process.argv.includes('--if-stale') || isStale()) {
  await build({
    root: admin,
    configFile: false,
    // The service decides where the console is: below any version prefix, and behind any proxy.
    base: './',
    logLevel: 'warn',
    publicDir: false,
    // Classes and functions of the console, with JSX for Preact.
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    worker: { plugins: () => [noteWorkerPackages] },
    build: {
      outDir: 'dist',
      emptyOutDir: true,
      target: 'es2022',
      // The policy of the page allows no scripts in the page and no data: addresses.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      // The code of the first view is one file, however its modules are shared.
      rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
      // The licences of the packages in the files.
      license: { fileName: 'licences.md' },
    },
  });
  for (const folder of ofWorkers) appendFileSync(path.join(admin, 'dist', 'licences.md'), licenceOf(folder));
}
