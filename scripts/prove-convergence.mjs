// Runs many random histories of clients, in parts of one process each, and prints how many have passed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Progress } from '../dist/cli/progress.js';

const backends = ['sqlite', 'sqlite, killed', 'postgresql'];
const usage = `Usage: npm run prove:convergence -- [--histories N] [--seed S] [--backend NAME] [--kill]

Runs random offline histories of four clients, with restarts and cut connections. In the end, all of them must have the
content of the service, and no edit may be lost without a conflict.

Options
  --histories N   number of histories (1000)
  --seed S        seed of the first part; a failure prints the seed and the path that repeat it (1)
  --backend NAME  sqlite (default) or postgresql
  --kill          restarts of the service are kill -9 of its process; SQLite only
  --part N        number of histories of one process (100)
  --help          show this text

Example
  npm run prove:convergence -- --histories 10000 --backend postgresql`;

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    backend: { type: 'string', default: 'sqlite' },
    kill: { type: 'boolean', default: false },
    part: { type: 'string', default: '100' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const interrupted = new AbortController();
const isInterrupted = () => interrupted.signal.aborted;
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interrupted.abort());
const backend = values.kill ? `${values.backend}, killed` : values.backend;
const [total, size, first] = [Number(values.histories), Number(values.part), Number(values.seed)];
if (values.help) console.info(usage);
else if (!backends.includes(backend) || !(total > 0) || !(size > 0) || !Number.isSafeInteger(first)) {
  console.error(usage);
  process.exitCode = 2;
} else process.exitCode = await runAll();

async function runAll() {
  const folder = mkdtempSync(path.join(tmpdir(), 'coffer-histories-'));
  const progress = new Progress(process.stderr, () => performance.now());
  let passed = 0;
  const failed = [];
  let seed = first;
  for (let done = 0; done < total && !isInterrupted(); done += size, seed += 1) {
    const runs = Math.min(size, total - done);
    const counts = path.join(folder, String(seed));
    const show = () => {
      const count = statSync(counts, { throwIfNoEntry: false })?.size ?? 0;
      progress.update(`Histories on ${backend}`, done + count, total);
    };
    show();
    const timer = setInterval(show, 500);
    const output = await runPart(runs, seed, counts);
    clearInterval(timer);
    if (isInterrupted()) break;
    if (output === undefined) passed += runs;
    else {
      failed.push(seed);
      progress.finish();
      console.error(output);
    }
  }
  if (!isInterrupted()) progress.update(`Histories on ${backend}`, total, total);
  progress.finish();
  rmSync(folder, { recursive: true });
  const seeds = `seeds ${first} to ${seed - 1}, in parts of ${size}`;
  console.info(`${backend}: ${passed} histories have passed (${seeds}). Failed seeds: ${failed.join(', ') || 'none'}`);
  return failed.length === 0 && !isInterrupted() ? 0 : 1;
}

/** Returns the output of a part that has failed. */
async function runPart(/** @type {number} */ runs, /** @type {number} */ seed, /** @type {string} */ counts) {
  const vitest = path.join('node_modules', 'vitest', 'vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', 'test/packages/convergence/convergence.test.ts'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: {
      ...process.env,
      COFFER_CONVERGENCE_BACKEND: backend,
      COFFER_CONVERGENCE_RUNS: String(runs),
      COFFER_CONVERGENCE_SEED: String(seed),
      COFFER_CONVERGENCE_PROGRESS: counts,
    },
  });
  const stop = () => {
    // The whole group: the test runner does not stop the servers that it has started.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
  };
  interrupted.signal.addEventListener('abort', stop);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const [status, signal] = await once(child, 'close');
  interrupted.signal.removeEventListener('abort', stop);
  return status === 0 ? undefined : `${signal ?? ''}${output}`;
}
