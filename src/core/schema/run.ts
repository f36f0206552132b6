// What is known while one value is being validated: how much work is left, which schemas are being applied, and which
// members of the value have been looked at (for `unevaluatedProperties` and `unevaluatedItems`).
import type { JsonValue } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';

/** Why a value is not valid. */
export interface Failure {
  /** Last key or index on the way to the value; `undefined` for the whole. */
  readonly at?: string | number;
  /** The property that is missing, for `required`. */
  readonly missing?: string;
  readonly keyword: string;
  readonly reason: string;
}

/** What a check finds: the first failure, or nothing. */
export type Verdict = Failure | undefined;

/**
 * Applies a schema. A check that takes a known, short time returns its verdict at once, any other one the steps to it.
 *
 * @param seen notes what was looked at, when an outer schema wants to know; failed checks may leave it half filled
 */
export type Check = (value: JsonValue, run: Run, seen?: Seen) => Verdict | Steps<Verdict>;

/** Whether the check goes on in steps. */
export function isPending(result: Verdict | Steps<Verdict>): result is Steps<Verdict> {
  return result !== undefined && 'next' in result;
}

/** The schema cannot be used: a reference leads nowhere or round in a circle, a pattern cannot be run. */
export class UnusableSchema extends Error {}

/** The value and the schema together take more work than one validation may. */
export class TooMuchWork extends Error {}

/** Members of an array or object that a schema has been applied to. */
export class Seen {
  all = false;
  /** Items before this index have been seen. */
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

/** Steps one validation may take; a step applies one keyword to one value, or looks at one member. */
const maxSteps = 10_000_000;

/** Steps after which a validation should pause: about a millisecond. */
const stepsPerPause = 10_000;

/**
 * Schemas that may be at work inside each other. A value may have 500 levels, each of which takes two in a schema that
 * refers to itself; far more would overflow the stack.
 */
const maxSchemaDepth = 1200;

export class Run {
  /** Resources entered so far, outermost first; only kept for schemas with dynamic references. */
  readonly scope: object[] = [];
  #stepsLeft = maxSteps;
  #pauseAt = maxSteps - stepsPerPause;
  #depth = 0;

  spend(steps: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new TooMuchWork();
  }

  /** Whether it is time for a pause; asked again, it is not. */
  get isDue(): boolean {
    if (this.#stepsLeft > this.#pauseAt) return false;
    this.#pauseAt = this.#stepsLeft - stepsPerPause;
    return true;
  }

  /** Begins the work of a schema with so many keywords. */
  enter(keywords: number): void {
    this.spend(keywords);
    if (++this.#depth > maxSchemaDepth) throw new UnusableSchema('references are nested too deep');
  }

  leave(): void {
    this.#depth--;
  }
}
