// Durations of requests in buckets whose bounds grow by a constant factor, so that a percentile is within 10 % of the exact
// value at any scale, and histograms of several steps and processes can be added.

const growth = 1.2;
const perGrowth = 1 / Math.log(growth);
const shortestMs = 0.05;
const longestMs = 600_000;
const bucketCount = Math.ceil(Math.log(longestMs / shortestMs) * perGrowth) + 1;

export interface DurationCounts {
  /** Pairs of a bucket and its count. */
  readonly buckets: readonly (readonly [bucket: number, count: number])[];
  readonly maxMs: number;
}

export class DurationHistogram {
  readonly #counts = new Uint32Array(bucketCount);
  #total = 0;
  #maxMs = 0;

  /** @param bucket of the duration, if it is known */
  add(milliseconds: number, bucket: number = bucketOf(milliseconds)): void {
    this.#counts[bucket]!++;
    this.#total++;
    if (milliseconds > this.#maxMs) this.#maxMs = milliseconds;
  }

  /** Adds the counts of another histogram. */
  merge({ buckets, maxMs }: DurationCounts): void {
    for (const [bucket, count] of buckets) {
      this.#counts[bucket]! += count;
      this.#total += count;
    }
    this.#maxMs = Math.max(this.#maxMs, maxMs);
  }

  /** Returns the duration that this part of the durations does not exceed; `null` without durations. */
  percentile(part: number): number | null {
    let left = Math.ceil(this.#total * part);
    if (left === 0) return null;
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return round(Math.min(middleOf(bucket), this.#maxMs));
    }
    return round(this.#maxMs);
  }

  /** The longest duration; `null` without durations. */
  get maxMs(): number | null {
    return this.#total === 0 ? null : round(this.#maxMs);
  }

  get counts(): DurationCounts {
    const all = Array.from(this.#counts.entries());
    return { buckets: all.filter(([, count]) => count > 0), maxMs: this.#maxMs };
  }
}

/** Returns the bucket of a duration. */
export function bucketOf(milliseconds: number): number {
  if (milliseconds <= shortestMs) return 0;
  return Math.min(Math.ceil(Math.log(milliseconds / shortestMs) * perGrowth), bucketCount - 1);
}

/** Returns the geometric middle of a bucket, which is at most a tenth away from each of its values. */
function middleOf(bucket: number): number {
  return shortestMs * growth ** (bucket - 0.5);
}

/** Rounds milliseconds to microseconds. */
export function round(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
