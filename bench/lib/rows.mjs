// Rows of the table of results, and their format.

/**
 * @typedef {object} Target
 * @property {number} [atLeast]
 * @property {number} [atMost]
 *
 * @typedef {object} Row
 * @property {string} question
 * @property {string} backend
 * @property {string} ours what was measured, with unit
 * @property {string} [comparedWith] what it is compared with
 * @property {number} [value] what the target is about
 * @property {string} [unit] of the value; a ratio unless given
 * @property {Target} [target]
 * @property {{ p50: number, p99: number, p999: number }} [latency] milliseconds
 * @property {string} [cpu] processor time for each request
 * @property {string} [remark]
 */

const columns = [
  'question',
  'backend',
  'measured',
  'compared with',
  'result',
  'target',
  'met',
  'p50 / p99 / p99.9 ms',
  'CPU µs',
  'remarks',
];

/** The first lines of the table. */
export const heading = [line(columns), line(columns.map(() => '---'))].join('\n');

/** @param {Row} row @returns {string} */
export function formatRow({
  question,
  backend,
  ours,
  comparedWith = '',
  value,
  unit,
  target,
  latency,
  cpu = '',
  remark = '',
}) {
  const result = value === undefined ? '' : `**${formatValue(value)}**${unit === undefined ? '' : ` ${unit}`}`;
  const times = latency === undefined ? '' : [latency.p50, latency.p99, latency.p999].map(formatMs).join(' / ');
  return line([
    question,
    backend,
    ours,
    comparedWith,
    result,
    formatTarget(target, unit),
    verdict(value, target),
    times,
    cpu,
    remark,
  ]);
}

/** @param {readonly string[]} cells */
function line(cells) {
  return `| ${cells.join(' | ')} |`;
}

/** @param {Target | undefined} target @param {string} [unit] */
function formatTarget(target, unit = '') {
  if (target === undefined) return '';
  const { atLeast, atMost } = target;
  return `${atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`} ${unit}`.trim();
}

/** @param {number | undefined} value @param {Target | undefined} target */
function verdict(value, target) {
  const met = isMet(value, target);
  return met === undefined ? '' : met ? 'yes' : '**no**';
}

/** @param {number | undefined} value @param {Target | undefined} target @returns {boolean | undefined} */
export function isMet(value, target) {
  if (value === undefined || target === undefined) return undefined;
  return value >= (target.atLeast ?? -Infinity) && value <= (target.atMost ?? Infinity);
}

/** @param {number} value */
function formatValue(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** @param {number} milliseconds */
export function formatMs(milliseconds) {
  return milliseconds >= 100 ? milliseconds.toFixed(0) : milliseconds.toFixed(1);
}

/** Formats a count with separated thousands. @param {number} value */
export function formatCount(value) {
  return Math.round(value).toLocaleString('en-US');
}

/** @param {number} perSecond */
export const formatRate = (perSecond) => `${formatCount(perSecond)}/s`;

/**
 * Formats the processor time for each request, and that of the database.
 *
 * @param {{ cpuMicros: number, databaseMicros: number }} figures
 * @param {string} [comparedWith] what it is compared with
 */
export function formatCpu({ cpuMicros, databaseMicros }, comparedWith) {
  const database = databaseMicros > 0 ? ` + ${databaseMicros.toFixed(0)}` : '';
  return `${cpuMicros.toFixed(0)}${database}${comparedWith === undefined ? '' : ` (${comparedWith})`}`;
}
