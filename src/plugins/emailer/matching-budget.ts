// Work of matching hooks and finding recipients. Clients choose the number of changes, of hooks and of recipients, and the
// patterns, so the work pauses for other requests and has a limit.
import { pause } from '../../base/steps.ts';
import type { StoredObject } from '../../core/objects/stored.ts';

/** Maximum work for the changes of one request, in steps of a validation (`SafePattern.stepsFor`): less than a second. */
const maxMatchingSteps = 10_000_000;

/** Steps between pauses: about a millisecond. */
const stepsPerPause = 10_000;

/** Steps of reading one object, besides its text. */
const stepsOfObject = 500;
/** Characters of stored text that are parsed in the time of one step. */
const charsPerStep = 10;

/** Returns the steps of reading an object and parsing its text. */
export function readingSteps(object: StoredObject | undefined): number {
  return stepsOfObject + (object?.text.length ?? 0) / charsPerStep;
}

export class MatchingBudget {
  #left = maxMatchingSteps;
  #untilPause = stepsPerPause;
  #isReported = false;

  spend(steps: number): void {
    this.#left -= steps;
    this.#untilPause -= steps;
  }

  get isExhausted(): boolean {
    return this.#left < 0;
  }

  /** Returns whether the budget is exhausted and this is the first call that says so. */
  reportExhausted(): boolean {
    const isFirst = this.isExhausted && !this.#isReported;
    this.#isReported ||= isFirst;
    return isFirst;
  }

  /** Lets other requests run if enough work was done since they did. Returns `undefined` if not. */
  pauseIfDue(): Promise<void> | undefined {
    if (this.#untilPause > 0) return undefined;
    this.#untilPause = stepsPerPause;
    return pause('normal');
  }
}
