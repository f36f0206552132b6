// Measures one question: the server and the bare server in turns, several rounds, medians. A round with an answer that
// is no success voids the whole measurement.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { authorization } from './programs.mjs';

const autocannon = createRequire(import.meta.url).resolve('autocannon');

/**
 * @typedef {{ url: string, method?: string, body?: string }} Load
 * @typedef {{ perSecond: number, p50: number, p99: number }} Figures milliseconds for the percentiles
 */

/**
 * Runs the load generator, a process of its own, once.
 *
 * @param {Load} load
 * @param {{ seconds: number, connections: number }} size
 * @returns {Promise<Figures>}
 */
async function run({ url, method = 'GET', body }, { seconds, connections }) {
  const options = ['--json', '--duration', String(seconds), '--connections', String(connections), '--method', method];
  const headers = ['--headers', `authorization=${authorization}`, '--headers', 'content-type=application/json'];
  const child = spawn(process.execPath, [autocannon, ...options, ...headers, ...(body ? ['--body', body] : []), url], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const result = JSON.parse(await text(child.stdout));
  if (result.non2xx > 0 || result.errors > 0 || result.requests.total === 0) {
    throw new Error(`${method} ${url}: ${result.non2xx} answers were no success, ${result.errors} requests failed`);
  }
  return { perSecond: result.requests.average, p50: result.latency.p50, p99: result.latency.p99 };
}

/**
 * Both loads in turns.
 *
 * @param {Load} ours
 * @param {Load} bare
 * @param {{ rounds: number, seconds: number, connections: number }} size
 * @returns {Promise<{ ours: Figures, bare: Figures, ratio: number }>}
 */
export async function compare(ours, bare, size) {
  /** @type {Figures[]} */
  const a = [];
  /** @type {Figures[]} */
  const b = [];
  await run(ours, { ...size, seconds: 1 });
  await run(bare, { ...size, seconds: 1 });
  for (let round = 0; round < size.rounds; round++) {
    a.push(await run(ours, size));
    b.push(await run(bare, size));
  }
  const ratios = a.map((figures, round) => figures.perSecond / b[round].perSecond);
  return { ours: medians(a), bare: medians(b), ratio: median(ratios) };
}

/** @param {Figures[]} rounds @returns {Figures} */
function medians(rounds) {
  const of = (/** @type {keyof Figures} */ key) => median(rounds.map((figures) => figures[key]));
  return { perSecond: of('perSecond'), p50: of('p50'), p99: of('p99') };
}

/** @param {number[]} values @returns {number} */
function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
