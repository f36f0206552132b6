// The first N items of a stream in a given order, in memory proportional to N.

export class TopN<T> {
  readonly #wanted: number;
  readonly #compare: (a: T, b: T) => number;
  #items: T[] = [];
  #worst: T | undefined;

  constructor(wanted: number, compare: (a: T, b: T) => number) {
    this.#wanted = wanted;
    this.#compare = compare;
  }

  /** The last item that can still be in the result; `undefined` while every item can. */
  get worst(): T | undefined {
    return this.#worst;
  }

  add(item: T): void {
    if (this.#worst !== undefined && this.#compare(item, this.#worst) >= 0) return;
    this.#items.push(item);
    if (this.#items.length >= 2 * this.#wanted + 100) {
      this.#shrink();
      this.#worst = this.#items[this.#wanted - 1];
    }
  }

  /** Returns the items in order. */
  finish(): readonly T[] {
    this.#shrink();
    return this.#items;
  }

  #shrink(): void {
    this.#items = this.#items.toSorted(this.#compare).slice(0, this.#wanted);
  }
}
