// What do declared indexes cost and gain? Pages by an index in lists of 1,000 and of 1,000,000 records, compared with a page
// by id of the same server; the build of the indexes, and how long others wait meanwhile; writes with and without indexes.
import { contest, ratioOf } from './lib/contest.mjs';
import { attributes, bucket, collection, records } from './lib/data.mjs';
import { headers } from './lib/client.mjs';
import { declare } from './lib/declare.mjs';
import { planOf, sizesOf } from './growth.mjs';
import { formatCount, formatCpu, formatMs, formatRate } from './lib/rows.mjs';
import { visitDuring } from './lib/visitor.mjs';

export const title = 'declared indexes';
const path = `/v1${records}`;
const indexes = [{ fields: ['done', '-count'] }, { fields: ['count'] }, { fields: ['done'] }];
const either = encodeURIComponent('{"$or":[{"count":7},{"count":{"$gte":99990}}]}');

/** Pages, by name. The first one is what the others are compared with. */
const pages = new Map([
  ['page by id', '_sort=id&_limit=100'],
  ['equality, newest first', 'done=true&_limit=100'],
  ['equality and sort', 'done=true&_sort=-count&_limit=100'],
  ['equality and opposite sort', 'done=true&_sort=count&_limit=100'],
  ['range in its order', 'min_count=50000&_sort=count&_limit=100'],
  ['sort', '_sort=count&_limit=100'],
  ['few of many values', 'count=7919'],
  ['$or', `_filter=${either}&_limit=100`],
]);

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const sizes = sizesOf(bench);
  for (const backend of bench.among('memory', 'sqlite', 'postgresql', 'redis')) {
    const small = await bench.server(backend, planOf(sizes.small));
    const large = await bench.server(backend, planOf(sizes.large));
    await declare(small.url, collection, indexes);
    const visit = {
      url: large.url,
      headers,
      requests: [
        { path: `${path}?_limit=1` },
        { method: 'POST', path: `/v1${bucket}/collections/list0/records`, body: '{}' },
      ],
      expected: [200, 201],
      everyMs: 10,
    };
    let seconds = 0;
    const { quiet, busy } = await visitDuring(visit, bench.size.isShort ? 0.3 : 2, async () => {
      const began = performance.now();
      await declare(large.url, collection, indexes);
      seconds = (performance.now() - began) / 1000;
    });
    yield {
      question: `${title}: p99 of others during the build of three`,
      backend,
      ours: `${formatMs(busy.p99)} ms`,
      comparedWith: `quiet ${formatMs(quiet.p99)} ms`,
      value: busy.p99 / quiet.p99,
      unit: '× quiet',
      target: { atMost: 3 },
      latency: busy,
      remark: `${formatCount(sizes.large)} records in ${seconds.toFixed(1)} s`,
    };
    const contestants = [...pages].flatMap(([name, query]) => [
      { name: `${name}, small`, program: small, headers, expected: [200], requests: [{ path: `${path}?${query}` }] },
      { name: `${name}, large`, program: large, headers, expected: [200], requests: [{ path: `${path}?${query}` }] },
    ]);
    const figures = await contest(bench, contestants, { rounds: Math.min(3, bench.size.rounds), seconds: 1 });
    const byId = figures.get('page by id, large');
    for (const name of pages.keys()) {
      const few = figures.get(`${name}, small`);
      const many = figures.get(`${name}, large`);
      if (few === undefined || many === undefined || byId === undefined || many === byId) continue;
      yield {
        question: `${title}: ${name}`,
        backend,
        ours: formatRate(many.perSecond),
        comparedWith: `page by id ${formatRate(byId.perSecond)}`,
        value: ratioOf(byId, many),
        unit: '× the time',
        ...(backend === 'redis' ? {} : { target: { atMost: 2 } }),
        latency: many,
        cpu: formatCpu(many),
      };
    }
    // The page by id as well: what the size of the list costs without any index.
    for (const name of pages.keys()) {
      const few = figures.get(`${name}, small`);
      const many = figures.get(`${name}, large`);
      if (few === undefined || many === undefined) continue;
      yield {
        question: `${title}: ${name}, growth`,
        backend,
        ours: `${formatCount(sizes.large)} records ${formatRate(many.perSecond)}`,
        comparedWith: `${formatCount(sizes.small)} records ${formatRate(few.perSecond)}`,
        value: ratioOf(few, many),
        unit: '× the time',
        ...(backend === 'redis' || name === 'page by id' ? {} : { target: { atMost: 1.5 } }),
      };
    }
    await bench.stopAll();
    yield* writes(bench, backend);
  }
}

/** @param {import('./lib/workbench.mjs').Workbench} bench @param {import('./lib/places.mjs').Backend} backend */
async function* writes(bench, backend) {
  const program = await bench.server(backend, { records: 0, lists: 3 });
  const lists = [0, 1, 2].map((n) => `${bucket}/collections/list${n}`);
  await declare(program.url, lists[1] ?? '', indexes.slice(1, 2));
  await declare(program.url, lists[2] ?? '', indexes);
  const body = JSON.stringify({ data: attributes(1) });
  const names = ['without', 'with one', 'with three'];
  const contestants = names.map((name, n) => {
    const requests = [{ method: 'POST', path: `/v1${lists[n]}/records`, body }];
    return { name, program, headers, expected: [201], requests };
  });
  const figures = await contest(bench, contestants, { rounds: bench.size.rounds });
  const without = figures.get('without');
  for (const [name, atLeast] of [
    ['with one', 0.85],
    ['with three', 0.65],
  ]) {
    const own = figures.get(String(name));
    if (own === undefined || without === undefined) continue;
    yield {
      question: `${title}: POST ${name}`,
      backend,
      ours: formatRate(own.perSecond),
      comparedWith: `without ${formatRate(without.perSecond)}`,
      value: own.perSecond / without.perSecond,
      unit: '',
      target: { atLeast: Number(atLeast) },
      latency: own,
      cpu: formatCpu(own, `without ${formatCpu(without)}`),
    };
  }
  await bench.stopAll();
}
