// Keeps the first so many of any number of items in an order, in memory for a multiple of that number only.

export class TopN<T> {
  readonly #wanted: number;
  readonly #compare: (a: T, b: T) => number;
  #items: T[] = [];
  /** Once that many are known, whatever comes after this one is not wanted. */
  #worst: T | undefined;

  constructor(wanted: number, compare: (a: T, b: T) => number) {
    this.#wanted = wanted;
    this.#compare = compare;
  }

  /** What is not before this one is not wanted; `undefined` while anything is. */
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

  /** The items kept, in order. */
  finish(): readonly T[] {
    this.#shrink();
    return this.#items;
  }

  #shrink(): void {
    this.#items = this.#items.toSorted(this.#compare).slice(0, this.#wanted);
  }
}
