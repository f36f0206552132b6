// Progress of long commands: one line that is redrawn on a terminal, occasional lines elsewhere.
import process from 'node:process';

export interface ProgressOutput {
  readonly isTTY: boolean;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

const redrawMs = 100;
const plainLineMs = 10_000;
const barWidth = 24;

export class Progress {
  readonly #output: ProgressOutput;
  readonly #now: () => number;
  #label = '';
  #done = 0;
  #total: number | undefined;
  #startedAt = 0;
  #shownAt = 0;
  #isDrawn = false;

  /** @param now milliseconds of a clock that never steps back */
  constructor(output: ProgressOutput, now: () => number) {
    this.#output = output;
    this.#now = now;
  }

  /** Updates the progress. A new label starts a new part of the work with its own rate. */
  update(label: string, done: number, total: number | undefined): void {
    const now = this.#now();
    if (label !== this.#label) {
      this.finish();
      this.#label = label;
      this.#startedAt = now;
      this.#shownAt = now;
    }
    this.#done = done;
    this.#total = total;
    if (now - this.#shownAt < (this.#output.isTTY ? redrawMs : plainLineMs)) return;
    this.#shownAt = now;
    this.#show();
  }

  /** Ends the current part of the work with a summary line. */
  finish(): void {
    if (this.#label === '') return;
    const seconds = (this.#now() - this.#startedAt) / 1000;
    const summary = `${this.#label}: ${formatCount(this.#done)} in ${formatSeconds(seconds)}`;
    this.#output.write(this.#isDrawn ? `\r\x1b[K${summary}\n` : `${summary}\n`);
    this.#isDrawn = false;
    this.#label = '';
  }

  #show(): void {
    const line = this.#describe();
    if (!this.#output.isTTY) {
      this.#output.write(`${line}\n`);
      return;
    }
    const width = (this.#output.columns ?? 80) - 1;
    this.#output.write(`\r\x1b[K${line.slice(0, width)}`);
    this.#isDrawn = true;
  }

  #describe(): string {
    const seconds = (this.#now() - this.#startedAt) / 1000;
    const rate = seconds > 0 ? this.#done / seconds : 0;
    const parts = [this.#label];
    const total = this.#total;
    if (total !== undefined && total > 0) {
      const share = Math.min(1, this.#done / total);
      parts.push(formatBar(share));
      parts.push(`${formatCount(this.#done)} of ${formatCount(total)},`);
    } else parts.push(`${formatCount(this.#done)},`);
    parts.push(`${formatCount(Math.round(rate))}/s`);
    if (total !== undefined && rate > 0 && total > this.#done) {
      parts.push(`- about ${formatSeconds((total - this.#done) / rate)} left`);
    }
    return parts.join(' ');
  }
}

/** Runs work with a progress display on standard error, which ends before the result is used; none if quiet. */
export async function withProgress<T>(
  isQuiet: boolean | undefined,
  work: (update: Progress['update'] | undefined) => Promise<T>,
): Promise<T> {
  if (isQuiet === true) return work(undefined);
  const progress = new Progress(process.stderr, () => performance.now());
  try {
    return await work(progress.update.bind(progress));
  } finally {
    progress.finish();
  }
}

/** Returns a bar and a percentage. */
export function formatBar(share: number): string {
  const filled = Math.round(share * barWidth);
  return `[${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}] ${Math.floor(share * 100)} %`;
}

/** Returns a number with separators of thousands. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** Returns a duration for people. */
export function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
