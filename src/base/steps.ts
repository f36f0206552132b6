// Long computations in steps. An uninterrupted computation blocks the event loop, so a long one pauses between steps and lets
// other requests run.

/** A computation that yields wherever it may be paused. Its input must not change meanwhile. */
export type Steps<T> = Generator<undefined, T, undefined>;

/**
 * Priority of a computation after a pause. `urgent` is for work that other requests wait for, such as a unit of work that
 * holds the write lock. Several urgent steps run before a normal one.
 */
export type Urgency = 'urgent' | 'normal';
const maxUrgentInARow = 4;

/**
 * Lets the long computations of this process take turns: one step of one computation in each turn of the event loop. Other
 * requests wait for one step per turn, however many computations are active.
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

  /** Takes the next computation; those of one urgency in order of arrival. */
  #takeNext(): (() => void) | undefined {
    const { urgent, normal } = this.#waiting;
    const isUrgent = urgent.length > 0 && (this.#urgentInARow < maxUrgentInARow || normal.length === 0);
    this.#urgentInARow = isUrgent ? this.#urgentInARow + 1 : 0;
    return (isUrgent ? urgent : normal).shift();
  }
}

const turns = new StepTurns();

/**
 * Runs the steps with a turn of the event loop between them.
 *
 * @param runStep runs one step; may translate its errors
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

/** Runs the first step at once. Returns its result without a promise when it was the only one. */
export function runFromNow<T>(steps: Steps<T>, urgency: Urgency): T | Promise<T> {
  const first = steps.next();
  return first.done === true ? first.value : pause(urgency).then(() => runWithPauses(steps, urgency, (step) => step()));
}

/** Runs all steps without pauses, for computations known to be short. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Waits for the next turn of the event loop in which no other long computation has priority. */
export function pause(urgency: Urgency): Promise<void> {
  return turns.wait(urgency);
}
