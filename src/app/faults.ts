// Collects the faults found while a service is assembled, so that one start reports all of them.
import { problemsOfError, SettingsError, withoutRepetitions, type Problem } from '../settings/problems.ts';

export class Faults {
  readonly #errors: Error[] = [];
  #hasGaps = false;
  #hasUnknownGaps = false;

  /** Whether a plugin is missing. */
  get hasGaps(): boolean {
    return this.#hasGaps;
  }

  /** Whether an external plugin is missing. Unknown names may belong to it, and are not reported then. */
  get hasUnknownGaps(): boolean {
    return this.#hasUnknownGaps;
  }

  /** The problems without repetitions. */
  get problems(): readonly Problem[] {
    return withoutRepetitions(this.#errors.flatMap(problemsOfError));
  }

  add(error: unknown): void {
    this.#errors.push(error instanceof Error ? error : new Error(String(error)));
  }

  /** Adds the error of a plugin that is missing because of it. */
  addMissing(error: unknown, { isBuiltIn }: { readonly isBuiltIn: boolean }): void {
    this.#hasGaps = true;
    if (!isBuiltIn) this.#hasUnknownGaps = true;
    this.add(error);
  }

  /** Runs a step, and collects its error instead of throwing it. */
  attempt<T>(step: () => T): T | undefined {
    try {
      return step();
    } catch (error) {
      this.add(error);
      return undefined;
    }
  }

  /** Runs an asynchronous step, and collects its error instead of throwing it. */
  async attemptAsync<T>(step: () => Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      this.add(error);
      return undefined;
    }
  }

  /**
   * @throws Error that was collected, when it is the only one
   * @throws SettingsError naming all of them, when several were collected
   */
  throwAll(): void {
    const [first, second] = this.#errors;
    if (first === undefined) return;
    if (second === undefined) throw first;
    throw new SettingsError(this.problems);
  }
}
