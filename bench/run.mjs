// Runs the benchmarks and prints a row for each question and backend. See `npm run bench -- --help`.
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { questions } from './lib/questions.mjs';
import { formatRow, heading, isMet } from './lib/rows.mjs';
import { save } from './lib/report.mjs';
import { Workbench } from './lib/workbench.mjs';

const usage = `Usage: npm run bench [-- NAME …] [-- OPTION …]

Measures, and prints a table with the results, the values that they are compared with, and whether targets are met. If
one request fails, the measurement and the run are void.

Questions
  ${questions.join(', ')}

Options
  --short           small data and few requests: checks that the benchmarks work; the figures are meaningless
  --backend NAMES   only these backends, separated by commas: memory, sqlite, postgresql, redis
  --rounds N        rounds of each measurement (4)
  --seconds N       duration of each round in seconds (2)
  --connections N   simultaneous clients (32)
  --records N       records of a large list (1000000)
  --minutes N       duration of "mixed" in minutes (0.5)
  --profile         writes a CPU profile of every server to bench/profiles, for the DevTools of Chromium or speedscope
  --save            writes the table and a description of the machine to bench/RESULTS.md
  --help            show this text`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    short: { type: 'boolean', default: false },
    backend: { type: 'string' },
    rounds: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '32' },
    records: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '0.5' },
    profile: { type: 'boolean', default: false },
    save: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** @returns {Promise<number>} the exit code */
async function main() {
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const unknown = positionals.filter((name) => !questions.includes(name));
  if (unknown.length > 0) {
    console.error(`Unknown question: ${unknown.join(', ')}.\n\n${usage}`);
    return 2;
  }
  if (values.short && values.save) {
    console.error('--save cannot be used with --short: the figures of a short run are meaningless.');
    return 2;
  }
  const size = values.short
    ? { isShort: true, rounds: 1, seconds: 1, amount: 40, connections: 4, soakMinutes: 0.03, records: 2000 }
    : {
        isShort: false,
        rounds: Number(values.rounds),
        seconds: Number(values.seconds),
        connections: Number(values.connections),
        soakMinutes: Number(values.minutes),
        records: Number(values.records),
      };
  // A short run uses only backends with targets.
  const defaults = values.short ? 'memory,sqlite,postgresql' : 'memory,sqlite,postgresql,redis';
  const backends = /** @type {import('./lib/places.mjs').Backend[]} */ ((values.backend ?? defaults).split(','));
  const profiles = values.profile ? path.join(import.meta.dirname, 'profiles') : undefined;
  const began = performance.now();
  const bench = new Workbench(size, backends, profiles);
  // A signal ends all started programs.
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      void bench.close().finally(() => process.exit(1));
    });
  }
  const rows = [];
  let ok = true;
  try {
    console.log(heading);
    for (const name of positionals.length > 0 ? positionals : questions) {
      /** @type {{ run: (bench: Workbench) => AsyncIterable<import('./lib/rows.mjs').Row> }} */
      const question = await import(`./${name}.mjs`);
      for await (const { target, ...measured } of question.run(bench)) {
        const row = { ...measured, ...(target === undefined || values.short ? {} : { target }) };
        rows.push(row);
        console.log(formatRow(row));
      }
      await bench.stopAll();
    }
    const missed = rows.filter(({ value, target }) => isMet(value, target) === false).length;
    if (values.save) await save(bench, rows, began);
    if (!values.short) console.error(`${rows.length} rows, ${missed} targets missed`);
  } catch (error) {
    ok = false;
    console.error(error);
  } finally {
    await bench.close();
  }
  return ok ? 0 : 1;
}

process.exitCode = await main();
