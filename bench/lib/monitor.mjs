// Loaded into a server with `--import`. Periodically writes the delay of the event loop, the time of garbage collection and
// the memory use to the file that BENCH_MONITOR names. With BENCH_WINDOW_MS, the figures cover one window of that many
// milliseconds each, and every sixth window collects the heap (with `--expose-gc`).
import { renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import process from 'node:process';

/**
 * @typedef {object} Health
 * @property {number} delayP50 milliseconds that the event loop was late
 * @property {number} delayP99
 * @property {number} delayP999
 * @property {number} delayMax
 * @property {number} pauses of garbage collection
 * @property {number} pauseMs in all
 * @property {number} longestPauseMs
 * @property {number} heapMiB in use
 * @property {number} residentMiB
 * @property {number} collectedMiB in use when the heap was collected last; 0 before
 * @property {number} resources that keep the process alive: sockets, timers, requests to the system
 */

const windowMs = Number(process.env['BENCH_WINDOW_MS'] ?? '0');
const file = process.env['BENCH_MONITOR'];
if (file !== undefined && process.argv.includes('start')) {
  const resolutionMs = 5;
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  let pauses = 0;
  let pauseMs = 0;
  let longestPauseMs = 0;
  let windows = 0;
  let collectedMiB = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      pauses++;
      pauseMs += duration;
      longestPauseMs = Math.max(longestPauseMs, duration);
    }
  }).observe({ entryTypes: ['gc'] });
  const late = (/** @type {number} */ nanoseconds) => Math.max(0, nanoseconds / 1e6 - resolutionMs);
  setInterval(() => {
    if (windowMs > 0 && windows++ % 6 === 0 && globalThis.gc !== undefined) {
      globalThis.gc();
      collectedMiB = process.memoryUsage().heapUsed / 2 ** 20;
    }
    const { heapUsed, rss } = process.memoryUsage();
    /** @type {Health} */
    const health = {
      delayP50: late(delay.percentile(50)),
      delayP99: late(delay.percentile(99)),
      delayP999: late(delay.percentile(99.9)),
      delayMax: late(delay.max),
      pauses,
      pauseMs,
      longestPauseMs,
      heapMiB: heapUsed / 2 ** 20,
      residentMiB: rss / 2 ** 20,
      collectedMiB,
      resources: process.getActiveResourcesInfo().length,
    };
    if (windowMs > 0) delay.reset();
    // A rename, so that no reader sees a part of the file.
    writeFileSync(`${file}.new`, JSON.stringify(health));
    renameSync(`${file}.new`, file);
  }, windowMs || 500).unref();
}
