// How long does a start take, and how much memory does the server need, idle and with 1,000,000 records?
import { setTimeout as wait } from 'node:timers/promises';
import { contest, median } from './lib/contest.mjs';
import { headers } from './lib/client.mjs';
import { mixedRequests } from './lib/mix.mjs';
import { residentMiB } from './lib/process-figures.mjs';
import { planOf, sizesOf } from './growth.mjs';
import { formatCount } from './lib/rows.mjs';

export const title = 'start and memory';

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const { isShort, rounds } = bench.size;
  const { large } = sizesOf(bench);
  for (const backend of bench.among('memory', 'sqlite', 'postgresql')) {
    const starts = [];
    const idle = [];
    for (let round = 0; round < rounds; round++) {
      const program = await bench.server(backend, { records: 0 });
      starts.push(program.startMs / 1000);
      await wait(isShort ? 0 : 1000);
      idle.push(residentMiB(program.pid));
      await bench.stop(program);
    }
    yield {
      question: `${title}: start to first answer`,
      backend,
      ours: `${median(starts).toFixed(2)} s`,
      value: median(starts),
      unit: 's',
      target: { atMost: 0.5 },
      remark: `shortest ${Math.min(...starts).toFixed(2)} s`,
    };
    yield {
      question: `${title}: idle`,
      backend,
      ours: `${median(idle).toFixed(0)} MiB`,
      value: median(idle),
      unit: 'MiB',
      target: { atMost: 100 },
    };
    const program = await bench.server(backend, planOf(large));
    const ready = residentMiB(program.pid);
    let most = ready;
    const timer = setInterval(() => (most = Math.max(most, residentMiB(program.pid))), 100);
    const load = { name: 'mixed', program, headers, requests: mixedRequests(large), expected: [200, 201, 304] };
    let mixed;
    try {
      mixed = (await contest(bench, [load], { rounds: isShort ? 1 : 3, seconds: 3 })).get('mixed');
    } finally {
      clearInterval(timer);
    }
    await bench.stop(program);
    yield {
      question: `${title}: serving ${formatCount(large)} records`,
      backend,
      ours: `${most.toFixed(0)} MiB`,
      comparedWith: `before ${ready.toFixed(0)} MiB`,
      value: most,
      unit: 'MiB',
      ...(backend === 'sqlite' ? { target: { atMost: 250 } } : {}),
      ...(mixed === undefined ? {} : { latency: mixed }),
      remark: 'most resident memory under mixed load',
    };
  }
}
