// How soon do followers of a list receive a change, how many of them does a process serve, and what do they cost?
import { setTimeout as wait } from 'node:timers/promises';
import { headers, send } from './lib/client.mjs';
import { median } from './lib/contest.mjs';
import { attributes, bucket, collection, records } from './lib/data.mjs';
import { residentMiB } from './lib/process-figures.mjs';
import { formatCount, formatMs, formatRate } from './lib/rows.mjs';
import { StreamClients } from './lib/streams.mjs';

export const title = 'live';

const list = `/v1${records}`;
const stream = `${list}?_live=sse`;
const other = '/v1/buckets/other/collections/list/records';
const everyone = JSON.stringify({ permissions: { read: ['system.Everyone'] } });

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const { isShort } = bench.size;
  for (const backend of bench.among('memory', 'sqlite', 'postgresql', 'redis')) {
    const program = await start(bench, backend);
    yield* latency(program.url, program.url, isShort, {
      question: `${title}: write to frame`,
      backend,
      most: { p50: 6, p99: 25 },
    });
    if (backend === 'postgresql' || backend === 'redis') {
      const second = await bench.serve(program.place, { settings });
      yield* latency(program.url, second.url, isShort, {
        question: `${title}: write to frame of another process`,
        backend,
        most: { p50: 25, p99: 60 },
      });
      await second.stop();
    }
    yield* fanOut(bench, program, backend);
    yield* writers(bench, program, backend);
    yield await revocation(program, backend);
    await bench.stop(program);
  }
}

const settings = {
  live_max_seconds: '3600',
  live_max_streams: '11000',
  live_max_streams_per_address: '0',
  max_event_loop_delay_ms: '0',
};

/** @param {import('./lib/workbench.mjs').Workbench} bench @param {import('./lib/places.mjs').Backend} backend */
async function start(bench, backend) {
  const program = await bench.server(backend, { records: 1000 }, { settings });
  for (const path of [`/v1${collection}`, '/v1/buckets/other/collections/list']) {
    await send(program.url, { method: 'PATCH', path, body: everyone });
  }
  return program;
}

/** Writes a record with a mark. @param {string} url @param {string} path @param {string} mark */
async function write(url, path, mark) {
  await send(url, { method: 'POST', path, body: JSON.stringify({ data: { ...attributes(1), mark } }) });
}

/**
 * Measures the time from the sending of a write to the arrival of its frame.
 *
 * @param {string} writingUrl
 * @param {string} readingUrl
 * @param {boolean} isShort
 * @param {{ question: string, backend: import('./lib/places.mjs').Backend, most: { p50: number, p99: number } }} asked
 * @returns {AsyncGenerator<import('./lib/rows.mjs').Row>}
 */
async function* latency(writingUrl, readingUrl, isShort, { question, backend, most }) {
  const clients = new StreamClients();
  await clients.open(readingUrl, stream, 1);
  /** @type {number[]} */
  const times = [];
  for (let n = 0; n < (isShort ? 20 : 1000); n++) {
    const mark = `"mark":"latency-${n}"`;
    const arrived = clients.expect(mark);
    const began = performance.now();
    await Promise.all([
      write(writingUrl, list, `latency-${n}`),
      arrived.then(() => times.push(performance.now() - began)),
    ]);
  }
  clients.close();
  times.sort((a, b) => a - b);
  const at = (/** @type {number} */ part) => times[Math.floor(times.length * part)] ?? 0;
  const figures = { p50: at(0.5), p99: at(0.99), p999: at(0.999) };
  for (const part of /** @type {const} */ (['p50', 'p99'])) {
    yield {
      question: `${question}, ${part === 'p50' ? 'median' : part}`,
      backend,
      ours: `${formatMs(figures[part])} ms`,
      value: figures[part],
      unit: 'ms',
      target: { atMost: most[part] },
      latency: figures,
      remark: 'from the sending of the write, so the write is included',
    };
  }
}

/**
 * Compares a change for many streams with a bare server that writes the same bytes to as many sockets.
 *
 * @param {import('./lib/workbench.mjs').Workbench} bench
 * @param {import('./lib/workbench.mjs').Server} program
 * @param {import('./lib/places.mjs').Backend} backend
 * @returns {AsyncGenerator<import('./lib/rows.mjs').Row>}
 */
async function* fanOut(bench, program, backend) {
  const { isShort } = bench.size;
  const rounds = isShort ? 2 : 15;
  for (const count of isShort ? [20] : [1000, 10_000]) {
    const frame = await frameOf(program.url);
    const bare = await bench.bareStreams(frame);
    const before = residentMiB(program.pid);
    const clients = new StreamClients();
    await clients.open(program.url, stream, count);
    await wait(isShort ? 0 : 3000);
    const kilobytes = ((residentMiB(program.pid) - before) * 1024) / count;
    const ours = await timesOf(
      clients,
      rounds,
      (n) => write(program.url, list, `fan-${count}-${n}`),
      (n) => `fan-${count}-${n}`,
    );
    clients.close();
    const bareClients = new StreamClients();
    await bareClients.open(bare.url, '/', count);
    const theirs = await timesOf(
      bareClients,
      rounds,
      () => send(bare.url, { method: 'POST', path: '/' }),
      () => 'event: changes',
    );
    bareClients.close();
    await bench.stop(bare);
    yield {
      question: `${title}: one change to ${formatCount(count)} streams`,
      backend,
      ours: `${formatMs(median(ours))} ms`,
      comparedWith: `bare ${formatMs(median(theirs))} ms`,
      value: median(ours) / median(theirs),
      unit: '× the time',
      target: { atMost: 1.3 },
    };
    if (count < 10_000) continue;
    yield {
      question: `${title}: memory of ${formatCount(count)} idle streams`,
      backend,
      ours: `${kilobytes.toFixed(1)} KiB per stream`,
      value: kilobytes,
      unit: 'KiB',
      target: { atMost: 20 },
    };
  }
}

/**
 * Measures the times from the sending of a request to the arrival of its mark on all streams.
 *
 * @param {StreamClients} clients
 * @param {number} rounds
 * @param {(n: number) => Promise<unknown>} change
 * @param {(n: number) => string} markOf
 */
async function timesOf(clients, rounds, change, markOf) {
  const times = [];
  for (let n = 0; n <= rounds; n++) {
    const arrived = clients.expect(markOf(n));
    const began = performance.now();
    await Promise.all([change(n), arrived]);
    // The first round compiles code.
    if (n > 0) times.push(performance.now() - began);
    await wait(20);
  }
  return times;
}

/** Returns the frames of one change, as the service sends them. @param {string} url */
async function frameOf(url) {
  const response = await fetch(`${url}${stream}`);
  if (response.body === null) throw new Error('no body');
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const until = async (/** @type {string} */ mark) => {
    while (!text.includes(mark)) text += (await reader.read()).value ?? '';
  };
  await until('event: current');
  text = '';
  await write(url, list, 'frame');
  await until('event: current');
  await reader.cancel();
  return text;
}

/**
 * Compares the rate of writes with that next to 1,000 followers.
 *
 * @param {import('./lib/workbench.mjs').Workbench} bench
 * @param {import('./lib/workbench.mjs').Server} program
 * @param {import('./lib/places.mjs').Backend} backend
 * @returns {AsyncGenerator<import('./lib/rows.mjs').Row>}
 */
async function* writers(bench, program, backend) {
  const { isShort, rounds, seconds, amount } = bench.size;
  const request = { method: 'POST', path: list, body: JSON.stringify({ data: attributes(1) }) };
  const job = { headers, requests: [request], expected: [201], seconds, ...(amount === undefined ? {} : { amount }) };
  const rateOf = async () => {
    const { answers, seconds: taken } = await bench.load(program, job);
    return answers / taken;
  };
  await rateOf();
  for (const { name, path } of [
    { name: 'of another list', path: `${other}?_live=sse` },
    { name: 'of the same list', path: stream },
  ]) {
    /** @type {number[]} */
    const ratios = [];
    const rates = [];
    for (let round = 0; round < rounds; round++) {
      const alone = await rateOf();
      const clients = new StreamClients();
      await clients.open(program.url, path, isShort ? 10 : 1000);
      const followed = await rateOf();
      clients.close();
      await wait(isShort ? 0 : 500);
      ratios.push(followed / alone);
      rates.push(followed);
    }
    yield {
      question: `${title}: POST next to 1,000 followers ${name}`,
      backend,
      ours: formatRate(median(rates)),
      comparedWith: 'no followers',
      value: median(ratios),
      ...(path === stream
        ? { remark: 'the followers share processors with the server' }
        : { target: { atLeast: 0.95 } }),
    };
  }
}

/**
 * Measures how long after the loss of access 100 streams of one user end.
 *
 * @param {import('./lib/workbench.mjs').Server} program
 * @param {import('./lib/places.mjs').Backend} backend
 * @returns {Promise<import('./lib/rows.mjs').Row>}
 */
async function revocation(program, backend) {
  const path = `/v1${bucket}/collections/revoked`;
  await send(program.url, { method: 'PUT', path, body: everyone });
  const clients = new StreamClients();
  await clients.open(program.url, `${path}/records?_live=sse`, 100);
  const ended = clients.expect('"errno":121');
  const began = performance.now();
  await send(program.url, { method: 'PATCH', path, body: JSON.stringify({ permissions: { read: [] } }) });
  await ended;
  const seconds = (performance.now() - began) / 1000;
  clients.close();
  return {
    question: `${title}: loss of access to the end of 100 streams`,
    backend,
    ours: `${seconds.toFixed(2)} s`,
    value: seconds,
    unit: 's',
    target: { atMost: 3 },
  };
}
