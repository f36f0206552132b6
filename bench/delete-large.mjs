// How much does the deletion of a bucket with 1,000,000 records delay other users? They read and write in another bucket
// until the last row is deleted.
import { setTimeout as wait } from 'node:timers/promises';
import { openPostgresql, openSqlite } from './lib/by-hand.mjs';
import { headers, send } from './lib/client.mjs';
import { attributes, bucket } from './lib/data.mjs';
import { planOf, sizesOf } from './growth.mjs';
import { formatCount, formatMs } from './lib/rows.mjs';
import { compareWithQuiet, visitDuring } from './lib/visitor.mjs';

export const title = 'delete a large bucket';
const other = '/v1/buckets/other/collections/list';
const body = JSON.stringify({ data: attributes(1) });
const patienceSeconds = 90;

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const { large } = sizesOf(bench);
  for (const backend of bench.among('memory', 'sqlite', 'postgresql')) {
    const program = await bench.server(backend, planOf(large));
    const rest = await restOf(bench, program.place);
    const requests = [{ path: other }, { method: 'POST', path: `${other}/records`, body }];
    const visit = { url: program.url, headers, requests, expected: [200, 201], everyMs: 10 };
    const { quiet, busy, result } = await visitDuring(visit, bench.size.isShort ? 0.3 : 3, async () => {
      const began = performance.now();
      await send(program.url, { method: 'DELETE', path: `/v1${bucket}` });
      const answered = performance.now() - began;
      while ((await rest.count()) > 0 && performance.now() - began < patienceSeconds * 1000) await wait(200);
      return { answered, finished: (performance.now() - began) / 1000, left: await rest.count() };
    });
    await rest.close();
    yield {
      question: `${title} of ${formatCount(large)} records, p99 of others`,
      backend,
      ...compareWithQuiet(quiet, busy),
      remark: `answered after ${formatMs(result.answered)} ms, ${result.left === 0 ? '' : 'not '}gone after ${result.finished.toFixed(1)} s`,
    };
    await bench.stop(program);
  }
}

/**
 * Returns the number of rows that the background deletion has not yet deleted.
 *
 * @param {import('./lib/workbench.mjs').Workbench} bench
 * @param {import('./lib/places.mjs').Place} place
 * @returns {Promise<{ count: () => Promise<number>, close: () => Promise<void> }>}
 */
async function restOf(bench, { file, database }) {
  const sql = (/** @type {string} */ prefix) =>
    `SELECT 1 FROM ${prefix}doomed_lists UNION ALL SELECT 1 FROM ${prefix}doomed_folders`;
  if (file !== undefined) {
    const hand = openSqlite(file);
    return { count: () => hand.count(sql('')), close: hand.close };
  }
  if (database !== undefined) {
    const hand = await openPostgresql((await bench.places.postgresql()).url(database));
    return { count: () => hand.count(sql('coffer_')), close: hand.close };
  }
  // In memory everything is deleted before the response.
  return { count: async () => 0, close: async () => {} };
}
