// The test of Mann, Whitney and Wilcoxon: whether two samples come from one distribution, whatever that looks like. Times
// have long tails, of which means and deviations say little; this asks only which of two values is the larger one.

export interface Comparison {
  /** How often a value of the first sample is larger than one of the second, ties counted half: 0.5 when alike. */
  readonly effect: number;
  /** How likely so large a difference is, either way, when there is none. */
  readonly pValue: number;
}

/** Compares two samples of some size; the probability is that of the normal distribution, good from about 20 values on. */
export function compareSamples(first: readonly number[], second: readonly number[]): Comparison {
  const all = [
    ...first.map((value) => ({ value, isFirst: true })),
    ...second.map((value) => ({ value, isFirst: false })),
  ];
  all.sort((a, b) => a.value - b.value);
  let [rankSum, ties] = [0, 0];
  for (let start = 0, end = 0; start < all.length; start = end) {
    while (end < all.length && all[end]!.value === all[start]!.value) end++;
    const size = end - start;
    // Ranks count from 1; equal values share the middle of theirs.
    const rank = (start + 1 + end) / 2;
    for (let at = start; at < end; at++) if (all[at]!.isFirst) rankSum += rank;
    ties += size ** 3 - size;
  }
  const [m, n, total] = [first.length, second.length, all.length];
  const wins = rankSum - (m * (m + 1)) / 2;
  const variance = ((m * n) / 12) * (total + 1 - ties / (total * (total - 1)));
  const deviation = variance === 0 ? 0 : Math.abs(wins - (m * n) / 2) / Math.sqrt(variance);
  return { effect: wins / (m * n), pValue: twoSided(deviation) };
}

/** Probability of a normal value at least so many deviations from the mean: Abramowitz and Stegun, 7.1.26. */
function twoSided(deviations: number): number {
  const x = deviations / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const series = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  return series.reduce((sum, factor) => (sum + factor) * t, 0) * Math.exp(-x * x);
}
