// Measures how long other clients wait while the server is under load.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { formatMs } from './rows.mjs';

const probe = fileURLToPath(new URL('probe.mjs', import.meta.url));

/**
 * Returns the part of a row with the waiting times of other clients.
 *
 * @param {import('./probe.mjs').Impression} quiet
 * @param {import('./probe.mjs').Impression} busy
 * @returns {Pick<import('./rows.mjs').Row, 'ours' | 'comparedWith' | 'value' | 'unit' | 'target' | 'latency'>}
 */
export function compareWithQuiet(quiet, busy) {
  const methods = Object.entries(busy.p99Of).map(([method, ms]) => `${method} ${formatMs(ms)}`);
  return {
    ours: `${formatMs(busy.p99)} ms (${methods.join(', ')}), longest ${formatMs(busy.max)} ms`,
    comparedWith: `quiet ${formatMs(quiet.p99)} ms, longest ${formatMs(quiet.max)} ms`,
    value: busy.p99,
    unit: 'ms',
    target: { atMost: 100 },
    latency: busy,
  };
}

/**
 * Sends a request every few milliseconds, first without load and then while the task runs.
 *
 * @template T
 * @param {import('./probe.mjs').Visit} visit
 * @param {number} quietSeconds how long it visits before the task
 * @param {() => Promise<T>} task
 * @returns {Promise<{ quiet: import('./probe.mjs').Impression, busy: import('./probe.mjs').Impression, result: T }>}
 * @throws Error when a visit failed
 */
export async function visitDuring(visit, quietSeconds, task) {
  const child = fork(probe);
  try {
    // Connections are opened, and code is compiled, before anything counts.
    await impression(child, visit, () => wait(quietSeconds * 500));
    const [quiet] = await impression(child, visit, () => wait(quietSeconds * 1000));
    const [busy, result] = await impression(child, visit, task);
    return { quiet, busy, result };
  } finally {
    child.kill();
  }
}

/**
 * @template T
 * @param {import('node:child_process').ChildProcess} child
 * @param {import('./probe.mjs').Visit} visit
 * @param {() => Promise<T>} task
 * @returns {Promise<[import('./probe.mjs').Impression, T]>}
 */
async function impression(child, visit, task) {
  child.send(visit);
  const result = await task();
  const answered = once(child, 'message');
  child.send('stop');
  /** @type {import('./probe.mjs').Impression} */
  const seen = (await answered).at(0);
  if (seen.failure !== undefined) throw new Error(`a visit failed: ${seen.failure}`);
  return [seen, result];
}
