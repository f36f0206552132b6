// What does a filter with a sort cost on a small list without indexes, compared with a GET of one record? 1,000 records of
// about 200 bytes, 16 connections. Where a Parse Server is named in the environment, the same on it, without and with an index.
import { contest, ratioOf } from './lib/contest.mjs';
import { collection, recordId, records } from './lib/data.mjs';
import { headers, send } from './lib/client.mjs';
import { declare } from './lib/declare.mjs';
import { fillParseServer, findParseServer } from './lib/parse-server.mjs';
import { formatCpu, formatRate } from './lib/rows.mjs';

export const title = 'filter and sort of 1,000 records';
const path = `/v1${records}`;
const count = 1000;
const connections = 16;
const limit = 20;
const query = `min_count=50000&_sort=-count&_limit=${limit}`;

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const size = bench.size.isShort ? 100 : count;
  for (const backend of bench.among('memory', 'sqlite', 'postgresql', 'redis')) {
    const program = await bench.server(backend, { records: size });
    const ids = Array.from({ length: Math.min(500, size) }, (_, n) => recordId(n));
    const base = { program, headers, expected: [200] };
    const contestants = [
      { ...base, name: 'GET', requests: ids.map((id) => ({ path: `${path}/${id}` })) },
      { ...base, name: 'query', requests: [{ path: `${path}?${query}` }] },
    ];
    const figures = await contest(bench, contestants, { connections });
    const [get, own] = [figures.get('GET'), figures.get('query')];
    if (get === undefined || own === undefined) continue;
    yield {
      question: title,
      backend,
      ours: formatRate(own.perSecond),
      comparedWith: `GET of one record ${formatRate(get.perSecond)}`,
      value: ratioOf(get, own),
      unit: '× the time',
      target: { atMost: 8 },
      latency: own,
      cpu: formatCpu(own),
    };
    if (backend === 'postgresql') yield* besideParseServer(bench, program, size);
    await bench.stopAll();
  }
}

/**
 * Compares with a Parse Server, which keeps its objects in PostgreSQL as well.
 *
 * @param {import('./lib/workbench.mjs').Workbench} bench
 * @param {import('./lib/contest.mjs').Contestant['program']} program
 * @param {number} size
 * @returns {AsyncGenerator<import('./lib/rows.mjs').Row>}
 */
async function* besideParseServer(bench, program, size) {
  const parse = findParseServer();
  if (parse === undefined) return;
  const where = encodeURIComponent(JSON.stringify({ count: { $gte: 50_000 } }));
  for (const [name, isIndexed, atLeast] of /** @type {const} */ ([
    ['', false, 2],
    [' with an index', true, 5],
  ])) {
    const className = `Record${Date.now()}`;
    await fillParseServer(parse, className, size, isIndexed ? { byCount: { count: -1 } } : undefined);
    if (isIndexed) await declare(program.url, collection, [{ fields: ['count'] }]);
    const theirs = `${parse.path}/classes/${className}?where=${where}&order=-count&limit=${limit}`;
    /** @type {{ results: unknown[] }} */
    const { results } = JSON.parse((await send(parse.program.url, { path: theirs, headers: parse.headers })).text);
    /** @type {{ data: unknown[] }} */
    const { data } = JSON.parse((await send(program.url, { path: `${path}?${query}` })).text);
    if (results.length !== data.length) throw new Error(`${results.length} objects, and ${data.length} records`);
    const figures = await contest(
      bench,
      [
        { name: 'ours', program, headers, expected: [200], requests: [{ path: `${path}?${query}` }] },
        { ...parse, name: 'theirs', requests: [{ path: theirs }] },
      ],
      { connections },
    );
    const [own, other] = [figures.get('ours'), figures.get('theirs')];
    if (own === undefined || other === undefined) continue;
    yield {
      question: `${title}${name}, compared with Parse Server`,
      backend: 'postgresql',
      ours: formatRate(own.perSecond),
      comparedWith: `Parse Server ${formatRate(other.perSecond)}`,
      value: ratioOf(own, other),
      target: { atLeast },
      latency: own,
      cpu: formatCpu(own),
    };
  }
}
