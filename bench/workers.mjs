// How much faster are two workers than one on PostgreSQL, where the machine has processors for them?
import { availableParallelism } from 'node:os';
import { contest, ratioOf } from './lib/contest.mjs';
import { headers } from './lib/client.mjs';
import { attributes, bucket, recordId, records } from './lib/data.mjs';
import { formatCpu, formatRate } from './lib/rows.mjs';

export const title = 'two workers compared with one';
const lists = 100;

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  if (bench.among('postgresql').length === 0) return;
  const plan = { records: 1000, lists };
  const one = await bench.server('postgresql', plan);
  const two = await bench.server('postgresql', plan, { args: ['--workers', '2'] });
  const body = JSON.stringify({ data: attributes(1) });
  const get = Array.from({ length: 900 }, (_, n) => ({ path: `/v1${records}/${recordId(n)}` }));
  const post = Array.from({ length: lists }, (_, n) => ({
    method: 'POST',
    path: `/v1${bucket}/collections/list${n}/records`,
    body,
  }));
  const processors = availableParallelism();
  // One processor for each worker, one for the database, one for the generator.
  const isEnough = processors >= 4;
  for (const { name, requests, expected } of [
    { name: 'GET one record', requests: get, expected: [200] },
    { name: 'POST, many collections', requests: post, expected: [201] },
  ]) {
    const load = { headers, requests, expected };
    const figures = await contest(bench, [
      { ...load, name: 'one', program: one },
      { ...load, name: 'two', program: two },
    ]);
    const ofOne = figures.get('one');
    const ofTwo = figures.get('two');
    if (ofOne === undefined || ofTwo === undefined) continue;
    yield {
      question: `${title}: ${name}`,
      backend: 'postgresql',
      ours: formatRate(ofTwo.perSecond),
      comparedWith: `one ${formatRate(ofOne.perSecond)}`,
      value: ratioOf(ofTwo, ofOne),
      ...(isEnough ? { target: { atLeast: 1.6 } } : {}),
      latency: ofTwo,
      cpu: formatCpu(ofTwo, `one ${formatCpu(ofOne)}`),
      ...(isEnough
        ? {}
        : { remark: `${processors} processors are shared by workers, database and generator: target ≥ 1.6 from 4 on` }),
    };
  }
}
