// Collects what is wrong while a service is put together, so that one start reports all of it.
import { problemsOfError, SettingsError, withoutRepetitions, type Problem } from '../settings/problems.ts';

export class Faults {
  readonly #errors: Error[] = [];
  #hasGaps = false;

  /** Whether a plugin is missing: names that nothing else brings may be its own, and are not reported as unknown. */
  get hasGaps(): boolean {
    return this.#hasGaps;
  }

  /** What is wrong, without repetitions. */
  get problems(): readonly Problem[] {
    return withoutRepetitions(this.#errors.flatMap(problemsOfError));
  }

  add(error: unknown): void {
    this.#errors.push(error instanceof Error ? error : new Error(String(error)));
  }

  /** Adds the error of a plugin that is missing because of it. */
  addMissing(error: unknown): void {
    this.#hasGaps = true;
    this.add(error);
  }

  /** Runs a step, and keeps its error instead of throwing it. */
  attempt<T>(step: () => T): T | undefined {
    try {
      return step();
    } catch (error) {
      this.add(error);
      return undefined;
    }
  }

  /** Runs a step that takes time, and keeps its error instead of throwing it. */
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
   * @throws SettingsError naming all of them, when there are more
   */
  throwAll(): void {
    const [first, second] = this.#errors;
    if (first === undefined) return;
    if (second === undefined) throw first;
    throw new SettingsError(this.problems);
  }
}
