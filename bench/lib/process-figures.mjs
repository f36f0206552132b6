// Processor time and memory of a process, from the operating system. Zero without `/proc`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100;

/** Returns the processor time of a process and its children, in seconds. @param {number | undefined} pid @returns {number} */
export function cpuSeconds(pid) {
  return pid === undefined ? 0 : family(pid).reduce((sum, each) => sum + cpuOf(each), 0);
}

/** @param {number} pid */
function cpuOf(pid) {
  const fields = statOf(pid);
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksPerSecond;
}

/**
 * Returns how long the main thread of a process was runnable without a processor, because of other programs.
 *
 * @param {number} pid
 * @returns {number} milliseconds
 */
export function starvedMs(pid) {
  return Number(readIfThere(`/proc/${pid}/schedstat`).split(' ')[1] ?? 0) / 1e6;
}

/** Returns the resident memory of a process and its children, in MiB. @param {number} pid @returns {number} */
export function residentMiB(pid) {
  const kilobytes = family(pid).map((each) => {
    return Number(/VmRSS:\s+(\d+)/.exec(readIfThere(`/proc/${each}/status`))?.[1] ?? 0);
  });
  return kilobytes.reduce((a, b) => a + b, 0) / 1024;
}

/** @param {number} pid @returns {number[]} */
function family(pid) {
  return [
    pid,
    ...readIfThere(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number).flatMap(family),
  ];
}

/** Returns the fields after the name in parentheses, which may contain any characters. @param {number} pid @returns {string[]} */
function statOf(pid) {
  const text = readIfThere(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Returns the text of a file; empty when it is missing, as for children that have ended meanwhile. @param {string} file */
function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Whether the system provides the figures. */
export const hasProcessFigures = existsSync('/proc') && readdirSync('/proc').includes('self');
