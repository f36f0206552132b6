// The verdicts on all series of a soak, and the table that they are printed as.
import { series } from './samples.mjs';
import { judge } from './steadiness.mjs';

/** @typedef {import('./steadiness.mjs').Verdict & { name: string }} NamedVerdict */

/**
 * One for each series that the samples have.
 *
 * @param {readonly import('./samples.mjs').Sample[]} samples
 * @returns {NamedVerdict[]}
 */
export function verdictsOf(samples) {
  return Object.entries(series).flatMap(([key, { name, allowance }]) => {
    const points = samples.map((sample) => ({ seconds: sample.seconds, value: sample[key] ?? Number.NaN }));
    return points.some(({ value }) => Number.isNaN(value)) ? [] : [{ name, ...judge(points, allowance) }];
  });
}

/**
 * @param {readonly NamedVerdict[]} verdicts
 * @returns {string[]} lines in Markdown
 */
export function formatVerdicts(verdicts) {
  const columns = ['series', 'first quarter', 'second', 'third', 'last', 'slope per hour', 'may rise by', 'flat'];
  const rows = verdicts.map(({ name, quarters, perHour, allowed, isFlat }) => [
    name,
    ...quarters.map(formatValue),
    `${perHour < 0 ? '' : '+'}${formatValue(perHour)}`,
    formatValue(allowed),
    isFlat ? 'yes' : '**no**',
  ]);
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

/** @param {number} value */
function formatValue(value) {
  return Math.abs(value) >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}
