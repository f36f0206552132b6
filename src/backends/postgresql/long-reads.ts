// Limits reads for which the server scans a whole list: a filter or an order by an attribute. Each read of a long list keeps
// a connection and some of the server's processors busy, so a few clients could leave nothing to others. Such reads take
// turns. Reads of lists whose length is not known yet take turns of their own.
import { TaskLimit } from '../../base/task-limit.ts';

/** Maximum number of lists whose length is remembered. */
const mostKnown = 10_000;

export interface LongReadsOptions {
  /** Maximum number of reads at the same time; 0 means unlimited. */
  readonly atOnce: number;
  /** Duration from which a read is long, in milliseconds. */
  readonly longMs: number;
  /** Returns the milliseconds since a fixed moment. */
  readonly now?: () => number;
}

export class LongReads {
  readonly #now: () => number;
  readonly #longMs: number;
  /** Whether a list is long, by name; lists that were read last stand at the end. */
  readonly #known = new Map<string, boolean>();
  readonly #ofLong: TaskLimit;
  readonly #ofUnknown: TaskLimit;

  constructor({ atOnce, longMs, now = (): number => performance.now() }: LongReadsOptions) {
    this.#now = now;
    this.#longMs = longMs;
    const limit = { atOnce: atOnce === 0 ? Infinity : atOnce, waiting: Infinity };
    this.#ofLong = new TaskLimit(limit);
    this.#ofUnknown = new TaskLimit(limit);
  }

  /**
   * Runs a read of the list when its turn comes.
   *
   * @param list unique name of the list
   */
  async run<T>(list: string, read: () => Promise<T>): Promise<T> {
    const isLong = this.#known.get(list);
    const measured = (): Promise<T> => this.#measure(list, read);
    if (isLong === false) return measured();
    return (isLong === true ? this.#ofLong : this.#ofUnknown).run(measured);
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
