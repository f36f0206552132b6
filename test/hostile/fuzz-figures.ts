// What a run of the fuzzer tells in the end: how many requests, which answers, the slowest, and how much memory it needed.
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const mebibyte = 2 ** 20;

/** Milliseconds that this process could have worked and had no processor, so far; 0 where the system does not tell. */
export function starvedMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ')[1]) / 1e6;
  } catch {
    // Not Linux: all time counts.
    return 0;
  }
}

export class FuzzFigures {
  sent = 0;
  slowestMs = 0;
  slowest = '';
  /** Requests that took longer than a second once, and not when they were repeated. */
  late = 0;
  readonly #statuses = new Map<number, number>();
  readonly #collect: () => void;
  #heapMiB: number[] = [];
  #residentMiB: number[] = [];

  constructor() {
    setFlagsFromString('--expose-gc');
    this.#collect = runInNewContext('gc') as () => void;
  }

  count(status: number, milliseconds: number, label: string): void {
    this.sent++;
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    if (milliseconds <= this.slowestMs) return;
    this.slowestMs = milliseconds;
    this.slowest = label.slice(0, 200);
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
      `${this.late} late once`,
      `slowest ${this.slowestMs.toFixed(0)} ms: ${this.slowest}`,
    ].join('; ');
  }
}
