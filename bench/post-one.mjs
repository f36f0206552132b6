// How fast are records created, one per request? Memory and SQLite are compared with a bare server that parses the same body
// and sends the same bytes. PostgreSQL is compared with pgbench, which inserts rows over as many connections.
import { compareWithBare } from './lib/bare-comparison.mjs';
import { headers } from './lib/client.mjs';
import { contest, median } from './lib/contest.mjs';
import { attributes, bucket, records } from './lib/data.mjs';
import { inserts } from './lib/pgbench.mjs';
import { formatCpu, formatRate } from './lib/rows.mjs';

export const title = 'POST one record';
const lists = 100;
const body = JSON.stringify({ data: attributes(1) });

/** @param {import('./lib/workbench.mjs').Workbench} bench */
export async function* run(bench) {
  yield* await compareWithBare(bench, {
    title: `${title}, one collection`,
    plan: { records: 0 },
    backends: ['memory', 'sqlite', 'redis'],
    targets: { memory: 0.45, sqlite: 0.25 },
    requests: async () => [{ method: 'POST', path: `/v1${records}`, body }],
  });
  if (bench.among('postgresql').length > 0) yield* await compareWithPgbench(bench);
}

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {Promise<import('./lib/rows.mjs').Row[]>} */
async function compareWithPgbench(bench) {
  const insert = await inserts(bench);
  const program = await bench.server('postgresql', { records: 0, lists });
  const paths = Array.from({ length: lists }, (_, n) => `/v1${bucket}/collections/list${n}/records`);
  const many = paths.map((path) => ({ method: 'POST', path, body }));
  const one = [{ method: 'POST', path: `/v1${records}`, body }];
  const loads = { program, headers, expected: [201] };
  /** @type {Map<string, import('./lib/contest.mjs').Figures[]>} */
  const rounds = new Map([
    ['many collections', []],
    ['one collection', []],
  ]);
  /** @type {number[]} */
  const rates = [];
  for (let round = 0; round < bench.size.rounds; round++) {
    const contestants = [
      { ...loads, name: 'many collections', requests: many },
      { ...loads, name: 'one collection', requests: one },
    ];
    const figures = await contest(bench, contestants, { rounds: 1, isShort: round > 0 || bench.size.isShort });
    for (const [name, each] of figures) rounds.get(name)?.push(each);
    rates.push((await insert?.()) ?? Number.NaN);
  }
  await bench.stopAll();
  const targets = new Map([
    ['many collections', 0.5],
    ['one collection', 0.3],
  ]);
  return [...rounds].map(([name, each]) => {
    const of = (/** @type {'perSecond' | 'p50' | 'p99' | 'p999' | 'cpuMicros' | 'databaseMicros'} */ key) =>
      median(each.map((figures) => figures[key]));
    const ratio = median(each.map(({ perSecond }, round) => perSecond / (rates[round] ?? Number.NaN)));
    return {
      question: `${title}, ${name}`,
      backend: 'postgresql',
      ours: formatRate(of('perSecond')),
      comparedWith: insert === undefined ? 'no pgbench here' : `pgbench ${formatRate(median(rates))}`,
      ...(insert === undefined ? {} : { value: ratio, target: { atLeast: targets.get(name) ?? 0 } }),
      latency: { p50: of('p50'), p99: of('p99'), p999: of('p999') },
      cpu: formatCpu({ cpuMicros: of('cpuMicros'), databaseMicros: of('databaseMicros') }),
    };
  });
}
