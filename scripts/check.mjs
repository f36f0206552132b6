// Runs every check of the project in order, stops at the first that fails, and closes with a line that says how many
// tests passed. This is what `npm test` and continuous integration run.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs, styleText } from 'node:util';

/**
 * @typedef {{ passed: number, failed: number, skipped?: number }} Count
 * @typedef {{ ok: boolean, note?: string, count?: Count }} Outcome
 * @typedef {{ folder: string, isComplete: boolean }} Circumstances a folder for reports, and whether all tests run
 * @typedef {{ status: string, fullName: string, failureMessages: string[] }} TestResult one test in Vitest's report
 * @typedef {{ name: string, message: string, assertionResults: TestResult[] }} FileResult
 * @typedef {{ name: string, title: string, run: (circumstances: Circumstances) => Promise<Outcome> }} Check
 */

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** Test files of the complete run alone: they take long, or try what others try on a neighbour of the same thing. */
const longTests = [
  'test/backends/postgresql/pooling.test.ts',
  'test/backends/redis/cluster-changes.test.ts',
  'test/backends/redis/cluster-faults.test.ts',
  'test/bench/short-run.test.ts',
  'test/bench/soak.test.ts',
  'test/console/accessibility.test.ts',
  'test/console/accounts.test.ts',
  'test/console/files.test.ts',
  'test/console/forms.test.ts',
  'test/console/frame.test.ts',
  'test/console/history.test.ts',
  'test/console/hostile-values.test.ts',
  'test/console/operations-access.test.ts',
  'test/console/operations-backends.test.ts',
  'test/console/operations.test.ts',
  'test/console/permissions.test.ts',
  'test/console/records.test.ts',
  'test/console/review.test.ts',
  'test/console/schema.test.ts',
  'test/contract/postgresql-older.test.ts',
  'test/contract/redis-cluster.test.ts',
  'test/durability/full-backup.test.ts',
  'test/examples/event-source.test.ts',
  'test/examples/generated-clients.test.ts',
  'test/examples/plugin.test.ts',
  'test/examples/todo.test.ts',
  'test/faults/outage.test.ts',
  'test/packages/convergence/convergence.test.ts',
  'test/process/docs.test.ts',
  'test/process/image.test.ts',
  'test/process/index-build.test.ts',
  'test/process/package.test.ts',
  'test/sync/clocks.test.ts',
];
/** `test/conformance` writes it if the black-box suite is in a folder next to the checkout. */
const conformanceCounts = path.join(root, 'dist', 'conformance-counts.json');

/** @type {readonly Check[]} */
const checks = [
  { name: 'format', title: 'Format (oxfmt)', run: () => command('oxfmt', ['--check']) },
  {
    name: 'build',
    title: 'Build and types of src (tsc), build of the console (vite)',
    run: async () => {
      const outcome = await command('tsc', ['--build']);
      return outcome.ok ? start(process.execPath, ['scripts/build-console.mjs'], { shown: true }) : outcome;
    },
  },
  {
    name: 'types',
    title: 'Types of tests, scripts, the console and the example application (tsc)',
    run: async () => {
      for (const project of ['test', 'admin', 'examples/todo']) {
        const outcome = await command('tsc', ['--project', `${project}/tsconfig.json`]);
        if (!outcome.ok) return outcome;
      }
      return { ok: true };
    },
  },
  { name: 'lint', title: 'Lint with types and import cycles (oxlint)', run: () => command('oxlint', ['--type-aware']) },
  { name: 'test', title: 'Architecture and all tests (vitest)', run: runTests },
  { name: 'sbom', title: 'Bill of materials (npm sbom)', run: makeBill },
  { name: 'audit', title: 'Known vulnerabilities of dependencies (npm audit)', run: runAudit },
];

const usage = `Usage: npm run check [-- --only NAME,NAME] [-- --all] [-- --help]

Runs the checks in order, stops at the first failure, and ends with "N passed, M failed".

${checks.map((check) => `  ${check.name.padEnd(12)} ${check.title}`).join('\n')}

Options
  --only NAMES  run only these, separated by commas
  --all         run the tests at full size, on all backends, with those that take long, as npm run test:all does
  --help        show this text

Examples
  npm test
  npm run check -- --only lint,test`;

/** Where the programs start, below `node_modules`: run by Node itself, so that no shell is involved. */
const programs = {
  oxfmt: 'oxfmt/bin/oxfmt',
  oxlint: 'oxlint/bin/oxlint',
  tsc: 'typescript/bin/tsc',
  vitest: 'vitest/vitest.mjs',
};

/** Runs a program of ours and hands its output through. @returns {Promise<Outcome>} */
function command(/** @type {keyof typeof programs} */ name, /** @type {string[]} */ args) {
  return start(process.execPath, [path.join('node_modules', programs[name]), ...args], { shown: true });
}

/**
 * Starts a program and waits for its end; its output is shown or collected.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ shown: boolean, timeoutMs?: number }} options
 * @returns {Promise<Outcome & { output: string }>}
 */
function start(program, args, { shown, timeoutMs }) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      stdio: ['ignore', shown ? 'inherit' : 'pipe', shown ? 'inherit' : 'ignore'],
      ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
    });
    let output = '';
    child.stdout?.on('data', (chunk) => (output += String(chunk)));
    child.on('error', (error) => resolve({ ok: false, note: `${program} did not start: ${error.message}`, output }));
    child.on('close', (code, signal) =>
      resolve(code === 0 ? { ok: true, output } : { ok: false, note: `exit ${code ?? signal}`, output }),
    );
  });
}

/** @returns {unknown} the parsed text, or `undefined` when it is none or cut off */
function parseOrNothing(/** @type {string} */ text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A whole number inside an unknown value. @returns {number} */
function numberAt(/** @type {unknown} */ value, /** @type {string} */ key) {
  const found = typeof value === 'object' && value !== null ? Object.entries(value).find(([name]) => name === key) : [];
  return typeof found?.[1] === 'number' ? found[1] : 0;
}

/** @returns {Promise<Outcome>} */
async function runTests(/** @type {Circumstances} */ { folder, isComplete }) {
  const report = path.join(folder, 'tests.json');
  rmSync(conformanceCounts, { force: true });
  const outcome = await command('vitest', [
    'run',
    '--reporter=default',
    '--reporter=./test/support/skip-reporter.ts',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...(isComplete ? [] : longTests.map((file) => `--exclude=${file}`)),
  ]);
  const result = existsSync(report) ? parseOrNothing(readFileSync(report, 'utf8')) : undefined;
  const scenarios = countScenarios();
  const passed = numberAt(result, 'numPassedTests') + scenarios.passed;
  const failed = numberAt(result, 'numFailedTests') + scenarios.failed;
  if (outcome.ok && passed === 0) return { ok: false, note: 'no test ran', count: { passed, failed: 1 } };
  if (!outcome.ok) printFailedTests(result);
  // A file that cannot be loaded or an error outside of tests fails the run without a failed test.
  const skipped = numberAt(result, 'numPendingTests');
  return { ...outcome, count: { passed, failed: outcome.ok ? failed : Math.max(failed, 1), skipped } };
}

/** Names each failed test once more, with the first line of its error: the end of a log is what people are shown. */
function printFailedTests(/** @type {unknown} */ report) {
  const { testResults = [] } = /** @type {{ testResults?: FileResult[] }} */ (report ?? {});
  const failed = testResults.flatMap(({ name, message, assertionResults }) => {
    const file = path.relative(root, name);
    const tests = assertionResults.filter((test) => test.status === 'failed');
    const lines = tests.map((test) => `${file}: ${test.fullName}\n    ${firstLine(test.failureMessages[0] ?? '')}`);
    return lines.length === 0 && message !== '' ? [`${file}: ${firstLine(message)}`] : lines;
  });
  if (failed.length > 0) console.log(`\nFailed tests:\n  ${failed.join('\n  ')}`);
}

/** The first line of a text, at most 300 characters of it. */
function firstLine(/** @type {string} */ text) {
  return text.split('\n', 1)[0]?.slice(0, 300) ?? '';
}

/** How many black-box scenarios passed and failed in the run of the tests. @returns {Count} */
function countScenarios() {
  const count = { passed: 0, failed: 0 };
  const byBackend = existsSync(conformanceCounts) ? parseOrNothing(readFileSync(conformanceCounts, 'utf8')) : undefined;
  for (const counts of Object.values(/** @type {Record<string, unknown>} */ (byBackend ?? {}))) {
    count.passed += numberAt(counts, 'passed');
    count.failed += numberAt(counts, 'failed');
  }
  return count;
}

/** Checks that everything installed with the package can be listed. @returns {Promise<Outcome>} */
function makeBill(/** @type {Circumstances} */ { folder }) {
  return start(process.execPath, ['scripts/sbom.mjs', '--output', path.join(folder, 'sbom.cdx.json')], { shown: true });
}

/**
 * Asks the registry for advisories about what is installed with the package. Serious ones fail the check; where the
 * registry has no such service, or does not answer in time, it says that it was not done. @returns {Promise<Outcome>}
 */
async function runAudit() {
  const args = ['audit', '--omit=dev', '--audit-level=high', '--json'];
  const npm = process.env['npm_execpath'];
  const options = { shown: false, timeoutMs: 30_000 };
  const { output } = await (npm === undefined
    ? start('npm', args, options)
    : start(process.execPath, [npm, ...args], options));
  const result = /** @type {{ metadata?: { vulnerabilities?: unknown } } | undefined} */ (parseOrNothing(output));
  const found = result?.metadata?.vulnerabilities;
  if (found === undefined) return { ok: true, note: 'NOT DONE: this registry does not serve advisories' };
  const serious = numberAt(found, 'high') + numberAt(found, 'critical');
  if (serious === 0) return { ok: true };
  const note = `${serious} serious finding${serious === 1 ? '' : 's'}, see npm audit`;
  return { ok: false, note };
}

/** Seconds with one decimal. */
function seconds(/** @type {number} */ since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

/** Colours the text for people; pipes and log files get it plain. */
function paint(/** @type {'bold' | 'green' | 'red'} */ style, /** @type {string} */ text) {
  return process.stdout.isTTY ? styleText(style, text) : text;
}

/** What the command line asks for: names of checks, `[]` for all; `undefined` when only help is wanted. */
function readOptions() {
  const { values } = parseArgs({
    options: { only: { type: 'string' }, all: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) return undefined;
  const names = (values.only ?? '').split(',').filter((name) => name !== '');
  const unknown = names.filter((name) => !checks.some((check) => check.name === name));
  if (unknown.length > 0) throw new Error(`Unknown check: ${unknown.join(', ')}.`);
  return { names, isComplete: values.all === true };
}

/** Runs the checks in order until one fails. @returns {Promise<boolean>} whether all passed */
async function runChecks(/** @type {readonly string[]} */ only, /** @type {Circumstances} */ circumstances) {
  const selected = checks.filter((check) => only.length === 0 || only.includes(check.name));
  const total = { passed: 0, failed: 0, skipped: 0 };
  const begin = performance.now();
  let ending = '';
  for (const [index, check] of selected.entries()) {
    console.log(paint('bold', `[${index + 1}/${selected.length}] ${check.title}`));
    const at = performance.now();
    const outcome = await check.run(circumstances);
    total.passed += outcome.count?.passed ?? 0;
    total.skipped += outcome.count?.skipped ?? 0;
    total.failed += outcome.count?.failed ?? (outcome.ok ? 0 : 1);
    const note = outcome.note === undefined ? '' : ` (${outcome.note})`;
    console.log(
      `${outcome.ok ? paint('green', 'ok') : paint('red', 'FAILED')}: ${check.name}, ${seconds(at)}${note}\n`,
    );
    if (!outcome.ok) {
      ending = `Stopped at "${check.name}" after ${seconds(begin)}. Alone: npm run check -- --only ${check.name}`;
      break;
    }
  }
  console.log(ending === '' ? `All checks passed in ${seconds(begin)}.` : ending);
  if (total.skipped > 0) console.log(`${total.skipped} skipped, for the reasons above`);
  console.log(`${total.passed} passed, ${total.failed} failed`);
  return ending === '';
}

/** Does what the command line asks. @returns {Promise<number>} the exit code */
async function main() {
  let options;
  try {
    options = readOptions();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return 2;
  }
  if (options === undefined) {
    console.log(usage);
    return 0;
  }
  const { names, isComplete } = options;
  // The processes of the tests inherit it.
  if (!isComplete) process.env['COFFER_TESTS'] = 'short';
  const folder = mkdtempSync(path.join(tmpdir(), 'coffer-check-'));
  try {
    return (await runChecks(names, { folder, isComplete })) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
