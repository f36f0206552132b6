// The `prepare` step of npm: builds a checkout after `npm ci`. It builds nothing in a package, which comes built and
// without sources, and nothing where development dependencies, and the compiler with them, are not installed.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const compiler = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');

if (existsSync(path.join(root, 'src')) && existsSync(compiler)) {
  const { status } = spawnSync('npm', ['run', 'build'], { cwd: root, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
