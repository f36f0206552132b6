// How does the server behave under mixed load for some minutes? Delay of the event loop, pauses of garbage collection, memory
// before and after.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { headers } from './lib/client.mjs';
import { mixedRequests } from './lib/mix.mjs';
import { formatCpu, formatMs, formatRate } from './lib/rows.mjs';

export const title = 'mixed load';

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const { isShort, soakMinutes } = bench.size;
  const size = isShort ? 500 : 20_000;
  const seconds = Math.max(1, Math.round(soakMinutes * 60));
  const monitor = new URL('lib/monitor.mjs', import.meta.url).href;
  for (const backend of bench.among('memory', 'sqlite', 'postgresql')) {
    const file = path.join(bench.folder('monitor'), 'health.json');
    const program = await bench.server(
      backend,
      { records: size, lists: 1 },
      {
        nodeArgs: ['--import', monitor],
        environment: { BENCH_MONITOR: file },
      },
    );
    const load = { requests: mixedRequests(size), headers, expected: [200, 201, 304] };
    // The memory that serving requires does not count as growth.
    await bench.load(program, { ...load, seconds: Math.max(1, Math.round(seconds / 6)) });
    const before = await healthIn(file);
    const result = await bench.load(program, { ...load, seconds });
    const after = await healthIn(file);
    await bench.stop(program);
    const collecting = (after.pauseMs - before.pauseMs) / 10 / result.seconds;
    yield {
      question: `${title}, ${seconds} s`,
      backend,
      ours: formatRate(result.answers / result.seconds),
      comparedWith: `event loop late by ${[after.delayP50, after.delayP99, after.delayP999, after.delayMax].map(formatMs).join(' / ')} ms (p50 / p99 / p99.9 / most)`,
      latency: result,
      cpu: formatCpu(result),
      remark:
        `${after.pauses - before.pauses} pauses of garbage collection, the longest ${formatMs(after.longestPauseMs)} ms, ${collecting.toFixed(1)} % of the time; ` +
        `resident ${before.residentMiB.toFixed(0)} → ${after.residentMiB.toFixed(0)} MiB, heap ${before.heapMiB.toFixed(0)} → ${after.heapMiB.toFixed(0)} MiB`,
    };
  }
}

/** The newest figures. @param {string} file @returns {Promise<import('./lib/monitor.mjs').Health>} */
async function healthIn(file) {
  await wait(700);
  return JSON.parse(readFileSync(file, 'utf8'));
}
