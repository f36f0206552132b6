// Plants the faults of `mutants.mjs` one at a time in a copy of the source, and checks that the model or the tests of the
// fault notice it. Prints a table. Fails when a fault is not caught, or no longer fits the source.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { mutants } from './mutants.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

const usage = `Usage: npm run prove:mutants [-- --only TEXT] [-- --part K/N] [-- --seconds N] [-- --seed S]

Plants faults in a copy of the source, and runs the model, or the tests that a fault names, against it.

Options
  --only TEXT   only faults whose name contains the text
  --part K/N    every Nth fault from the Kth, for several runs in parallel
  --seconds N   maximum time of the search for each fault, in seconds (300)
  --seed S      seed of the histories (1)
  --help        show this text`;

/** Configuration that starts a database server for faults that need one. */
const config = `export default {
  test: {
    globalSetup: process.env.COFFER_PROVE_BACKEND === 'postgresql' ? ['test/support/shared-postgresql.ts'] : [],
    pool: 'forks', include: [process.env.COFFER_MUTANT_TESTS], restoreMocks: true, testTimeout: 60_000,
  },
};\n`;
const modelTests = 'test/model/model.test.ts';
const vitest = path.join('node_modules', 'vitest', 'vitest.mjs');

/** Runs the tests with the planted fault. @returns {{ caught: boolean, seconds: number, by: string }} */
function tryMutant(
  /** @type {string} */ folder,
  /** @type {import('./mutants.mjs').Mutant} */ mutant,
  /** @type {{ seconds: string, seed: string }} */ { seconds, seed },
) {
  const file = path.join(folder, mutant.file);
  const text = readFileSync(file, 'utf8');
  if (text.split(mutant.find).length !== 2)
    return { caught: false, seconds: 0, by: 'the change no longer fits the source' };
  writeFileSync(
    file,
    text.replace(mutant.find, () => mutant.replace),
  );
  const begin = performance.now();
  const { tests = modelTests, only = '' } = mutant;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [vitest, 'run', '--config', 'vitest.mutants.mjs', '--no-color', '--testNamePattern', only],
    {
      cwd: folder,
      encoding: 'utf8',
      env: {
        ...process.env,
        COFFER_MUTANT_TESTS: tests,
        COFFER_PROVE_SECONDS: seconds,
        COFFER_PROVE_SEED: seed,
        COFFER_PROVE_BACKEND: mutant.backend,
        COFFER_PROVE_SHRINK: 'no',
      },
    },
  );
  writeFileSync(file, text);
  const output = stdout + stderr;
  // A source that does not even load would be caught by anything.
  const isDifference =
    tests === modelTests
      ? /Property failed after \d+ tests/.test(output)
      : !output.includes('Failed Suites') && output.includes('AssertionError: ');
  const by =
    /(?:Caused by: \w*Error|AssertionError): *(.*)/.exec(output)?.[1]?.slice(0, 90) ??
    (status === 0 ? 'nothing' : 'no test ran');
  return { caught: status !== 0 && isDifference, seconds: (performance.now() - begin) / 1000, by };
}

function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      part: { type: 'string', default: '1/1' },
      seconds: { type: 'string', default: '300' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'coffer-mutants-'));
  try {
    for (const name of ['src', 'test', 'assets', 'package.json', 'tsconfig.base.json']) {
      cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
    }
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
    writeFileSync(path.join(folder, 'vitest.mutants.mjs'), config);
    const [first = 1, step = 1] = values.part.split('/').map(Number);
    const named = mutants.filter(({ name }) => name.includes(values.only));
    const chosen = named.filter((_, index) => index % step === first - 1);
    let survivors = 0;
    console.log('| Planted fault | Backend | Caught by | Seconds |\n|---|---|---|---|');
    for (const mutant of chosen) {
      const { caught, seconds, by } = tryMutant(folder, mutant, values);
      if (!caught) survivors++;
      const answer = caught ? by : `**not caught: ${by}**`;
      console.log(`| ${mutant.name} | ${mutant.backend} | ${answer.replaceAll('|', '/')} | ${seconds.toFixed(1)} |`);
    }
    console.log(`\n${chosen.length - survivors} of ${chosen.length} caught.`);
    return survivors === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = main();
