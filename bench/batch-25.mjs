// How much faster is one batch of 25 records than 25 requests?
import { contest, ratioOf } from './lib/contest.mjs';
import { createBatch, createOne, perBatch, perRecord } from './lib/creates.mjs';
import { countRecords, headers } from './lib/client.mjs';
import { formatCpu, formatRate } from './lib/rows.mjs';

export const title = 'batch of 25 creates, records';

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  for (const backend of bench.among('memory', 'sqlite', 'postgresql')) {
    const program = await bench.server(backend, { records: 0 });
    const figures = await contest(bench, [
      { name: 'single', program, headers, requests: [createOne], expected: [201] },
      { name: 'batch', program, headers, requests: [createBatch], expected: [200] },
    ]);
    const ofSingle = figures.get('single');
    const ofBatch = figures.get('batch');
    if (ofSingle === undefined || ofBatch === undefined) continue;
    // The status of a batch is 200 even if its entries fail.
    const expected = ofSingle.answers + ofBatch.answers * perBatch;
    const created = await countRecords(program.url, createOne.path);
    if (created < expected) throw new Error(`of ${expected} records ${created} were created`);
    await bench.stop(program);
    const hasTarget = backend === 'sqlite' || backend === 'postgresql';
    yield {
      question: title,
      backend,
      ours: formatRate(ofBatch.perSecond * perBatch),
      comparedWith: `single ${formatRate(ofSingle.perSecond)}`,
      value: ratioOf(ofBatch, ofSingle) * perBatch,
      ...(hasTarget ? { target: { atLeast: 5 } } : {}),
      latency: ofBatch,
      cpu: formatCpu(perRecord(ofBatch), `single ${formatCpu(ofSingle)}`),
    };
  }
}
