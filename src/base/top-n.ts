// The first N items of a stream in a given order, in memory proportional to N.
import { sortInSteps } from './sort-in-steps.ts';
import type { Steps } from './steps.ts';

interface TopNOptions<T> {
  readonly weigh?: (item: T) => number;
  /** Items are kept up to the first one that exceeds this total weight, but at least two. */
  readonly max?: number;
}

export class TopN<T> {
  readonly #wanted: number;
  readonly #compare: (a: T, b: T) => number;
  readonly #options: Required<TopNOptions<T>>;
  #items: T[] = [];
  #weight = 0;
  #worst: T | undefined;

  constructor(
    wanted: number,
    compare: (a: T, b: T) => number,
    { weigh = () => 0, max = Infinity }: TopNOptions<T> = {},
  ) {
    this.#wanted = wanted;
    this.#compare = compare;
    this.#options = { weigh, max };
  }

  /** The last item that is kept. Items that do not come before it are dropped. `undefined` while all items are kept. */
  get worst(): T | undefined {
    return this.#worst;
  }

  /** Whether an item comes after all that are kept. */
  #refuses(item: T): boolean {
    return this.#worst !== undefined && this.#compare(item, this.#worst) >= 0;
  }

  /** Adds an item unless it is refused. Returns the rest of the work when there is some, which has to be done before the next item. */
  add(item: T): Steps<void> | undefined {
    const options = this.#options;
    if (this.#refuses(item)) return undefined;
    this.#items.push(item);
    this.#weight += options.weigh(item);
    const isFull = this.#items.length >= 2 * this.#wanted + 20 || this.#weight > 2 * options.max;
    return isFull ? this.#shrink() : undefined;
  }

  /** Returns the kept items in order. */
  *finish(): Steps<readonly T[]> {
    yield* this.#shrink();
    return this.#items;
  }

  *#shrink(): Steps<void> {
    const { weigh, max } = this.#options;
    const sorted = yield* sortInSteps(this.#items, this.#compare);
    let count = 0;
    this.#weight = 0;
    while (count < sorted.length && count < this.#wanted && (count < 2 || this.#weight <= max)) {
      this.#weight += weigh(sorted[count++]!);
    }
    if (count < sorted.length || count === this.#wanted) this.#worst = sorted[count - 1];
    this.#items = sorted.slice(0, count);
  }
}
