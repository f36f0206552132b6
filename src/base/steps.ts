// Long computations in steps. What runs without interruption keeps everybody else waiting, so what looks at much is cut
// into many steps, and between two of them others may be served.

/** A computation that yields wherever it may be paused; what it reads must not change meanwhile. */
export type Steps<T> = Generator<undefined, T, undefined>;

/**
 * Runs the steps and lets the event loop turn between them.
 *
 * @param runStep how one step is run, for errors to be translated
 */
export async function runWithPauses<T>(steps: Steps<T>, runStep: <R>(step: () => R) => R): Promise<T> {
  for (;;) {
    const step = runStep(() => steps.next());
    if (step.done === true) return step.value;
    await pause();
  }
}

/** Runs the steps one right after the other, where they are known to be few. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Lets the event loop turn once. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
