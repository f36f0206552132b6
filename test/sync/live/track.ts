// The copy of one list that a client keeps, and a check of every frame against the ledger of what was written.
import type { Entry, Ledger } from './ledger.ts';

/** What a client received between two timestamps at which it was up to date. */
interface Interval {
  readonly after: number;
  readonly upTo: number;
  readonly received: ReadonlyMap<string, Entry>;
}

export interface TrackOptions {
  readonly name: string;
  readonly list: string;
  /** Query of the filter, `''` for none. */
  readonly filter: string;
  readonly matches: (entry: Entry) => boolean;
  /** Whether the client sees the whole list, so that frames can be computed from the ledger. */
  readonly seesAll: boolean;
  /** Throws when the entry must not be seen by the client now. */
  readonly requireVisible: (entry: Entry) => void;
}

export class Track {
  readonly options: TrackOptions;
  readonly copy = new Map<string, Entry>();
  /** Whether the copy must be fetched before it is of use. */
  isUnknown = true;
  /** Timestamp up to which the copy is complete. */
  completeTo = 0;
  entries = 0;
  #seenTo = 0;
  #received = new Map<string, Entry>();
  #intervals: Interval[] = [];

  constructor(options: TrackOptions) {
    this.options = options;
  }

  /** Begins with a list as it was fetched. */
  begin(entries: readonly Entry[], timestamp: number): void {
    this.copy.clear();
    for (const entry of entries) this.copy.set(entry.id, entry);
    this.isUnknown = false;
    this.completeTo = timestamp;
    this.#seenTo = timestamp;
    this.#received = new Map();
  }

  /** Forgets the copy. What was received before the last `current` is still checked. */
  drop(): void {
    this.begin([], 0);
    this.isUnknown = true;
  }

  receive(entry: Entry): void {
    this.options.requireVisible(entry);
    if (this.isUnknown || entry.last_modified <= this.completeTo) {
      // The client has fetched the list after the place at which the stream began.
      if (this.#received.size > 0) throw this.#fault('sent again', entry);
      return;
    }
    if (entry.last_modified <= this.#seenTo) throw this.#fault(`sent after ${this.#seenTo}`, entry);
    this.#seenTo = entry.last_modified;
    this.#received.set(entry.id, entry);
    this.entries += 1;
    if (entry.deleted === true || entry.gone === true) this.copy.delete(entry.id);
    else this.copy.set(entry.id, entry);
  }

  /** Everything up to the timestamp was sent. */
  complete(timestamp: number): void {
    if (this.isUnknown || timestamp <= this.completeTo) return;
    if (timestamp < this.#seenTo) throw new Error(`${this.options.name}: current ${timestamp} after ${this.#seenTo}`);
    this.#intervals.push({ after: this.completeTo, upTo: timestamp, received: this.#received });
    this.#received = new Map();
    this.#seenTo = timestamp;
    this.completeTo = timestamp;
  }

  /** Compares everything received with what was written. Throws the first difference. */
  check(ledger: Ledger): void {
    const intervals = this.#intervals;
    this.#intervals = [];
    if (!this.options.seesAll) return;
    for (const { after, upTo, received } of intervals) {
      const expected = ledger.lastChanges(after, upTo);
      for (const entry of expected.values()) this.#compare(entry, received.get(entry.id), after);
      for (const entry of received.values()) if (!expected.has(entry.id)) throw this.#fault('never written', entry);
    }
  }

  #compare(written: Entry, received: Entry | undefined, after: number): void {
    const isShown = written.deleted !== true && this.options.matches(written);
    // A client that begins with nothing need not learn what is missing.
    if (received === undefined && !isShown && after === 0) return;
    if (received === undefined) throw this.#fault('lost', written);
    const isMarked = received.deleted === true || received.gone === true;
    const isSame = received.last_modified === written.last_modified && isMarked !== isShown;
    const hasSameData = isMarked
      ? received.n === undefined
      : received.n === written.n && received.status === written.status;
    if (!isSame || !hasSameData) throw this.#fault(`sent as ${JSON.stringify(received)}`, written);
  }

  #fault(what: string, entry: Entry): Error {
    return new Error(`${this.options.name}: ${JSON.stringify(entry)} was ${what}`);
  }
}
