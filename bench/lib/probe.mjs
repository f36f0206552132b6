// A visitor in a separate process that sends requests at fixed times, whether or not earlier responses have arrived. So a
// blocked server delays every request that is sent meanwhile, as in production.
import http from 'node:http';
import process from 'node:process';

/**
 * @typedef {object} Visit
 * @property {string} url scheme, host and port
 * @property {Record<string, string>} headers
 * @property {import('./load.mjs').Request[]} requests asked in turn
 * @property {number[]} expected
 * @property {number} everyMs
 *
 * @typedef {object} Impression
 * @property {number} visits
 * @property {number} p50 milliseconds
 * @property {number} p99
 * @property {number} p999
 * @property {number} max
 * @property {Record<string, number>} p99Of by method
 * @property {string} [failure]
 */

const agent = new http.Agent({ keepAlive: true, maxSockets: 100 });
/** @type {{ method: string, ms: number }[]} */
let latencies = [];
/** @type {string | undefined} */
let failure;
let waiting = 0;
/** @type {NodeJS.Timeout | undefined} */
let timer;

/** @param {Visit} visit */
function begin({ url, headers, requests, expected, everyMs }) {
  latencies = [];
  failure = undefined;
  const began = performance.now();
  let visits = 0;
  timer = setInterval(() => {
    while (began + visits * everyMs <= performance.now()) {
      const due = began + visits * everyMs;
      const request = requests.at(visits++ % requests.length);
      if (request !== undefined) ask(url, headers, request, expected, due);
    }
  }, 1);
}

/**
 * @param {string} url
 * @param {Record<string, string>} headers
 * @param {import('./load.mjs').Request} request
 * @param {number[]} expected
 * @param {number} due
 */
function ask(url, headers, { method = 'GET', path, body, headers: own = {} }, expected, due) {
  waiting++;
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const request = http.request(
    url + path,
    { method, agent, headers: { ...headers, ...own, ...length } },
    (response) => {
      response.resume();
      response.once('end', () => {
        latencies.push({ method, ms: performance.now() - due });
        if (!expected.includes(response.statusCode ?? 0)) failure ??= `${method} ${path}: ${response.statusCode}`;
        waiting--;
      });
    },
  );
  request.once('error', (error) => {
    failure ??= `${method} ${path}: ${error.message}`;
    waiting--;
  });
  request.end(body);
}

function finish() {
  clearInterval(timer);
  if (waiting > 0) {
    setTimeout(finish, 5);
    return;
  }
  const at = rankingOf(latencies);
  const methods = [...new Set(latencies.map(({ method }) => method))];
  const p99Of = Object.fromEntries(
    methods.map((method) => [method, rankingOf(latencies.filter((each) => each.method === method))(0.99)]),
  );
  const figures = { visits: latencies.length, p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1), p99Of };
  process.send?.({ ...figures, ...(failure === undefined ? {} : { failure }) });
}

/**
 * Returns a function that maps a share of the visits to their maximum duration in milliseconds.
 *
 * @param {{ ms: number }[]} visits
 * @returns {(share: number) => number}
 */
function rankingOf(visits) {
  const sorted = visits.map(({ ms }) => ms).toSorted((a, b) => a - b);
  return (share) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

process.on('message', (/** @type {Visit | 'stop'} */ message) => {
  if (message === 'stop') finish();
  else begin(message);
});
