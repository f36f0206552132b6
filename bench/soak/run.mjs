// Soaks servers: mixed load at a bounded rate for a given time. Checks every response, and samples everything that could grow.
// Fails on growth and on any unexpected response. See `npm run soak -- --help`.
import { appendFileSync, existsSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { formatCount } from '../lib/rows.mjs';
import { Workbench } from '../lib/workbench.mjs';
import { Clients, WrongAnswer } from './client.mjs';
import { clear, live, prepare } from './life.mjs';
import { formatVerdicts, verdictsOf } from './report.mjs';
import { countFiles, Sampler } from './samples.mjs';

/**
 * @typedef {import('../lib/places.mjs').Backend} Backend
 * @typedef {import('./samples.mjs').Sample} Sample
 *
 * @typedef {object} Plan
 * @property {number} seconds
 * @property {number} rate requests a second
 * @property {number} clients at the same time
 * @property {number} everySeconds between samples
 * @property {number} records in the list that is only read
 * @property {string | undefined} file for all samples
 */

const usage = `Usage: npm run soak [-- OPTION …]

Loads a server on each backend, all in parallel, and reports growth. Everything that is created is deleted
again, so growth is a leak. Fails on growth and on unexpected responses.

Options
  --minutes N       duration in minutes (5)
  --backend NAMES   memory, sqlite, postgresql, redis, separated by commas (sqlite,postgresql)
  --rate R          requests a second to each server (300)
  --clients N       simultaneous clients (24)
  --every SECONDS   seconds between samples (10, less for short runs)
  --samples FILE    file to which each sample is appended as a line of JSON
  --help            show this text`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    backend: { type: 'string', default: 'sqlite,postgresql' },
    rate: { type: 'string', default: '300' },
    clients: { type: 'string', default: '24' },
    every: { type: 'string', default: '10' },
    samples: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** @returns {Promise<number>} the exit code */
async function main() {
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const seconds = Number(values.minutes) * 60;
  /** @type {Plan} */
  const plan = {
    seconds,
    rate: Number(values.rate),
    clients: Number(values.clients),
    everySeconds: Math.min(Number(values.every), seconds / 24),
    records: seconds < 60 ? 500 : 5000,
    file: values.samples,
  };
  const backends = /** @type {Backend[]} */ (values.backend.split(','));
  const known = backends.every((name) => ['memory', 'sqlite', 'postgresql', 'redis'].includes(name));
  if (!known || !(plan.seconds > 0 && plan.rate > 0 && plan.clients > 0 && plan.everySeconds > 0)) {
    console.error(usage);
    return 2;
  }
  const size = { isShort: false, rounds: 1, seconds: 1, connections: 1, soakMinutes: 1, records: 1 };
  const bench = new Workbench(size, backends);
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      void bench.close().finally(() => process.exit(1));
    });
  }
  try {
    const ended = await Promise.all(backends.map((backend) => soak(bench, backend, plan)));
    for (const text of ended.map(({ report }) => report)) console.log(text);
    return ended.every(({ isGood }) => isGood) ? 0 : 1;
  } finally {
    await bench.close();
  }
}

/**
 * @param {Workbench} bench
 * @param {Backend} backend
 * @param {Plan} plan
 * @returns {Promise<{ isGood: boolean, report: string }>}
 */
async function soak(bench, backend, plan) {
  const folder = bench.folder('soak');
  const places = { monitor: path.join(folder, 'health.json'), attachments: path.join(folder, 'files') };
  const server = await bench.server(
    backend,
    { records: plan.records },
    {
      settings: { includes: 'attachments', 'attachment.base_path': places.attachments },
      nodeArgs: ['--expose-gc', '--import', new URL('../lib/monitor.mjs', import.meta.url).href],
      environment: { BENCH_MONITOR: places.monitor, BENCH_WINDOW_MS: String(plan.everySeconds * 1000) },
    },
  );
  const { database } = server.place;
  const databaseUrl = database === undefined ? undefined : (await bench.places.postgresql()).url('postgres');
  const clients = new Clients(server.url, plan.rate);
  await prepare(clients);
  const sampler = new Sampler(server, clients, { ...places, databaseUrl });
  await sampler.open();
  const over = performance.now() + plan.seconds * 1000;
  const lanes = Array.from({ length: plan.clients }, (_, lane) => liveUntil(clients, plan, lane, over));
  const [samples] = await Promise.all([takeSamples(sampler, backend, plan, places.monitor, over), ...lanes]);
  // Deleted files are removed soon after the response.
  for (let n = 0; n < 100 && countFiles(places.attachments) > 0; n++) await wait(50);
  const files = countFiles(places.attachments);
  if (files > 0) clients.complain(`${files} attached files are left`);
  await sampler.close();
  clients.close();
  await bench.stop(server);
  const verdicts = verdictsOf(samples);
  const statuses = [...clients.statuses].toSorted(([a], [b]) => a - b);
  const report = [
    `## ${backend}, ${(plan.seconds / 60).toFixed(1)} minutes`,
    '',
    `${formatCount(clients.answers)} answers (${statuses.map(([status, count]) => `${status}: ${formatCount(count)}`).join(', ')}), ` +
      `${formatCount(clients.answers / plan.seconds)}/s, the slowest after ${clients.slowestMs.toFixed(0)} ms, ${clients.wrong} not as expected; ${samples.length} samples.`,
    '',
    ...formatVerdicts(verdicts),
    ...clients.complaints.map((complaint) => `- ${complaint}`),
    '',
  ].join('\n');
  return { isGood: clients.wrong === 0 && verdicts.every(({ isFlat, isJudged }) => isFlat || !isJudged), report };
}

/**
 * @param {Clients} clients
 * @param {Plan} plan
 * @param {number} lane
 * @param {number} over when to end
 */
async function liveUntil(clients, plan, lane, over) {
  for (let life = 0; performance.now() < over; life++) {
    try {
      await live(clients, { size: plan.records }, lane, life);
    } catch (error) {
      // It is remembered; the others go on, and so does this one.
      if (!(error instanceof WrongAnswer)) throw error;
      await clear(clients, lane).catch(() => wait(1000));
    }
  }
}

/**
 * @param {Sampler} sampler
 * @param {Backend} backend
 * @param {Plan} plan
 * @param {string} monitor
 * @param {number} over
 * @returns {Promise<Sample[]>}
 */
async function takeSamples(sampler, backend, plan, monitor, over) {
  const began = performance.now();
  /** @type {Sample[]} */
  const samples = [];
  while (!existsSync(monitor)) await wait(20);
  for (let n = 1; performance.now() < over; n++) {
    await wait(Math.max(0, began + n * plan.everySeconds * 1000 - performance.now()));
    const sample = await sampler.take();
    samples.push(sample);
    const line = JSON.stringify({ backend, ...sample });
    if (plan.file !== undefined) appendFileSync(plan.file, `${line}\n`);
    if (plan.everySeconds >= 5 && n % 6 === 0) console.error(line);
  }
  return samples;
}

process.exitCode = await main();
