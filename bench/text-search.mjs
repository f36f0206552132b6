// How long does a text search take in a list of 1,000,000 short texts? Rare and common words, phrases, exclusions and filters,
// one client at a time. How much longer does it take than in a list of 1,000? How long does the index take to build, and how
// much longer do writes take with it?
import { contest, ratioOf } from './lib/contest.mjs';
import { bucket, collection, records, wordOf } from './lib/data.mjs';
import { headers, send } from './lib/client.mjs';
import { declare } from './lib/declare.mjs';
import { sizesOf } from './growth.mjs';
import { formatCount, formatCpu, formatMs, formatRate } from './lib/rows.mjs';

export const title = 'text search';
const path = `/v1${records}`;
const indexes = [{ text: ['text'] }];

/**
 * Queries, by name: the n-th of some that differ, so that no answer is in a cache. A word of rank r is in about 0.9 / r of the
 * texts.
 *
 * @type {Map<string, (n: number) => string>}
 */
const queries = new Map([
  ['one rare word', (n) => wordOf(5000 + n)],
  ['one word', (n) => wordOf(500 + n)],
  ['two words', (n) => `${wordOf(100 + n)}+${wordOf(120 + n)}`],
  ['one common word', (n) => wordOf(10 + n)],
  ['two common words', (n) => `${wordOf(10 + n)}+${wordOf(12 + n)}`],
  ['a phrase of common words', (n) => `%22${wordOf(10 + n)}+${wordOf(12 + n)}%22`],
  ['a common word without another one', (n) => `${wordOf(10 + n)}+-${wordOf(12 + n)}`],
  ['a common word and a filter', (n) => `${wordOf(10 + n)}&done=true`],
]);
const different = 20;

/** Words with about as many matches in a list of one size as in the other. @param {number} size */
const rankOfGrowth = (size) => Math.max(2, Math.round(size / 200));

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  for (const backend of bench.among('memory', 'sqlite', 'postgresql')) {
    const program = await bench.server(backend, { records: bench.size.records, texts: true });
    const began = performance.now();
    await declare(program.url, collection, indexes);
    const seconds = (performance.now() - began) / 1000;
    for (const [name, queryOf] of queries) {
      const requests = requestsOf(queryOf);
      const contestants = [{ name, program, headers, expected: [200], requests }];
      const figures = (await contest(bench, contestants, { connections: 1 })).get(name);
      if (figures === undefined) continue;
      const { headers: found } = await send(program.url, { method: 'HEAD', path: requests[0]?.path ?? path });
      yield {
        question: `${title}: ${name}`,
        backend,
        ours: `p99 ${formatMs(figures.p99)} ms`,
        comparedWith: `p50 ${formatMs(figures.p50)} ms`,
        value: figures.p99,
        unit: 'ms',
        target: { atMost: 30 },
        latency: figures,
        cpu: formatCpu(figures),
        remark: `${found.get('total-objects')} of ${formatCount(bench.size.records)} records; built in ${seconds.toFixed(1)} s`,
      };
    }
    yield* growth(bench, backend, program);
    await bench.stopAll();
    yield* writes(bench, backend);
  }
}

/** @param {(n: number) => string} queryOf */
function requestsOf(queryOf) {
  return Array.from({ length: different }, (_, n) => ({ path: `${path}?_q=${queryOf(n)}&_limit=20` }));
}

/**
 * Searches for words with about 200 matches, and for two of them, in a small list and in the large one.
 *
 * @param {import('./lib/workbench.mjs').Workbench} bench
 * @param {import('./lib/places.mjs').Backend} backend
 * @param {import('./lib/contest.mjs').Contestant['program']} large
 * @returns {AsyncGenerator<import('./lib/rows.mjs').Row>}
 */
async function* growth(bench, backend, large) {
  const sizes = sizesOf(bench);
  const small = await bench.server(backend, { records: sizes.small, texts: true });
  await declare(small.url, collection, indexes);
  const words = new Map([
    ['one word', (/** @type {number} */ rank) => (/** @type {number} */ n) => wordOf(rank + (n % 3))],
    [
      'two words',
      (/** @type {number} */ rank) => (/** @type {number} */ n) => `${wordOf(rank + (n % 3))}+${wordOf(rank + 3)}`,
    ],
  ]);
  for (const [name, at] of words) {
    const base = { headers, expected: [200] };
    const figures = await contest(
      bench,
      [
        { ...base, name: 'small', program: small, requests: requestsOf(at(rankOfGrowth(sizes.small))) },
        { ...base, name: 'large', program: large, requests: requestsOf(at(rankOfGrowth(sizes.large))) },
      ],
      { connections: 1 },
    );
    const [few, many] = [figures.get('small'), figures.get('large')];
    if (few === undefined || many === undefined) continue;
    yield {
      question: `${title}: ${name} with about 200 matches, growth`,
      backend,
      ours: `${formatCount(sizes.large)} records ${formatRate(many.perSecond)}`,
      comparedWith: `${formatCount(sizes.small)} records ${formatRate(few.perSecond)}`,
      value: ratioOf(few, many),
      unit: '× the time',
      target: { atMost: 1.5 },
      latency: many,
    };
  }
}

/** @param {import('./lib/workbench.mjs').Workbench} bench @param {import('./lib/places.mjs').Backend} backend */
async function* writes(bench, backend) {
  const program = await bench.server(backend, { records: 0, lists: 2 });
  await declare(program.url, `${bucket}/collections/list1`, indexes);
  const text = Array.from({ length: 10 }, (_, n) => wordOf(7 ** n % 50_000)).join(' ');
  const body = JSON.stringify({ data: { text } });
  const contestants = ['without', 'with an index'].map((name, n) => {
    const requests = [{ method: 'POST', path: `/v1${bucket}/collections/list${n}/records`, body }];
    return { name, program, headers, expected: [201], requests };
  });
  const figures = await contest(bench, contestants, { rounds: bench.size.rounds });
  const [without, own] = [figures.get('without'), figures.get('with an index')];
  if (without === undefined || own === undefined) return;
  yield {
    question: `${title}: POST of ten words`,
    backend,
    ours: formatRate(own.perSecond),
    comparedWith: `without ${formatRate(without.perSecond)}`,
    value: own.perSecond / without.perSecond,
    unit: '',
    latency: own,
    cpu: formatCpu(own, `without ${formatCpu(without)}`),
  };
  await bench.stopAll();
}
