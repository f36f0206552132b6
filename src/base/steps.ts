// Long computations in steps. What runs without interruption keeps everybody else waiting, so what looks at much is cut
// into many steps, and between two of them others may be served.

/** A computation that yields wherever it may be paused; what it reads must not change meanwhile. */
export type Steps<T> = Generator<undefined, T, undefined>;

/**
 * How soon a computation goes on after a pause. `urgent` is what others wait for, such as a unit of work that holds the turn to
 * write; of these, several go on before one of the others does.
 */
export type Urgency = 'urgent' | 'normal';
const mostUrgentInARow = 4;

/**
 * Long computations of this process take turns: one of them goes on for a step, then the event loop turns. So others wait
 * for one step in each of its turns, however many computations are under way.
 */
class StepTurns {
  readonly #waiting: Record<Urgency, (() => void)[]> = { urgent: [], normal: [] };
  #urgentInARow = 0;
  #isDue = false;

  wait(urgency: Urgency): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting[urgency].push(resolve);
      this.#expect();
    });
  }

  #expect(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#takeNext()?.();
      if (this.#waiting.urgent.length + this.#waiting.normal.length > 0) this.#expect();
    });
  }

  /** Those of one urgency in the order in which they came. */
  #takeNext(): (() => void) | undefined {
    const { urgent, normal } = this.#waiting;
    const isUrgent = urgent.length > 0 && (this.#urgentInARow < mostUrgentInARow || normal.length === 0);
    this.#urgentInARow = isUrgent ? this.#urgentInARow + 1 : 0;
    return (isUrgent ? urgent : normal).shift();
  }
}

const turns = new StepTurns();

/**
 * Runs the steps and lets the event loop turn between them.
 *
 * @param runStep how one step is run, for errors to be translated
 */
export async function runWithPauses<T>(
  steps: Steps<T>,
  urgency: Urgency,
  runStep: <R>(step: () => R) => R,
): Promise<T> {
  for (;;) {
    const step = runStep(() => steps.next());
    if (step.done === true) return step.value;
    await pause(urgency);
  }
}

export function isSteps<T>(value: T | Steps<T>): value is Steps<T> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value && 'next' in value;
}

/** Runs the first step now, and returns its result without a promise when it was the only one. */
export function runFromNow<T>(steps: Steps<T>, urgency: Urgency): T | Promise<T> {
  const first = steps.next();
  return first.done === true ? first.value : pause(urgency).then(() => runWithPauses(steps, urgency, (step) => step()));
}

/** Runs the steps one right after the other, where they are known to be few. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Lets the event loop turn, and other long computations go on. */
export function pause(urgency: Urgency): Promise<void> {
  return turns.wait(urgency);
}
