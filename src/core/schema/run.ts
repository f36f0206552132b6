// State of one validation: the remaining work, the active schemas, and the evaluated members of the value (for
// `unevaluatedProperties` and `unevaluatedItems`).
import type { JsonValue } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';

/** Why a value is invalid. */
export interface Failure {
  /** Last key or index of the path to the invalid value; `undefined` for the root. */
  readonly at?: string | number;
  /** The missing property, for `required`. */
  readonly missing?: string;
  readonly keyword: string;
  readonly reason: string;
}

/** Result of a check: the first failure, or `undefined`. */
export type Verdict = Failure | undefined;

/**
 * Applies a schema. A check that takes a short, bounded time returns its verdict; any other one returns steps.
 *
 * @param seen collects the evaluated members for an outer schema; failed checks may leave it incomplete
 */
export type Check = (value: JsonValue, run: Run, seen?: Seen) => Verdict | Steps<Verdict>;

/** Whether the check continues in steps. */
export function isPending(result: Verdict | Steps<Verdict>): result is Steps<Verdict> {
  return result !== undefined && 'next' in result;
}

/** The schema cannot be used, for example because of an unresolved or circular reference or an unsupported pattern. */
export class UnusableSchema extends Error {}

/** The validation exceeds the limit of work. */
export class TooMuchWork extends Error {}

/** Evaluated members of an array or object. */
export class Seen {
  all = false;
  /** Items before this index are evaluated. */
  itemsBefore = 0;
  readonly keys = new Set<string | number>();

  has(key: string | number): boolean {
    return this.all || (typeof key === 'number' && key < this.itemsBefore) || this.keys.has(key);
  }

  merge(other: Seen): void {
    this.all ||= other.all;
    this.itemsBefore = Math.max(this.itemsBefore, other.itemsBefore);
    for (const key of other.keys) this.keys.add(key);
  }
}

/** Maximum number of steps of a validation; a step applies one keyword to one value, or visits one member. */
const maxSteps = 10_000_000;

/** Steps between pauses of a validation: about a millisecond. */
const stepsPerPause = 10_000;

/**
 * Maximum nesting of active schemas. A value may have 500 levels, each of which takes two in a recursive schema; far more
 * would overflow the stack.
 */
const maxSchemaDepth = 1200;

export class Run {
  /** Entered resources, outermost first; only for schemas with dynamic references. */
  readonly scope: object[] = [];
  #stepsLeft = maxSteps;
  #pauseAt = maxSteps - stepsPerPause;
  #depth = 0;

  spend(steps: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new TooMuchWork();
  }

  /** Whether a pause is due. Reading it starts the next interval. */
  get isDue(): boolean {
    if (this.#stepsLeft > this.#pauseAt) return false;
    this.#pauseAt = this.#stepsLeft - stepsPerPause;
    return true;
  }

  /** Enters a schema with this number of keywords. */
  enter(keywords: number): void {
    this.spend(keywords);
    if (++this.#depth > maxSchemaDepth) throw new UnusableSchema('references are nested too deep');
  }

  leave(): void {
    this.#depth--;
  }
}
