// Reads for which the server goes through a whole list: a filter or an order by an attribute. Of a long list, each keeps a
// connection and some of the server's processors busy, so that a few clients who ask for them could leave nothing to all
// others. So they take turns, and those to lists of which nobody knows yet whether they are long take others.

/** Lists of which is remembered whether they are long. */
const mostKnown = 10_000;

export interface LongReadsOptions {
  /** How many may be under way at the same time; 0: any number. */
  readonly atOnce: number;
  /** From so many milliseconds on a read is a long one. */
  readonly longMs: number;
  /** Milliseconds since some moment. */
  readonly now?: () => number;
}

export class LongReads {
  readonly #now: () => number;
  readonly #longMs: number;
  /** Whether the list is long, those that were read last at the end. */
  readonly #known = new Map<string, boolean>();
  readonly #ofLong: ListQueue;
  readonly #ofUnknown: ListQueue;

  constructor({ atOnce, longMs, now = (): number => performance.now() }: LongReadsOptions) {
    this.#now = now;
    this.#longMs = longMs;
    this.#ofLong = new ListQueue(atOnce);
    this.#ofUnknown = new ListQueue(atOnce);
  }

  /**
   * Runs a read of the list, when it is its turn.
   *
   * @param list what tells it from all others
   */
  async run<T>(list: string, read: () => Promise<T>): Promise<T> {
    const isLong = this.#known.get(list);
    if (isLong === false) return this.#measure(list, read);
    const turns = isLong === true ? this.#ofLong : this.#ofUnknown;
    await turns.take();
    try {
      return await this.#measure(list, read);
    } finally {
      turns.end();
    }
  }

  async #measure<T>(list: string, read: () => Promise<T>): Promise<T> {
    const began = this.#now();
    try {
      return await read();
    } finally {
      this.#note(list, this.#now() - began >= this.#longMs);
    }
  }

  #note(list: string, isLong: boolean): void {
    this.#known.delete(list);
    this.#known.set(list, isLong);
    if (this.#known.size <= mostKnown) return;
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest!);
  }
}

/** A number of places, which are given away in the order in which they are asked for. */
class ListQueue {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places === 0 ? Infinity : places;
  }

  take(): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free--;
      return undefined;
    }
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  end(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
