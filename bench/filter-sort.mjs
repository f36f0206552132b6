// What does filtering and sorting by an arbitrary field cost, compared with the same SQL by hand, and how much does it delay
// other users? 100,000 records, without an index on any attribute.
import { dialect, openPostgresql, openSqlite } from './lib/by-hand.mjs';
import { headers, send, timeOf } from './lib/client.mjs';
import { median } from './lib/contest.mjs';
import { recordId, records } from './lib/data.mjs';
import { formatMs } from './lib/rows.mjs';
import { visitDuring } from './lib/visitor.mjs';

export const title = 'filter and sort';
const path = `/v1${records}`;
/** Requests before the measurement: the first ones take several times as long. */
const warmUpSeconds = 1;

/**
 * @param {'sqlite' | 'postgresql'} backend
 * @returns {{ name: string, query: string, sql: string }[]}
 */
function queriesOf(backend) {
  const { from, columns, attribute, number } = dialect(backend);
  const select = `SELECT ${columns} ${from}`;
  const newestFirst = 'ORDER BY last_modified DESC';
  return [
    {
      name: 'filter, one match',
      query: '?count=7919',
      sql: `${select} AND ${attribute('count')} = ${number(7919)} ${newestFirst}`,
    },
    {
      name: 'filter, one in ten, page of 100',
      query: '?lt_count=10000&_limit=100',
      sql: `${select} AND ${attribute('count')} < ${number(10_000)} ${newestFirst} LIMIT 100`,
    },
    {
      name: 'sort, page of 100',
      query: '?_sort=title&_limit=100',
      sql: `${select} ORDER BY ${attribute('title')}, last_modified DESC LIMIT 100`,
    },
    {
      name: 'filter and sort, page of 100',
      query: '?done=true&_sort=-count&_limit=100',
      sql: `${select} AND ${attribute('done')} = ${backend === 'sqlite' ? '1' : `'true'::jsonb`} ORDER BY ${attribute('count')} DESC, last_modified DESC LIMIT 100`,
    },
  ];
}

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const { isShort, rounds } = bench.size;
  const count = isShort ? 2000 : 100_000;
  for (const backend of bench.among('sqlite', 'postgresql')) {
    if (backend !== 'sqlite' && backend !== 'postgresql') continue;
    const program = await bench.server(backend, { records: count });
    const { file, database } = program.place;
    const hand =
      file === undefined
        ? await openPostgresql((await bench.places.postgresql()).url(database ?? ''))
        : openSqlite(file);
    const queries = queriesOf(backend);
    const plain = { path: `${path}?_limit=100` };
    for (const { name, query, sql } of queries) {
      const request = { path: path + query };
      const [found, expected] = [
        JSON.parse((await send(program.url, request)).text).data.length,
        await hand.count(sql),
      ];
      if (found !== expected) throw new Error(`${name}: ${found} records, and ${expected} by hand`);
      const warm = performance.now() + (isShort ? 0.1 : warmUpSeconds) * 1000;
      while (performance.now() < warm) {
        await send(program.url, request);
        await send(program.url, plain);
        await hand.count(sql);
      }
      const times = [];
      const ofPlain = [];
      const byHand = [];
      for (let round = 0; round < rounds * 2; round++) {
        times.push(await timeOf(program.url, request));
        ofPlain.push(await timeOf(program.url, plain));
        const began = performance.now();
        await hand.count(sql);
        byHand.push(performance.now() - began);
      }
      yield {
        question: `${title}: ${name}`,
        backend,
        ours: `${formatMs(median(times))} ms`,
        comparedWith: `by hand ${formatMs(median(byHand))} ms`,
        value: median(times) / median(byHand),
        unit: '× the time',
        target: { atMost: 1.3 },
        remark: `a page of 100 without filter and order ${formatMs(median(ofPlain))} ms`,
      };
    }
    await hand.close();
    const visit = {
      url: program.url,
      headers,
      requests: [{ path: `${path}/${recordId(1)}` }],
      expected: [200],
      everyMs: 10,
    };
    const seconds = isShort ? 0.3 : 3;
    const { quiet, busy } = await visitDuring(visit, seconds, async () => {
      const until = performance.now() + seconds * 1000;
      while (performance.now() < until)
        for (const { query } of queries) await send(program.url, { path: path + query });
    });
    yield {
      question: `${title}: longest wait of others for one GET`,
      backend,
      ours: `${formatMs(busy.max)} ms`,
      comparedWith: `quiet ${formatMs(quiet.max)} ms`,
      value: busy.max,
      unit: 'ms',
      target: { atMost: 50 },
      latency: busy,
    };
    await bench.stop(program);
  }
}
