// How long does a text search take in a list of 1,000,000 short texts? Rare and common words, one client at a time. How long
// does the index take to build, and how much longer do writes take with it?
import { contest } from './lib/contest.mjs';
import { bucket, collection, records, wordOf } from './lib/data.mjs';
import { headers, send } from './lib/client.mjs';
import { declare } from './lib/declare.mjs';
import { formatCount, formatCpu, formatMs, formatRate } from './lib/rows.mjs';

export const title = 'text search';
const path = `/v1${records}`;
const indexes = [{ text: ['text'] }];

/** Queries, by name. A word of rank r is in about 0.9 / r of the texts. @type {Map<string, number[]>} */
const queries = new Map([
  ['one rare word', [5000]],
  ['one word', [500]],
  ['two words', [100, 120]],
  ['one common word', [10]],
  ['two common words', [10, 12]],
]);

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  for (const backend of bench.among('memory', 'sqlite', 'postgresql')) {
    const program = await bench.server(backend, { records: bench.size.records, texts: true });
    const began = performance.now();
    await declare(program.url, collection, indexes);
    const seconds = (performance.now() - began) / 1000;
    for (const [name, ranks] of queries) {
      // Neighbours in rank, so that no answer is in a cache.
      const requests = Array.from({ length: 20 }, (_, n) => ({
        path: `${path}?_q=${ranks.map((rank) => wordOf(rank + n)).join('+')}&_limit=20`,
      }));
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
    await bench.stopAll();
    yield* writes(bench, backend);
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
