// What a replication remembers of its latest exchanges, by id. Bounded: it may forget, and then it reads again.
import type { RecordData } from './shape.ts';

const maxEntries = 10_000;

/** Records that the service has returned. A write whose document is still in that state needs no read before it. */
export class RecentRecords {
  readonly #entries = new Map<string, RecordData>();

  get(id: string): RecordData | undefined {
    return this.#entries.get(id);
  }

  /** Stores a state, unless a later one is known: changes arrive after the responses to own writes. */
  set(id: string, value: RecordData): void {
    if ((this.#entries.get(id)?.last_modified ?? 0) > value.last_modified) return;
    this.#entries.delete(id);
    this.#entries.set(id, value);
    if (this.#entries.size <= maxEntries) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest!);
  }

  delete(id: string): void {
    this.#entries.delete(id);
  }

  clear(): void {
    this.#entries.clear();
  }
}
