// What does a filter with a sort cost on a small list without indexes, compared with a GET of one record? 1,000 records of
// about 200 bytes, 16 connections.
import { contest, ratioOf } from './lib/contest.mjs';
import { recordId, records } from './lib/data.mjs';
import { headers } from './lib/client.mjs';
import { formatCpu, formatRate } from './lib/rows.mjs';

export const title = 'filter and sort of 1,000 records';
const path = `/v1${records}`;
const count = 1000;
const connections = 16;

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const size = bench.size.isShort ? 100 : count;
  for (const backend of bench.among('memory', 'sqlite', 'postgresql', 'redis')) {
    const program = await bench.server(backend, { records: size });
    const ids = Array.from({ length: Math.min(500, size) }, (_, n) => recordId(n));
    const base = { program, headers, expected: [200] };
    const contestants = [
      { ...base, name: 'GET', requests: ids.map((id) => ({ path: `${path}/${id}` })) },
      { ...base, name: 'query', requests: [{ path: `${path}?min_count=50000&_sort=-count&_limit=20` }] },
    ];
    const figures = await contest(bench, contestants, { connections });
    const [get, query] = [figures.get('GET'), figures.get('query')];
    if (get === undefined || query === undefined) continue;
    yield {
      question: title,
      backend,
      ours: formatRate(query.perSecond),
      comparedWith: `GET of one record ${formatRate(get.perSecond)}`,
      value: ratioOf(get, query),
      unit: '× the time',
      ...(backend === 'redis' ? {} : { target: { atMost: 8 } }),
      latency: query,
      cpu: formatCpu(query),
    };
    await bench.stopAll();
  }
}
