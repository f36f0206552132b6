// Background work in steps: a step, a pause, the next step, until nothing is left. Requests run during the pauses.

const defaultPauseMs = 20;
const pauseAfterFailureMs = 5000;

export class Background {
  readonly #work: () => Promise<boolean>;
  readonly #pauseMs: () => number;
  #timer: NodeJS.Timeout | undefined;
  /** The step under way. */
  #step: Promise<void> | undefined;
  /** Number of calls. A call during a step may announce work that the step has not seen. */
  #calls = 0;
  #isStopped = false;

  /**
   * @param work does a step; returns whether more work may be left
   * @param pauseMs pause before the next step
   */
  constructor(work: () => Promise<boolean>, pauseMs: () => number = () => defaultPauseMs) {
    this.#work = work;
    this.#pauseMs = pauseMs;
  }

  /** Starts the work unless it runs already. Called when there may be work. */
  wake(): void {
    this.#calls++;
    this.#schedule(this.#pauseMs());
  }

  /** Stops for good, after the step under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#step;
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped || this.#timer !== undefined || this.#step !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#step = this.#run();
    }, delayMs);
    // The work can wait for the next start, and must not keep the process alive.
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    let delayMs: number | undefined;
    const calls = this.#calls;
    try {
      if ((await this.#work()) || this.#calls !== calls) delayMs = this.#pauseMs();
    } catch {
      // Requests report what is wrong with the database. The work stays and is tried again.
      delayMs = pauseAfterFailureMs;
    }
    this.#step = undefined;
    if (delayMs !== undefined) this.#schedule(delayMs);
  }
}
