// How fast are batches of 25 PUT, PATCH and DELETE, compared with batches of 25 POST? Without and with history and quotas.
import { contest, median, ratioOf } from './lib/contest.mjs';
import { createBatch, createOne, perBatch, perRecord } from './lib/creates.mjs';
import { countRecords, headers } from './lib/client.mjs';
import { attributes, recordId, records } from './lib/data.mjs';
import { formatCpu, formatRate } from './lib/rows.mjs';

export const title = 'batch of 25 writes, records';

/** Batches of each connection in a round. */
const perConnection = 10;

/** Records before the first round: PostgreSQL keeps plans that it makes for small tables. */
const atFirst = 10_000;

const plugins = ['', 'history', 'quotas', 'history quotas'];

/** Each contestant works on the records of the one before it. */
const writes = [
  { name: 'POST', entry: undefined },
  { name: 'PUT of new records', entry: { method: 'PUT', body: { data: attributes(1) } } },
  { name: 'PUT of existing records', entry: { method: 'PUT', body: { data: attributes(2) } } },
  { name: 'PATCH', entry: { method: 'PATCH', body: { data: { count: 3 } } } },
  { name: 'DELETE', entry: { method: 'DELETE' } },
];

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  for (const backend of bench.among('memory', 'sqlite', 'postgresql', 'redis')) {
    for (const includes of plugins) yield* compare(bench, backend, includes);
  }
}

/**
 * @param {import('./lib/workbench.mjs').Workbench} bench
 * @param {import('./lib/workbench.mjs').Backend} backend
 * @param {string} includes
 * @returns {AsyncGenerator<import('./lib/rows.mjs').Row>}
 */
async function* compare(bench, backend, includes) {
  const { connections, rounds, isShort } = bench.size;
  const amount = connections * (isShort ? 1 : perConnection);
  const program = await bench.server(backend, { records: isShort ? 0 : atFirst }, { settings: { includes } });
  /** @type {Map<string, import('./lib/contest.mjs').Figures[]>} */
  const figures = new Map(writes.map(({ name }) => [name, []]));
  // The first round warms up compilers and caches, and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const { name, entry } of writes) {
      const before = await countRecords(program.url, createOne.path);
      const requests = entry === undefined ? [createBatch] : batchesOf(entry, round, amount);
      const loads = { name, program, headers, requests, expected: [200] };
      const found = await contest(bench, [loads], { rounds: 1, amount, isShort: true });
      // The status of a batch is 200 even if its entries fail.
      const grown = (await countRecords(program.url, createOne.path)) - before;
      const expected = { POST: 1, 'PUT of new records': 1, DELETE: -1 }[name] ?? 0;
      if (grown !== expected * amount * perBatch) throw new Error(`${name}: the list grew by ${grown} records`);
      if (round > 0) figures.get(name)?.push(...found.values());
    }
  }
  await bench.stop(program);
  const ofPost = merge(figures.get('POST') ?? []);
  for (const [name, each] of figures) {
    const own = merge(each);
    yield {
      question: `${title}, ${name}${includes === '' ? '' : `, with ${includes.replace(' ', ' and ')}`}`,
      backend,
      ours: formatRate(own.perSecond * perBatch),
      ...(name === 'POST'
        ? {}
        : {
            comparedWith: `POST ${formatRate(ofPost.perSecond * perBatch)}`,
            value: ratioOf(own, ofPost),
            ...(backend === 'postgresql' ? { target: { atLeast: 0.7 } } : {}),
          }),
      latency: own,
      cpu: formatCpu(perRecord(own)),
    };
  }
}

/**
 * Returns batches for records of their own, so that each connection writes different ones.
 *
 * @param {object} entry
 * @param {number} round
 * @param {number} amount
 */
function batchesOf(entry, round, amount) {
  return Array.from({ length: amount }, (_, batch) => {
    const requests = Array.from({ length: perBatch }, (__, n) => ({
      ...entry,
      path: `${records}/${recordId(atFirst + (round * amount + batch) * perBatch + n)}`,
    }));
    return { method: 'POST', path: '/v1/batch', body: JSON.stringify({ requests }) };
  });
}

/** Returns the medians of several rounds. @param {readonly import('./lib/contest.mjs').Figures[]} each */
function merge(each) {
  const of = (/** @type {'perSecond' | 'p50' | 'p99' | 'p999' | 'cpuMicros' | 'databaseMicros' | 'busy'} */ key) =>
    median(each.map((figures) => figures[key]));
  return {
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    p999: of('p999'),
    cpuMicros: of('cpuMicros'),
    databaseMicros: of('databaseMicros'),
    busy: of('busy'),
    rounds: each.flatMap(({ rounds }) => rounds),
    answers: each.reduce((sum, { answers }) => sum + answers, 0),
  };
}
