// The first N items of a stream in a given order, in memory proportional to N.

/** A limit on the total weight of the kept items. */
export interface Weights<T> {
  readonly weigh: (item: T) => number;
  /** Items are kept up to the first one that exceeds this total, but at least two. */
  readonly max: number;
}

export class TopN<T> {
  readonly #wanted: number;
  readonly #compare: (a: T, b: T) => number;
  readonly #weights: Weights<T>;
  #items: T[] = [];
  #weight = 0;
  #worst: T | undefined;

  constructor(
    wanted: number,
    compare: (a: T, b: T) => number,
    weights: Weights<T> = { weigh: () => 0, max: Infinity },
  ) {
    this.#wanted = wanted;
    this.#compare = compare;
    this.#weights = weights;
  }

  /** The last item that is kept. Items that do not come before it are dropped. `undefined` while all items are kept. */
  get worst(): T | undefined {
    return this.#worst;
  }

  add(item: T): void {
    if (this.#worst !== undefined && this.#compare(item, this.#worst) >= 0) return;
    this.#items.push(item);
    this.#weight += this.#weights.weigh(item);
    if (this.#items.length >= 2 * this.#wanted + 100 || this.#weight > 2 * this.#weights.max) this.#shrink();
  }

  /** Returns the kept items in order. */
  finish(): readonly T[] {
    this.#shrink();
    return this.#items;
  }

  #shrink(): void {
    const sorted = this.#items.toSorted(this.#compare);
    let count = 0;
    this.#weight = 0;
    while (count < sorted.length && count < this.#wanted && (count < 2 || this.#weight <= this.#weights.max)) {
      this.#weight += this.#weights.weigh(sorted[count++]!);
    }
    if (count < sorted.length || count === this.#wanted) this.#worst = sorted[count - 1];
    this.#items = sorted.slice(0, count);
  }
}
