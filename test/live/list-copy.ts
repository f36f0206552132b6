// The copy of a list that a client keeps by applying the frames of a stream.
import type { EventClient, Event } from './event-client.ts';

interface Entry {
  readonly id: string;
  readonly deleted?: true;
  readonly gone?: true;
}

export class ListCopy {
  readonly #byId = new Map<string, Entry>();
  /** Fetches the list, when the stream demands it. */
  readonly #fetch: () => Promise<readonly Entry[]>;

  constructor(fetch: () => Promise<readonly Entry[]> = () => Promise.reject(new Error('resync was not expected'))) {
    this.#fetch = fetch;
  }

  /** Objects of the copy by id. */
  get objects(): readonly Entry[] {
    return [...this.#byId.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Applies frames until `current`, and returns its id. */
  async catchUp(stream: EventClient): Promise<number> {
    for (;;) {
      const event = await stream.next();
      await this.apply(event);
      if (event.event === 'current') return Number(event.id);
    }
  }

  async apply({ event, data }: Event): Promise<void> {
    if (event === 'resync') {
      this.#byId.clear();
      for (const entry of await this.#fetch()) this.#byId.set(entry.id, entry);
    }
    if (event !== 'changes') return;
    for (const entry of data.data as readonly Entry[]) {
      if (entry.deleted === true || entry.gone === true) this.#byId.delete(entry.id);
      else this.#byId.set(entry.id, entry);
    }
  }
}
