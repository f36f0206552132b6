// Promises that are settled from outside, pauses, and those that wait until the copy has reached a state.

/** A promise that is settled from outside. */
export interface Gate {
  readonly opened: Promise<void>;
  readonly open: () => void;
  readonly fail: (error: unknown) => void;
}

/** Returns a closed gate. */
export function gate(): Gate {
  let open!: () => void;
  let fail!: (error: unknown) => void;
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  opened.catch(() => undefined);
  return { opened, open, fail };
}

/** Returns a new gate. Those who wait at the old one wait for the new one. */
export function renewed(old: Gate): Gate {
  const fresh = gate();
  fresh.opened.then(old.open, old.fail);
  return fresh;
}

/** Those who wait. */
export class Waiting {
  readonly #checks = new Set<(isEnd: boolean) => void>();

  /**
   * Waits until a condition holds, for a time, or until the end. Returns whether it holds.
   *
   * @param timeoutMs 0 means unlimited
   */
  until(isReached: () => boolean, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const check = (isEnd: boolean): void => {
        const holds = isReached();
        if (!holds && !isEnd) return;
        clearTimeout(timer);
        this.#checks.delete(check);
        resolve(holds);
      };
      const timer = timeoutMs > 0 ? setTimeout(() => check(true), timeoutMs) : undefined;
      this.#checks.add(check);
      check(false);
    });
  }

  /** Called when the copy has changed. */
  check(): void {
    for (const check of this.#checks) check(false);
  }

  /** Nothing will change any more. */
  end(): void {
    for (const check of this.#checks) check(true);
  }
}

/** A pause that can be ended from outside. */
export class Pause {
  end: () => void = () => undefined;

  /** @param milliseconds 0: until `end` or the signal */
  wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      // Longer times would end at once.
      const timer = milliseconds > 0 ? setTimeout(end, Math.min(milliseconds, 2 ** 31 - 1)) : undefined;
      this.end = end;
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
    });
  }
}
