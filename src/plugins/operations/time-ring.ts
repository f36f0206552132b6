// Steps of time of equal length, of which a fixed number is kept. Their beginnings are multiples of their length, so that the
// steps of several processes coincide.

export interface Step<T> {
  /** Number of the step since 1970. */
  readonly index: number;
  readonly value: T;
}

export class TimeRing<T> {
  readonly stepMs: number;
  readonly #create: () => T;
  readonly #steps: (Step<T> | undefined)[];
  /** The step of the last call, which most calls are for. */
  #last: { readonly from: number; readonly until: number; readonly value: T } | undefined;

  constructor({
    stepMs,
    steps,
    create,
  }: {
    readonly stepMs: number;
    readonly steps: number;
    readonly create: () => T;
  }) {
    this.stepMs = stepMs;
    this.#create = create;
    this.#steps = Array.from({ length: steps });
  }

  /** Returns the value of the step of a time, and begins it if it is new. */
  at(time: number): T {
    const last = this.#last;
    if (last !== undefined && time >= last.from && time < last.until) return last.value;
    const index = this.indexOf(time);
    const place = index % this.#steps.length;
    let step = this.#steps[place];
    if (step === undefined || step.index < index) this.#steps[place] = step = { index, value: this.#create() };
    this.#last = { from: index * this.stepMs, until: (index + 1) * this.stepMs, value: step.value };
    return step.value;
  }

  indexOf(time: number): number {
    return Math.floor(time / this.stepMs);
  }

  /** Returns the steps that a series at this time consists of, oldest first; some may be missing. */
  until(time: number): readonly Step<T>[] {
    const last = this.indexOf(time);
    const isShown = (step: Step<T> | undefined): step is Step<T> =>
      step !== undefined && step.index > last - this.#steps.length && step.index <= last;
    return this.#steps.filter(isShown).toSorted((a, b) => a.index - b.index);
  }
}
