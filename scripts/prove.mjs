// Compares the service with the model of the protocol for a given time. Sends random histories of requests to every backend,
// and compares each response with the expected one. Prints each difference with the seed that repeats it.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const backends = ['memory', 'sqlite', 'redis', 'postgresql'];

const usage = `Usage: npm run prove -- [--minutes N] [--seed S] [--backend NAME]

Compares every response of the service with the model in test/model.

Options
  --minutes N     duration in minutes, for all backends together (5)
  --seed S        seed of the first histories; a failure prints the seed that repeats it
  --backend NAME  one of ${backends.join(', ')}; default: all of them
  --help          show this text

Examples
  npm run prove -- --minutes 60
  npm run prove -- --seed 2133411844 --backend sqlite`;

function main() {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string' },
      backend: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { minutes, seed, backend } = values;
  if (values.help) {
    console.log(usage);
    return 0;
  }
  if (!(Number(minutes) > 0) || (backend !== undefined && !backends.includes(backend))) {
    console.error(usage);
    return 2;
  }
  // `past.test.ts` gets a sixth of the time.
  const seconds = (Number(minutes) * 50) / (backend === undefined ? backends.length : 1);
  const { status } = spawnSync(
    process.execPath,
    [path.join('node_modules', 'vitest', 'vitest.mjs'), 'run', '--project', 'code', 'test/model'],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        COFFER_PROVE_SECONDS: String(seconds),
        ...(seed === undefined ? {} : { COFFER_PROVE_SEED: seed }),
        ...(backend === undefined ? {} : { COFFER_PROVE_BACKEND: backend }),
      },
    },
  );
  return status ?? 1;
}

process.exitCode = main();
