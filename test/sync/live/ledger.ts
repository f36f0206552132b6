// What writers have stored: every acknowledged change of one list, from which the expected frames are computed.

/** A stored record, or its tombstone. */
export interface Entry {
  readonly id: string;
  readonly last_modified: number;
  readonly deleted?: true;
  readonly gone?: true;
  readonly n?: number;
  readonly status?: string;
}

interface Change {
  readonly entry: Entry;
  /** Position of the start of the request among all events of the test. */
  readonly startedAt: number;
}

export class Ledger {
  readonly #changes = new Map<number, Change>();
  #sorted: readonly Change[] | undefined;

  /** Adds a change that the server has acknowledged, or that was found after a lost response. */
  add(entry: Entry, startedAt: number): void {
    if (this.#changes.has(entry.last_modified)) return;
    this.#changes.set(entry.last_modified, { entry, startedAt });
    this.#sorted = undefined;
  }

  get size(): number {
    return this.#changes.size;
  }

  startOf(timestamp: number): number | undefined {
    return this.#changes.get(timestamp)?.startedAt;
  }

  /** Returns the last change of each record after one timestamp and up to another. */
  lastChanges(after: number, upTo: number): ReadonlyMap<string, Entry> {
    this.#sorted ??= [...this.#changes.values()].toSorted((a, b) => a.entry.last_modified - b.entry.last_modified);
    const last = new Map<string, Entry>();
    for (let at = this.#findFirst(after); at < this.#sorted.length; at++) {
      const { entry } = this.#sorted[at]!;
      if (entry.last_modified > upTo) break;
      last.set(entry.id, entry);
    }
    return last;
  }

  clear(): void {
    this.#changes.clear();
    this.#sorted = undefined;
  }

  /** Returns the position of the first change after the timestamp. */
  #findFirst(after: number): number {
    const sorted = this.#sorted!;
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle]!.entry.last_modified > after) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
