// What is the cost of the indispensable parts? Compares the server with one that was written for a single question: the same
// HTTP server, driver, headers and log, without the features of the service. Its ratio to the bare server is the upper bound
// for the targets of the other questions on this machine.
import { etagOf, headers as json, sample, undressed } from './lib/client.mjs';
import { openSqlite } from './lib/by-hand.mjs';
import { contest, ratioOf } from './lib/contest.mjs';
import { createBatch, createOne, perBatch, perRecord } from './lib/creates.mjs';
import { collection, recordId, records } from './lib/data.mjs';
import { formatCpu, formatRate } from './lib/rows.mjs';

export const title = 'by hand';
const stored = 1000;

/**
 * @typedef {import('./lib/workbench.mjs').Workbench} Workbench
 * @typedef {import('./lib/places.mjs').Place} Place
 * @typedef {import('./lib/load.mjs').Request} Request
 *
 * @typedef {object} Question
 * @property {string} name
 * @property {(url: string) => Request[] | Promise<Request[]>} requests
 * @property {Record<string, string>} sql by backend
 */

const table = 'CREATE TABLE rows (list int NOT NULL, id text NOT NULL, data text NOT NULL, PRIMARY KEY (list, id))';

/** @type {Question[]} */
const asked = [
  {
    name: 'GET one record',
    requests: () => Array.from({ length: 900 }, (_, n) => ({ path: `/v1${records}/${recordId(100 + n)}` })),
    sql: {
      sqlite: `SELECT data FROM objects WHERE list = (SELECT list FROM lists WHERE parent = '${collection}' AND kind = 'record') AND id = ?`,
      postgresql: `SELECT data FROM coffer_objects WHERE parent = '${collection}' AND id = $1`,
    },
  },
  {
    name: 'poll: 304 to If-None-Match',
    requests: async (url) => [{ path: `/v1${records}`, headers: { 'if-none-match': await etagOf(url) } }],
    sql: {
      sqlite: `SELECT CAST(clock AS TEXT) AS data FROM lists WHERE parent = '${collection}' AND kind = 'record' AND ? <> ''`,
      postgresql: `SELECT clock::text AS data FROM coffer_lists WHERE parent = '${collection}' AND kind = 'record' AND $1 <> ''`,
    },
  },
  {
    name: 'POST one record',
    requests: () => [createOne],
    sql: {
      sqlite: 'INSERT INTO rows VALUES (1, ?, ?)',
      postgresql: 'INSERT INTO rows VALUES (1, $1, $2)',
    },
  },
];

const insertMany = 'INSERT INTO rows SELECT 1, * FROM unnest($1::text[], $2::text[])';

/** @param {Workbench} bench */
export async function* run(bench) {
  for (const backend of bench.among('memory', 'sqlite', 'postgresql')) {
    for (const question of asked) yield await compare(bench, backend, question);
    yield await compareBatch(bench, backend);
  }
}

/** What a batch can win at all. @param {Workbench} bench @param {import('./lib/places.mjs').Backend} backend */
async function compareBatch(bench, backend) {
  const program = await bench.server(backend, { records: 0 });
  const answer = await sample(program.url, createOne);
  const place = await bench.places.create(backend, { records: 0 });
  await makeTable(bench, place);
  const sql = asked.at(-1)?.sql[backend] ?? '';
  const store = { backend, place: place.settings['storage_url'] ?? '', connections: 20, sql, sqlOfMany: insertMany };
  const handMade = await bench.handMade(place, { answer, store });
  const figures = await contest(bench, [
    { name: 'ours', program, headers: json, requests: [createBatch], expected: [200] },
    { name: 'hand', program: handMade, headers: json, requests: [createBatch], expected: [201] },
    { name: 'single', program: handMade, headers: json, requests: [createOne], expected: [201] },
  ]);
  await bench.stopAll();
  const [ours, hand, alone] = ['ours', 'hand', 'single'].map((each) => figures.get(each));
  if (ours === undefined || hand === undefined || alone === undefined) throw new Error('a contestant is missing');
  return {
    question: `${title}: batch of 25 creates, records`,
    backend,
    ours: formatRate(ours.perSecond * perBatch),
    comparedWith: `by hand ${formatRate(hand.perSecond * perBatch)}`,
    value: ratioOf(ours, hand),
    latency: ours,
    cpu: formatCpu(perRecord(ours), `by hand ${formatCpu(perRecord(hand))}`),
    remark: `by hand a batch stores ${(ratioOf(hand, alone) * perBatch).toFixed(1)} times as many as single POSTs`,
  };
}

/** @param {Workbench} bench @param {import('./lib/places.mjs').Backend} backend @param {Question} question */
async function compare(bench, backend, { name, requests: requestsFor, sql }) {
  const program = await bench.server(backend, { records: stored });
  const requests = await requestsFor(program.url);
  const answer = await sample(program.url, requests[0]);
  const place = await bench.places.create(backend, { records: stored });
  await makeTable(bench, place);
  const store = {
    backend,
    place: place.settings['storage_url'] ?? '',
    connections: 20,
    sql: sql[backend] ?? '',
  };
  const handMade = await bench.handMade(place, { answer, store });
  const bare = await bench.bare(undressed(answer));
  const load = { requests, headers: json, expected: [answer.status] };
  const figures = await contest(bench, [
    { ...load, name: 'ours', program },
    { ...load, name: 'hand', program: handMade },
    { ...load, name: 'bare', program: bare },
  ]);
  await bench.stopAll();
  const [ours, hand, nothing] = ['ours', 'hand', 'bare'].map((each) => figures.get(each));
  if (ours === undefined || hand === undefined || nothing === undefined) throw new Error('a contestant is missing');
  return {
    question: `${title}: ${name}`,
    backend,
    ours: formatRate(ours.perSecond),
    comparedWith: `by hand ${formatRate(hand.perSecond)}`,
    value: ratioOf(ours, hand),
    latency: ours,
    cpu: formatCpu(ours, `by hand ${formatCpu(hand)}`),
    remark: `by hand it is ${ratioOf(hand, nothing).toFixed(2)} of bare`,
  };
}

/** @param {Workbench} bench @param {Place} place */
async function makeTable(bench, { file, database }) {
  if (database !== undefined) await (await bench.places.postgresql()).query(database, table);
  if (file !== undefined) {
    const sqlite = openSqlite(file);
    await sqlite.run(table);
    await sqlite.close();
  }
}
