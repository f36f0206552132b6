// A service and its backends are often started together, by something that does not know how long each of them takes. So
// the start waits for backends that cannot be reached yet, for a while, and says so.
import { setTimeout as wait } from 'node:timers/promises';
import { BackendUnavailable } from '../contracts/errors.ts';
import type { Logger } from '../contracts/logger.ts';

export interface Patience {
  /** How long to wait; 0: not at all. */
  readonly seconds: number;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

const pauseMs = 500;
/** How often it is said what is waited for, unless something else is wrong than before. */
const reminderMs = 10_000;

/**
 * Runs the task until no backend is out of reach. What does not pass by itself, such as a wrong password, ends the
 * waiting at once.
 *
 * @throws what the task threw last
 */
export async function untilReachable<T>(task: () => Promise<T>, patience: Patience, logger: Logger): Promise<T> {
  const { seconds, signal } = patience;
  const began = performance.now();
  let said = '';
  let saidAt = 0;
  for (;;) {
    try {
      return await task();
    } catch (error) {
      const elapsedMs = performance.now() - began;
      const passes = error instanceof BackendUnavailable && !error.isLasting;
      if (!passes || signal.aborted || elapsedMs >= seconds * 1000) throw error;
      if (error.message !== said || elapsedMs - saidAt >= reminderMs) {
        const detail = error.cause instanceof Error ? error.cause.message : '';
        logger.warn({ backend: error.backend, reason: error.message, detail, seconds }, 'Waiting for a backend');
        said = error.message;
        saidAt = elapsedMs;
      }
    }
    // An end of the waiting leads to the last attempt.
    await wait(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}
