// Whether a series of samples stays where it is: what a soak is judged by. The first quarter is for caches to fill and pools
// to open; then the last quarter has to be where the second one was.
import { median } from '../lib/contest.mjs';

/**
 * @typedef {object} Point
 * @property {number} seconds since the beginning
 * @property {number} value
 *
 * @typedef {object} Allowance how much higher the last quarter may be; the larger of both counts
 * @property {number} amount in the unit of the series
 * @property {number} share of the second quarter
 *
 * @typedef {object} Verdict
 * @property {[number, number, number, number]} quarters medians
 * @property {number} perHour the robust slope after the first quarter, in units of the series
 * @property {number} allowed rise from the second quarter to the last
 * @property {boolean} isFlat
 */

/** So many samples make four quarters whose medians mean something. */
export const fewestPoints = 12;

/**
 * @param {readonly Point[]} points in the order of time
 * @param {Allowance} allowance
 * @returns {Verdict}
 * @throws Error when there are too few points
 */
export function judge(points, { amount, share }) {
  if (points.length < fewestPoints) throw new Error(`${points.length} samples are too few to judge`);
  const quarter = (/** @type {number} */ n) =>
    median(
      points
        .slice(Math.round((n * points.length) / 4), Math.round(((n + 1) * points.length) / 4))
        .map(({ value }) => value),
    );
  const second = quarter(1);
  const last = quarter(3);
  const allowed = Math.max(amount, second * share);
  return {
    quarters: [quarter(0), second, quarter(2), last],
    perHour: slope(points.slice(Math.round(points.length / 4))) * 3600,
    allowed,
    isFlat: last - second <= allowed,
  };
}

/**
 * The slope of Theil and Sen: the median of the slopes between all pairs, which a few wild samples do not move.
 *
 * @param {readonly Point[]} points
 * @returns {number} units a second
 */
export function slope(points) {
  const slopes = points.flatMap((from, n) =>
    points.slice(n + 1).map((to) => (to.value - from.value) / (to.seconds - from.seconds)),
  );
  return median(slopes);
}
