// Follows the pages of a list at the source, and refuses pages that would never end.
import type { StoredEntry } from '../../core/objects/stored.ts';
import type { Unfit } from './entries.ts';
import { ImportRefused, type Answer } from './transport.ts';

/** The pages of one list, in ascending order of timestamps. */
export class Paging {
  readonly #name: string;
  readonly #root: string;
  #newest = -Infinity;
  /** Ids of the entries with the newest timestamp. Only accounts have many with one. */
  readonly #ids = new Set<string>();

  /** @param name name of the list in messages */
  constructor(name: string, root: string) {
    this.#name = name;
    this.#root = root;
  }

  /**
   * Returns the query of the page after this one; `undefined` after the last page.
   *
   * @throws ImportRefused when the pages make no progress
   */
  next(answer: Answer, entries: readonly (StoredEntry | Unfit)[]): string | undefined {
    const query = this.#queryOf(answer);
    if (query === undefined) return undefined;
    const timestamps = entries.map(({ lastModified }) => lastModified).filter(Number.isFinite);
    const newest = timestamps.reduce((a, b) => Math.max(a, b), this.#newest);
    if (newest > this.#newest) this.#ids.clear();
    this.#newest = newest;
    const known = this.#ids.size;
    for (const { id, lastModified } of entries) if (lastModified === newest) this.#ids.add(id);
    if (this.#ids.size === known) {
      throw this.#refusal('has a page without new entries, and more pages after it: the pages would never end');
    }
    return query;
  }

  /** The host of `Next-Page` is ignored: a server behind a proxy may not know its public name. */
  #queryOf({ headers }: Answer): string | undefined {
    const next = headers['next-page'];
    if (next === undefined || next === '') return undefined;
    if (!URL.canParse(next, this.#root)) throw this.#refusal(`has a Next-Page that is not a URL: ${next}`);
    return new URL(next, this.#root).search;
  }

  #refusal(fault: string): ImportRefused {
    return new ImportRefused(`${this.#name}: the list of the source ${fault}`);
  }
}
