// Limits the pages that are in memory for streams and polls at the same time, because the size of a page is known only when it
// is read. Independent of the number of lists and filters that are followed.
import { TaskLimit } from '../base/task-limit.ts';
import type { Page } from '../contracts/storage.ts';
import { charsOf } from '../core/objects/stored.ts';

/** Number of pages that are read at the same time. */
const readsAtOnce = 4;
/** Length of a page, in characters, that is formatted and sent after others of that length. */
const largeChars = 65_536;

export class PageTurns {
  readonly #reads: TaskLimit;
  readonly #large: TaskLimit;

  /** @param waiting maximum number of feeds and polls */
  constructor(waiting: number) {
    this.#reads = new TaskLimit({ atOnce: readsAtOnce, waiting });
    this.#large = new TaskLimit({ atOnce: 1, waiting: readsAtOnce });
  }

  /** Reads a page and uses it. The turn lasts until a large page is used, and until a small one is read. */
  async take(read: () => Promise<Page>, use: (page: Page) => Promise<void>): Promise<void> {
    const small = await this.#reads.run(async () => {
      const page = await read();
      if (page.entries.reduce((chars, entry) => chars + charsOf(entry), 0) <= largeChars) return page;
      await this.#large.run(() => use(page));
      return undefined;
    });
    if (small !== undefined) await use(small);
  }

  /** Reads something of unknown size, which has reserved its memory when the turn ends. */
  read<T>(read: () => Promise<T>): Promise<T> {
    return this.#reads.run(read);
  }
}
