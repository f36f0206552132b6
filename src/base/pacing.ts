// Computes the pauses of background work from the load of the service, measured as the use of the event loop. A pause in
// which requests had much work is followed by a longer one. Without requests the pauses are minimal.
import { performance } from 'node:perf_hooks';

/** Milliseconds that the event loop has worked and waited since it began. */
export interface LoopTimes {
  readonly active: number;
  readonly idle: number;
}

/** Lets the event loop turn. */
const shortestPauseMs = 1;
/** The work continues, even under full load. */
const longestPauseMs = 50;
/** Weight of the last pause among all before it. Single pauses are short and say little. */
const weightOfLast = 0.2;

export class Pace {
  readonly #readTimes: () => LoopTimes;
  #pausedAt: LoopTimes;
  /** Share of the time, from 0 to 1, that requests have used. It starts at 1, when nothing is known. */
  #othersShare = 1;
  #workMs = 0;

  /** @param readTimes reads the times of the event loop */
  constructor(readTimes: () => LoopTimes = () => performance.eventLoopUtilization()) {
    this.#readTimes = readTimes;
    this.#pausedAt = readTimes();
  }

  /**
   * Measures the pause that ends.
   *
   * @param waitedMs time since then in which other work went first; it counts as load
   */
  resume(waitedMs: number): void {
    const { active, idle } = this.#readTimes();
    const all = active + idle - this.#pausedAt.active - this.#pausedAt.idle;
    if (all <= 0) return;
    const theirs = Math.min(all, active - this.#pausedAt.active + waitedMs);
    this.#othersShare += (theirs / all - this.#othersShare) * weightOfLast;
  }

  /**
   * Starts a pause after a chunk.
   *
   * @param workMs time for which the chunk kept other work waiting
   */
  pause(workMs: number): void {
    this.#workMs = workMs;
    this.#pausedAt = this.#readTimes();
  }

  /** Returns the pause in milliseconds, proportional to the recent load of other work. */
  get pauseMs(): number {
    const quiet = 1 - this.#othersShare;
    const fair = quiet <= 0 ? longestPauseMs : (this.#workMs * this.#othersShare) / quiet;
    return Math.max(shortestPauseMs, Math.min(Math.round(fair), longestPauseMs));
  }
}
