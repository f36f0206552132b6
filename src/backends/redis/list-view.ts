// A list as one reader sees it: the entries on the server, overlaid by the changes of the reader's unit of work. All reads
// of one view belong to one version of the list.
import type { ListKey, StoredEntry } from '../../core/objects/stored.ts';
import type { TimestampRange } from '../../core/query/timestamp-range.ts';
import type { ListDraft } from './list-draft.ts';
import type { ListReads, ListState, Part } from './list-reads.ts';

/** Thrown when the list was written between two reads of a view; the whole read has to start again. */
export class ListChanged extends Error {}

/** Maximum number of ids, or timestamps, in one request. */
const idChunk = 1000;

export class ListView {
  readonly list: ListKey;
  readonly #reads: ListReads;
  readonly #draft: ListDraft | undefined;
  readonly #whenStale: () => Error;
  #state: ListState | undefined;

  /**
   * @param draft changes of the unit that reads; absent for committed state
   * @param whenStale creates the error for a list whose version is no longer that of the draft, or of the first read
   */
  constructor(reads: ListReads, list: ListKey, draft?: ListDraft, whenStale: () => Error = () => new ListChanged()) {
    this.list = list;
    this.#reads = reads;
    this.#draft = draft;
    this.#whenStale = whenStale;
  }

  /** Returns clock and horizon of the version that was read. */
  async state(): Promise<Pick<ListState, 'clock' | 'horizon'>> {
    return this.#draft ?? this.#state ?? this.#reads.state(this.list);
  }

  /** Yields the entries of a range in order, in pieces of about the given size. */
  async *walk(
    part: Part,
    range: TimestampRange,
    isDescending: boolean,
    size: number,
  ): AsyncGenerator<readonly StoredEntry[], void, undefined> {
    const changes = this.#draft?.changesIn(part, range, isDescending) ?? [];
    if (this.#draft?.isEmptied === true) {
      if (changes.length > 0) yield changes;
      return;
    }
    let { low, high } = range;
    let next = 0;
    while (low <= high) {
      const read = await this.#reads.range(this.list, part, { low, high }, { isDescending, limit: size });
      this.#verify(read);
      const last = read.more ? read.entries.at(-1)?.lastModified : undefined;
      const passed = changes.slice(next).filter((entry) => last === undefined || isBefore(entry, last, isDescending));
      next += passed.length;
      yield this.#merge(read.entries, passed, isDescending);
      if (last === undefined) return;
      if (isDescending) high = last - 1;
      else low = last + 1;
    }
  }

  /** Returns the existing entries of the given ids. */
  async byIds(ids: readonly string[]): Promise<readonly StoredEntry[]> {
    const unknown = ids.filter((id) => this.#draft?.knows(id) !== true);
    const read = new Map<string, StoredEntry | undefined>();
    for (let first = 0; first < unknown.length;) {
      const head = await this.#reads.head(this.list, unknown.slice(first, first + idChunk));
      this.#verify(head);
      for (const entry of head.entries) {
        const id = unknown[first++]!;
        this.#draft?.learn(id, entry);
        read.set(id, entry);
      }
    }
    const found = ids.map((id) => (this.#draft === undefined ? read.get(id) : this.#draft.find(id)));
    return found.filter((entry) => entry !== undefined);
  }

  /** Returns the entries with one of the timestamps. */
  async byTimestamps(timestamps: ReadonlySet<number>): Promise<readonly StoredEntry[]> {
    const all = [...timestamps];
    const ids = new Set<string>();
    for (const [id, entry] of this.#draft?.changed ?? []) {
      if (entry !== undefined && timestamps.has(entry.lastModified)) ids.add(id);
    }
    for (let first = 0; first < all.length && this.#draft?.isEmptied !== true; first += idChunk) {
      const read = await this.#reads.idsAt(this.list, all.slice(first, first + idChunk));
      this.#verify(read);
      for (const id of read.ids) ids.add(id);
    }
    // The draft may have changed the timestamps of entries on the server.
    return (await this.byIds([...ids])).filter(({ lastModified }) => timestamps.has(lastModified));
  }

  /** Returns the number of entries with a timestamp in the range. */
  async countRange(part: Part, range: TimestampRange): Promise<number> {
    const draft = this.#draft;
    if (range.low > range.high) return 0;
    if (draft?.isEmptied === true) return draft.changesIn(part, range, false).length;
    if (draft !== undefined && part === 'both') {
      return (await this.countRange('live', range)) + (await this.countRange('dead', range));
    }
    const low = part === 'dead' ? Math.max(range.low, draft?.purgedBelow ?? -Infinity) : range.low;
    const read = await this.#reads.count(this.list, part, { low, high: range.high });
    this.#verify(read);
    return read.total + (draft?.differenceIn(part, range) ?? 0);
  }

  #merge(read: readonly StoredEntry[], changes: readonly StoredEntry[], isDescending: boolean): readonly StoredEntry[] {
    const draft = this.#draft;
    if (draft === undefined) return read;
    const shown = read.filter((entry) => draft.shows(entry));
    if (changes.length === 0) return shown;
    const sign = isDescending ? -1 : 1;
    return [...shown, ...changes].toSorted((a, b) => sign * (a.lastModified - b.lastModified));
  }

  #verify(state: ListState): void {
    const { version } = this.#draft ?? (this.#state ??= state);
    if (state.version !== version) throw this.#whenStale();
  }
}

function isBefore({ lastModified }: StoredEntry, timestamp: number, isDescending: boolean): boolean {
  return isDescending ? lastModified > timestamp : lastModified < timestamp;
}
