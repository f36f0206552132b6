// The load generator, a separate process for the duration of the run. It receives jobs from its parent, runs them with
// autocannon, and returns the figures for the tables.
import process from 'node:process';
import autocannon from 'autocannon';

/**
 * @typedef {{ method?: string, path: string, body?: string, headers?: Record<string, string> }} Request
 *
 * @typedef {object} Job
 * @property {string} url scheme, host and port
 * @property {Record<string, string>} headers of every request
 * @property {Request[]} requests each connection sends them in this order, and begins elsewhere
 * @property {number[]} expected statuses of success; any other voids the measurement
 * @property {number} connections
 * @property {number} [seconds]
 * @property {number} [amount] so many requests in place of seconds
 *
 * @typedef {object} Result
 * @property {number} answers
 * @property {number} seconds from the first request to the last answer
 * @property {number} p50 milliseconds
 * @property {number} p99
 * @property {number} p999
 * @property {number} max
 * @property {number} busy share of a processor that the generator needed; near 1 it may be what limits the figures
 * @property {string} [failure] why the measurement is void
 */

/** @param {Job} job @returns {Promise<Result>} */
async function run({ url, headers, requests, expected, connections, seconds, amount }) {
  /** @type {number[]} */
  const latencies = [];
  /** @type {Map<number, number>} */
  const unexpected = new Map();
  let begin = 0;
  let end = 0;
  let client = 0;
  const cpu = process.cpuUsage();
  const result = await new Promise((resolve, reject) => {
    const instance = autocannon(
      {
        url,
        headers,
        connections,
        sampleInt: 20,
        // Each connection starts at a different request, so they do not all send the same one at the same time.
        setupClient: (/** @type {import('autocannon').Client} */ each) => {
          const at = Math.floor((client++ * requests.length) / connections);
          each.setRequests([...requests.slice(at), ...requests.slice(0, at)]);
        },
        ...(amount === undefined ? { duration: seconds ?? 1 } : { amount }),
      },
      (/** @type {Error | null} */ error, /** @type {import('autocannon').Result} */ done) =>
        error === null ? resolve(done) : reject(error),
    );
    begin = performance.now();
    instance.on('response', (_client, status, _bytes, milliseconds) => {
      end = performance.now();
      latencies.push(milliseconds);
      if (!expected.includes(status)) unexpected.set(status, (unexpected.get(status) ?? 0) + 1);
    });
  });
  const { user, system } = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => latencies[Math.floor((latencies.length - 1) * share)] ?? 0;
  const elapsed = (end - begin) / 1000;
  const failure = failureOf(result, unexpected, latencies.length);
  return {
    answers: latencies.length,
    seconds: elapsed,
    p50: at(0.5),
    p99: at(0.99),
    p999: at(0.999),
    max: at(1),
    busy: (user + system) / 1e6 / elapsed,
    ...(failure === undefined ? {} : { failure }),
  };
}

/**
 * @param {import('autocannon').Result} result
 * @param {Map<number, number>} unexpected
 * @param {number} answers
 */
function failureOf(result, unexpected, answers) {
  if (answers === 0) return 'no answer';
  if (unexpected.size > 0) return [...unexpected].map(([status, count]) => `${count} × ${status}`).join(', ');
  return result.errors + result.timeouts > 0 ? `${result.errors} errors, ${result.timeouts} timeouts` : undefined;
}

process.on('message', (/** @type {Job} */ job) => {
  run(job).then(
    (result) => process.send?.(result),
    (/** @type {unknown} */ error) => process.send?.({ failure: String(error) }),
  );
});
