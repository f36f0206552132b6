// Requests to a provider whose result many callers need. Clients can cause such a request with any token, so at most one is
// under way, and none is made soon after one has failed.
import type { Clock } from '../../base/clock.ts';

/** Minimum time between two attempts after a failure. */
const retryDelayMs = 1000;

export class SharedAttempt<T> {
  readonly #clock: Clock;
  #attempt: Promise<T> | undefined;
  #failure: { readonly error: unknown; readonly at: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isUnderWay(): boolean {
    return this.#attempt !== undefined;
  }

  /** Returns the result of the attempt under way, or of a new one. Throws the error of the last one, if that has just failed. */
  async run(work: () => Promise<T>): Promise<T> {
    if (this.#failure !== undefined && Math.abs(this.#clock.now() - this.#failure.at) < retryDelayMs) {
      throw this.#failure.error;
    }
    this.#attempt ??= this.#begin(work);
    return this.#attempt;
  }

  async #begin(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      this.#failure = undefined;
      return result;
    } catch (error) {
      this.#failure = { error, at: this.#clock.now() };
      throw error;
    } finally {
      this.#attempt = undefined;
    }
  }
}
