// Runs the benchmarks and prints a row for each question and backend. `npm run bench -- --help` tells more.
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { questions } from './lib/questions.mjs';
import { formatRow, heading, isMet } from './lib/rows.mjs';
import { save } from './lib/report.mjs';
import { Workbench } from './lib/workbench.mjs';

const usage = `Usage: npm run bench [-- NAME …] [-- OPTION …]

Measures, and prints a table of what was measured, beside what, and whether the target is met. A measurement in which
one request fails is void, and so is the run.

Questions
  ${questions.join(', ')}

Options
  --short           small data and few requests: shows that the benchmarks work, the figures mean nothing
  --backend NAMES   only these, separated by commas: memory, sqlite, postgresql, redis
  --rounds N        of each measurement, 4 unless set
  --seconds N       of each round, 2 unless set
  --connections N   clients at the same time, 32 unless set
  --records N       of a large list, 1000000 unless set
  --minutes N       of the soak in "mixed", half a one unless set
  --profile         writes a CPU profile of every server to bench/profiles, for the DevTools of Chromium or speedscope
  --save            writes the table, and what machine it is from, to bench/RESULTS.md
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
    console.error(`There is no question called ${unknown.join(', ')}.\n\n${usage}`);
    return 2;
  }
  if (values.short && values.save) {
    console.error('The figures of a short run mean nothing, so they are not saved.');
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
  // Those with targets are enough to see that it works.
  const defaults = values.short ? 'memory,sqlite,postgresql' : 'memory,sqlite,postgresql,redis';
  const backends = /** @type {import('./lib/places.mjs').Backend[]} */ ((values.backend ?? defaults).split(','));
  const profiles = values.profile ? path.join(import.meta.dirname, 'profiles') : undefined;
  const began = performance.now();
  const bench = new Workbench(size, backends, profiles);
  // Nothing that was started stays behind.
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
