// What a run of the fuzzer tells in the end: how many requests, which answers, the most expensive, and how much memory it
// needed.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const mebibyte = 2 ** 20;

/** Processor time that this process has used, in milliseconds. Unlike time on a clock, it does not grow while others run. */
export function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** No request needs more work than this multiple of the median. */
const maxMultiple = 1000;
/** Work that is never too much, and number of requests before which the median means little. */
const smallMs = 20;
const minSample = 100;
const maxSample = 1000;

export class FuzzFigures {
  sent = 0;
  /** Requests that needed too much work once, and not when they were repeated. */
  costlyOnce = 0;
  #mostMs = 0;
  #mostExpensive = '';
  /** Work of the last requests that were sent alone, in milliseconds of processor time. */
  readonly #work: number[] = [];
  readonly #statuses = new Map<number, number>();
  readonly #collect: () => void;
  #heapMiB: number[] = [];
  #residentMiB: number[] = [];

  constructor() {
    setFlagsFromString('--expose-gc');
    this.#collect = runInNewContext('gc') as () => void;
  }

  count(status: number): void {
    this.sent++;
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
  }

  /** Remembers the work for a request that was sent alone. Returns whether it was too much, compared with others. */
  isCostly(milliseconds: number, label: string): boolean {
    if (milliseconds > this.#mostMs) {
      this.#mostMs = milliseconds;
      this.#mostExpensive = label.slice(0, 200);
    }
    if (this.#work.push(milliseconds) > maxSample) this.#work.shift();
    return milliseconds > smallMs && this.#work.length > minSample && milliseconds > maxMultiple * this.#medianMs();
  }

  #medianMs(): number {
    const sorted = this.#work.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  }

  /** The kinds of answers of which there was at least one below the status. */
  kindsBelow(status: number): number {
    return [...this.#statuses.keys()].filter((each) => each < status).length;
  }

  /** Remembers how much memory the process needs after a collection. */
  weigh(): void {
    this.#collect();
    const { heapUsed, rss } = process.memoryUsage();
    this.#heapMiB.push(heapUsed / mebibyte);
    this.#residentMiB.push(rss / mebibyte);
  }

  /** By how much the heap is larger in the last quarter of the run than in the second, in MiB. */
  growthMiB(): number {
    const quarter = this.#heapMiB.length / 4;
    const least = (from: number, to: number): number =>
      Math.min(...this.#heapMiB.slice(Math.floor(from), Math.ceil(to)));
    return least(3 * quarter, 4 * quarter) - least(quarter, 2 * quarter);
  }

  toString(): string {
    const statuses = [...this.#statuses]
      .toSorted((a, b) => a[0] - b[0])
      .map(([status, count]) => `${status}: ${count}`);
    const change = (values: readonly number[]): string => `${values[0]?.toFixed(0)} → ${values.at(-1)?.toFixed(0)} MiB`;
    return [
      `${this.sent} requests (${statuses.join(', ')})`,
      `heap ${change(this.#heapMiB)}, resident ${change(this.#residentMiB)}`,
      `${this.costlyOnce} costly once`,
      `median ${this.#medianMs().toFixed(2)} ms of work, most ${this.#mostMs.toFixed(0)} ms: ${this.#mostExpensive}`,
    ].join('; ');
  }
}
