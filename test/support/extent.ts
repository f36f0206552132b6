// How much a run of the tests does. `npm test` is the short run; `npm run test:all` is the complete one, and so is vitest when
// it is started by hand. The contract suites and the HTTP tables run on every backend in both. Tests that start real servers,
// and those of clients, run on SQLite, the default, in the short run, and on PostgreSQL where several processes matter. The
// complete run takes every backend, full sizes, and the files that `scripts/check.mjs` leaves out of the short one.
import process from 'node:process';

const isComplete = process.env['COFFER_TESTS'] !== 'short';

/** Returns the value for this run. */
export function inExtent(short: number, complete: number): number;
export function inExtent<T>(short: NoInfer<T>, complete: T): T;
export function inExtent<T>(short: T, complete: T): T {
  return isComplete ? complete : short;
}

/**
 * Returns the size of a test: the number in the variable of the environment, or else that for this run.
 *
 * @param variable such as `COFFER_FUZZ_SECONDS`
 */
export function sized(variable: string, short: number, complete: number): number {
  const given = process.env[variable];
  return given === undefined || given === '' ? inExtent(short, complete) : Number(given);
}
