// Decides whether a series of samples is constant, which is the criterion of a soak. Caches and pools fill in the first
// quarter. The last quarter must equal the second.
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

/** Minimum number of samples for four quarters with meaningful medians. */
export const minPoints = 12;

/**
 * @param {readonly Point[]} points in the order of time
 * @param {Allowance} allowance
 * @returns {Verdict}
 * @throws Error when there are too few points
 */
export function judge(points, { amount, share }) {
  if (points.length < minPoints) throw new Error(`${points.length} samples are too few to judge`);
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
 * Returns the Theil–Sen slope: the median of the slopes between all pairs, which a few outliers do not affect.
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
