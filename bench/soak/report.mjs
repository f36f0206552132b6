// The verdicts on all series of a soak, and their table.
import { median } from '../lib/contest.mjs';
import { series } from './samples.mjs';
import { judge } from './steadiness.mjs';

/** @typedef {import('./steadiness.mjs').Verdict & { name: string, isJudged: boolean }} NamedVerdict */

/** Percentage of time without a processor from which slow responses are not judged. */
const maxStarved = 5;

/**
 * Returns one verdict for each series of the samples. Times are not judged where other programs occupied the processors.
 *
 * @param {readonly import('./samples.mjs').Sample[]} samples
 * @returns {NamedVerdict[]}
 */
export function verdictsOf(samples) {
  const isBusy = samples.length > 0 && median(samples.map(({ starved = 0 }) => starved)) > maxStarved;
  return Object.entries(series).flatMap(([key, { name, allowance, isTime = false }]) => {
    const points = samples.map((sample) => ({ seconds: sample.seconds, value: sample[key] ?? Number.NaN }));
    if (points.some(({ value }) => Number.isNaN(value))) return [];
    return [{ name, isJudged: !(isTime && isBusy), ...judge(points, allowance) }];
  });
}

/**
 * @param {readonly NamedVerdict[]} verdicts
 * @returns {string[]} lines in Markdown
 */
export function formatVerdicts(verdicts) {
  const columns = ['series', 'first quarter', 'second', 'third', 'last', 'slope per hour', 'may rise by', 'flat'];
  const rows = verdicts.map(({ name, quarters, perHour, allowed, isFlat, isJudged }) => [
    name,
    ...quarters.map(formatValue),
    `${perHour < 0 ? '' : '+'}${formatValue(perHour)}`,
    formatValue(allowed),
    isFlat ? 'yes' : isJudged ? '**no**' : 'no, as the machine was busy',
  ]);
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

/** @param {number} value */
function formatValue(value) {
  return Math.abs(value) >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}
