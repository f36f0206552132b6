// How long background work pauses between two pieces. Nobody says how busy the service is, so that is measured: a pause in
// which others had much to do is followed by a longer one, and where nobody wants anything there is hardly any.
import { performance } from 'node:perf_hooks';

/** How long the event loop has worked and how long it has waited, both in milliseconds since it began. */
export interface LoopTimes {
  readonly active: number;
  readonly idle: number;
}

/** Lets the event loop turn. */
const shortestPauseMs = 1;
/** The work gets on, however busy everybody else is. */
const longestPauseMs = 50;
/** How much the last pause counts among all before it: single ones are short and say little. */
const weightOfLast = 0.2;

export class Pace {
  readonly #readTimes: () => LoopTimes;
  #pausedAt: LoopTimes;
  /** The part of the time, from 0 to 1, that others needed for themselves. Until something is known: all. */
  #othersShare = 1;
  #workMs = 0;

  /** @param readTimes of the event loop */
  constructor(readTimes: () => LoopTimes = () => performance.eventLoopUtilization()) {
    this.#readTimes = readTimes;
    this.#pausedAt = readTimes();
  }

  /**
   * The pause has ended.
   *
   * @param waitedMs how long others were let through since, which is their time, busy or not
   */
  resume(waitedMs: number): void {
    const { active, idle } = this.#readTimes();
    const all = active + idle - this.#pausedAt.active - this.#pausedAt.idle;
    if (all <= 0) return;
    const theirs = Math.min(all, active - this.#pausedAt.active + waitedMs);
    this.#othersShare += (theirs / all - this.#othersShare) * weightOfLast;
  }

  /**
   * A piece is done.
   *
   * @param workMs for how long it kept everybody else waiting
   */
  pause(workMs: number): void {
    this.#workMs = workMs;
    this.#pausedAt = this.#readTimes();
  }

  /** How long the pause should be: in it others can do in peace what they need, going by what they needed lately. */
  get pauseMs(): number {
    const quiet = 1 - this.#othersShare;
    const fair = quiet <= 0 ? longestPauseMs : (this.#workMs * this.#othersShare) / quiet;
    return Math.max(shortestPauseMs, Math.min(Math.round(fair), longestPauseMs));
  }
}
