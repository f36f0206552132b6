// Waits at the start for backends that cannot be reached yet, because a service and its backends are often started together.
// Logs the cause.
import { setTimeout as wait } from 'node:timers/promises';
import { BackendUnavailable } from '../contracts/errors.ts';
import type { Logger } from '../contracts/logger.ts';

export interface Patience {
  /** Maximum time to wait; 0 means none. */
  readonly seconds: number;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

const pauseMs = 500;
/** Interval of log lines about the same failure. */
const reminderMs = 10_000;

/**
 * Runs the task until all backends can be reached. A failure that lasts, such as a wrong password, ends the waiting at once.
 *
 * @throws the last error of the task
 */
export async function untilReachable<T>(task: () => Promise<T>, patience: Patience, logger: Logger): Promise<T> {
  const { seconds, signal } = patience;
  const began = performance.now();
  let logged = '';
  let loggedAt = 0;
  for (;;) {
    try {
      return await task();
    } catch (error) {
      const elapsedMs = performance.now() - began;
      const passes = error instanceof BackendUnavailable && !error.isLasting;
      if (!passes || signal.aborted || elapsedMs >= seconds * 1000) throw error;
      if (error.message !== logged || elapsedMs - loggedAt >= reminderMs) {
        const detail = error.cause instanceof Error ? error.cause.message : '';
        logger.warn({ backend: error.backend, reason: error.message, detail, seconds }, 'Waiting for a backend');
        logged = error.message;
        loggedAt = elapsedMs;
      }
    }
    // After the signal, one last attempt follows.
    await wait(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}
