// Runs many random histories of clients, in parts of one process each, and says how many have passed.
// Usage: node test/packages/convergence/run-histories.mjs [--histories=10000] [--seed=1] [--backend=sqlite] [--part=500]
import { spawnSync } from 'node:child_process';
import process from 'node:process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    backend: { type: 'string', default: 'sqlite' },
    part: { type: 'string', default: '500' },
  },
});
const total = Number(values.histories);
const size = Number(values.part);
let passed = 0;
const failed = [];
for (let done = 0, seed = Number(values.seed); done < total; done += size, seed += 1) {
  const runs = Math.min(size, total - done);
  const { status, signal, stdout, stderr } = spawnSync(
    'npx',
    ['vitest', 'run', 'test/packages/convergence/convergence.test.ts'],
    {
      encoding: 'utf8',
      maxBuffer: Infinity,
      env: {
        ...process.env,
        COFFER_CONVERGENCE_BACKEND: values.backend,
        COFFER_CONVERGENCE_RUNS: String(runs),
        COFFER_CONVERGENCE_SEED: String(seed),
      },
    },
  );
  if (status === 0) passed += runs;
  else {
    failed.push(seed);
    console.info(signal ?? '', stdout, stderr);
  }
  console.info(
    `${values.backend}: ${passed} histories have passed, seeds ${values.seed} to ${seed}, failed: ${failed.join(', ')}`,
  );
}
process.exitCode = failed.length === 0 ? 0 : 1;
