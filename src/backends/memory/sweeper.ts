// Background work that no request waits for. It runs in steps, and requests run between them.
import { runWithPauses, type Steps } from '../../base/steps.ts';

export class Sweeper {
  readonly #waiting: Steps<void>[] = [];
  #isRunning = false;

  /** Adds work, which runs after all work that was added before. */
  add(steps: Steps<void>): void {
    this.#waiting.push(steps);
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let steps = this.#waiting.shift(); steps !== undefined; steps = this.#waiting.shift()) {
      await runWithPauses(steps, 'normal', (step) => step());
    }
    this.#isRunning = false;
  }
}
