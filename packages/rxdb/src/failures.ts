// Errors as RxDB reports them, and the time that the service asks to wait.
import type { CofferError } from '@coffer/client';

/** Returns whether an error comes from the client. An application may have several copies of its module. */
export function isFailure(error: unknown): error is CofferError {
  return error instanceof Error && error.name === 'CofferError';
}

/** Adds to an error what RxDB keeps of it in `error$`: `extensions` with the members of `CofferError`. */
export function explain(error: unknown): unknown {
  if (!isFailure(error)) return error;
  const { kind, status, errno, details, retryAfterMs } = error;
  return Object.assign(error, { extensions: { kind, status, errno, details, retryAfterMs } });
}

/** Waits for a time, or until the signal aborts. */
export function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    // Longer times would end at once.
    const timer = setTimeout(end, Math.min(milliseconds, 2 ** 31 - 1));
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}

/** Runs requests no earlier than the last failure allows. */
export class Pacer {
  readonly #signal: AbortSignal;
  #earliest = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Runs a task. When the replication was cancelled meanwhile, returns the given value in place of an error. */
  async run<R>(task: () => Promise<R>, whenCancelled: R): Promise<R> {
    const waitMs = this.#earliest - performance.now();
    if (waitMs > 0) await rest(waitMs, this.#signal);
    try {
      return this.#signal.aborted ? whenCancelled : await task();
    } catch (error) {
      if (this.#signal.aborted) return whenCancelled;
      if (isFailure(error)) this.#earliest = performance.now() + (error.retryAfterMs ?? 0);
      throw explain(error);
    }
  }
}
