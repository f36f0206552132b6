// Limits the total work of a query that reads many objects. Each step of it is short, but the sum could keep a process busy for
// minutes.
import { invalidParameters, ServiceError } from '../errors.ts';
import { issueOf } from './parameters.ts';

/** Work on an object besides its text, in characters. */
export const workOfEntry = 100;

/** Number of conditions that are tested in about the time that parsing takes. */
export const conditionsOfParsing = 5;

/** Work of tests as text queries count it (`SearchBudget`), which takes the time of so many characters of a filter. */
export const charsOfSearchWork = 15;

/** Default of the maximum work, in millions. */
const defaultMillions = 30_000;

const million = 1_000_000;

/** Counts the work of a query, or of several, the same on every run. Backends that cannot count it have a time limit of their own. */
export class QueryBudget {
  readonly #millions: number;
  readonly #when: string;
  #left: number;

  /**
   * @param millions maximum work
   * @param when when it applies, for the error: ` while others wait`
   */
  constructor(millions: number = defaultMillions, when = '') {
    this.#millions = millions;
    this.#when = when;
    this.#left = millions * million;
  }

  /**
   * Notes the test of objects.
   *
   * @param chars their length, and `workOfEntry` for each
   * @param weight number of conditions, as `workWeightOf` counts them
   * @throws ServiceError invalidParameters when the query exceeds its maximum
   */
  spendOn(chars: number, weight: number): void {
    this.spend(chars * (conditionsOfParsing + weight));
  }

  /**
   * Notes work, in characters times conditions.
   *
   * @throws ServiceError invalidParameters when the query exceeds its maximum
   */
  spend(work: number): void {
    this.#left -= work;
    if (this.#left >= 0) return;
    const millions = Number(this.#millions.toPrecision(3));
    throw tooMuchWork(`more than ${millions} million characters would be tested${this.#when} (max_query_work)`);
  }
}

const refusals = new WeakSet<object>();

/** Returns the error for a query that exceeds a limit of work. */
export function tooMuchWork(limit: string): ServiceError {
  const help = 'declare an index for a condition, add one that selects fewer objects, or use fewer conditions';
  const refusal = invalidParameters([issueOf(null, `the query is too much work: ${limit}; ${help}`)]);
  refusals.add(refusal);
  return refusal;
}

/** Returns whether an error is that of a query that exceeds a limit of work. */
export function isTooMuchWork(error: unknown): boolean {
  return error instanceof ServiceError && refusals.has(error);
}
