// Work that is done a little at a time beside everything else: a step, a pause, the next step, until nothing is left.

const defaultPauseMs = 20;
const pauseAfterFailureMs = 5000;

export class Background {
  readonly #work: () => Promise<boolean>;
  readonly #pauseMs: () => number;
  #timer: NodeJS.Timeout | undefined;
  /** The step under way. */
  #step: Promise<void> | undefined;
  /** Counts calls: one that came during a step may be about what the step has not seen. */
  #calls = 0;
  #isStopped = false;

  /**
   * @param work does a step; answers whether more may be left
   * @param pauseMs how long to wait before the next one
   */
  constructor(work: () => Promise<boolean>, pauseMs: () => number = () => defaultPauseMs) {
    this.#work = work;
    this.#pauseMs = pauseMs;
  }

  /** Called when there may be something to do. */
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
    // The work can wait for the next start; it must not keep the process alive.
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    let delayMs: number | undefined;
    const calls = this.#calls;
    try {
      if ((await this.#work()) || this.#calls !== calls) delayMs = this.#pauseMs();
    } catch {
      // Whatever is wrong with the database shows in the requests; what is left stays and is tried again.
      delayMs = pauseAfterFailureMs;
    }
    this.#step = undefined;
    if (delayMs !== undefined) this.#schedule(delayMs);
  }
}
