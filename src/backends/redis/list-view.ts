// One list as one reader sees it: the entries of the server, overlaid by the changes of the reader's unit of work. All reads
// through one view belong to one version of the list.
import type { ListKey, StoredEntry } from '../../core/objects/stored.ts';
import { findCandidates, findCount, type Candidates, type KeyRows } from '../../core/index/find-entries.ts';
import type { KeyRange } from '../../core/index/page-ranges.ts';
import type { RequireRoom } from '../../contracts/storage.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { TimestampRange } from '../../core/query/timestamp-range.ts';
import type { ListOverlay } from './list-overlay.ts';
import { unlimited, type Allowance } from './long-reads.ts';
import type { ListHead, ListReads, ListVersion, Part } from './list-reads.ts';

/** The list was written between two reads of a view. The reader starts again with a new view. */
export class ListChanged extends Error {}

/** Maximum number of ids, or timestamps, that one script reads. */
const idChunk = 1000;

export interface ListViewOptions {
  /** Overlay of the unit that reads; absent: committed state. */
  readonly overlay?: ListOverlay;
  /** Makes the error to throw when the version of the list differs from that of the overlay or the first read. */
  readonly whenStale?: () => Error;
  /** Limit of what is read; default: none. */
  readonly allowance?: Allowance | undefined;
}

export class ListView {
  readonly list: ListKey;
  readonly #reads: ListReads;
  readonly #overlay: ListOverlay | undefined;
  readonly #whenStale: () => Error;
  readonly #allowance: Allowance;
  #version: ListVersion | undefined;

  constructor(
    reads: ListReads,
    list: ListKey,
    { overlay, whenStale = (): Error => new ListChanged(), allowance = unlimited }: ListViewOptions,
  ) {
    this.list = list;
    this.#reads = reads;
    this.#overlay = overlay;
    this.#whenStale = whenStale;
    this.#allowance = allowance;
  }

  /** Returns clock and horizon of the version that was read. */
  async state(): Promise<Pick<ListVersion, 'clock' | 'horizon'>> {
    return this.#overlay?.state ?? this.#version ?? this.#reads.version(this.list);
  }

  /** Yields the entries of a range in order, in pieces of about the given size. */
  async *walk(
    part: Part,
    range: TimestampRange,
    isDescending: boolean,
    size: number,
  ): AsyncGenerator<readonly StoredEntry[], void, undefined> {
    const changes = this.#overlay?.changesIn(part, range, isDescending) ?? [];
    if (this.#overlay?.isEmptied === true) {
      if (changes.length > 0) yield changes;
      return;
    }
    let { low, high } = range;
    let next = 0;
    const options = { isDescending, limit: size, allowance: this.#allowance };
    while (low <= high) {
      const read = await this.#reads.range(this.list, part, { low, high }, options);
      this.#verify(read);
      // Nothing but a text that needs a turn.
      if (read.more && read.entries.length === 0) continue;
      const last = read.more ? read.entries.at(-1)?.lastModified : undefined;
      const passed = changes.slice(next).filter((entry) => last === undefined || isBefore(entry, last, isDescending));
      next += passed.length;
      yield this.#merge(read.entries, passed, isDescending);
      if (last === undefined) return;
      if (isDescending) high = last - 1;
      else low = last + 1;
    }
  }

  /** Yields the entries of the ids that exist, in no particular order, as far as one reply holds them. */
  async *eachById(ids: readonly string[]): AsyncGenerator<readonly StoredEntry[], void, undefined> {
    const overlay = this.#overlay;
    const unknown = overlay === undefined ? ids : ids.filter((id) => !overlay.knows(id));
    if (unknown.length < ids.length) {
      yield ids.flatMap((id) => (overlay?.knows(id) === true ? (overlay.find(id) ?? []) : []));
    }
    for await (const [, entries] of this.#readHeads(unknown)) {
      yield entries.flatMap((entry) => (entry === undefined || overlay?.shows(entry) === false ? [] : [entry]));
    }
  }

  /**
   * Lets the overlay know what the server has of the ids.
   *
   * @param requireRoom called before long texts are read
   */
  async learn(overlay: ListOverlay, ids: readonly string[], requireRoom?: RequireRoom): Promise<void> {
    const unknown = ids.filter((id) => !overlay.knows(id));
    for await (const [read, entries] of this.#readHeads(unknown, requireRoom)) {
      for (const [index, id] of read.entries()) overlay.learn(id, entries[index]);
    }
  }

  /** Yields ids with what the server has of them. */
  async *#readHeads(
    ids: readonly string[],
    requireRoom?: RequireRoom,
  ): AsyncGenerator<readonly [ids: readonly string[], entries: ListHead['entries']], void, undefined> {
    for (let first = 0; first < ids.length;) {
      const chunk = ids.slice(first, first + idChunk);
      const head = await this.#reads.head(this.list, chunk, { allowance: this.#allowance, requireRoom });
      this.#verify(head);
      first += head.entries.length;
      yield [chunk.slice(0, head.entries.length), head.entries];
    }
  }

  /** Returns the entries with these ids; `undefined` for those that the unit may have changed. */
  async committedByIds(ids: readonly string[]): Promise<readonly (StoredEntry | undefined)[]> {
    if (ids.length === 0 || this.#overlay?.isDirty === true) return ids.map(() => undefined);
    const entries = new Map<string, StoredEntry>();
    for await (const found of this.eachById(ids)) for (const entry of found) entries.set(entry.id, entry);
    return ids.map((id) => entries.get(id));
  }

  /** Finds candidates for a page in declared indexes; `undefined` when a scan is needed. */
  async search(query: PageQuery): Promise<Candidates | undefined> {
    if (query.indexes === undefined) return undefined;
    const changed = [...(this.#overlay?.changed.keys() ?? [])];
    // Each object that the unit has changed may be one that the server finds and the unit does not.
    const search = findCandidates({ ...query, limit: query.limit + changed.length });
    let next = search.next();
    while (next.done !== true) next = search.next(await this.#readMembers(next.value));
    return next.value && { ...next.value, ids: [...next.value.ids, ...changed], allMatch: false };
  }

  /** Counts the selected objects in declared indexes, or finds candidates; `undefined` when a scan is needed. */
  async countIndexed(selection: Selection): Promise<number | Candidates | undefined> {
    if (selection.indexes === undefined) return undefined;
    if (this.#overlay?.isDirty === true) return this.search({ ...selection, sort: [], limit: Infinity });
    const search = findCount(selection);
    let next = search.next();
    while (next.done !== true) next = search.next(await this.#readMembers(next.value));
    const found = next.value;
    if (found === undefined || !('ranges' in found)) return found;
    const read = await this.#reads.countMembers(this.list, found.ranges);
    this.#verify(read);
    return read.total;
  }

  async #readMembers(ranges: readonly KeyRange[]): Promise<KeyRows> {
    if (this.#overlay?.isEmptied === true) return { live: this.#overlay.state.live, rows: ranges.map(() => []) };
    const read = await this.#reads.members(this.list, ranges);
    this.#verify(read);
    return read;
  }

  /** Returns the entries that have one of the timestamps, which the overlay then knows. */
  async byTimestamps(overlay: ListOverlay, timestamps: ReadonlySet<number>): Promise<readonly StoredEntry[]> {
    const all = [...timestamps];
    const ids = new Set<string>();
    for (const [id, entry] of overlay.changed) {
      if (entry !== undefined && timestamps.has(entry.lastModified)) ids.add(id);
    }
    for (let first = 0; first < all.length && !overlay.isEmptied; first += idChunk) {
      const read = await this.#reads.idsAt(this.list, all.slice(first, first + idChunk));
      this.#verify(read);
      for (const id of read.ids) ids.add(id);
    }
    await this.learn(overlay, [...ids]);
    // The overlay may have given the entries of the server other timestamps.
    return [...ids].flatMap((id) => {
      const entry = overlay.find(id);
      return entry !== undefined && timestamps.has(entry.lastModified) ? [entry] : [];
    });
  }

  /** Returns the number of entries with a timestamp in the range. */
  async countRange(part: Part, range: TimestampRange): Promise<number> {
    const overlay = this.#overlay;
    if (range.low > range.high) return 0;
    if (overlay?.isEmptied === true) return overlay.changesIn(part, range, false).length;
    if (overlay !== undefined && part === 'both') {
      return (await this.countRange('live', range)) + (await this.countRange('dead', range));
    }
    const low = part === 'dead' ? Math.max(range.low, overlay?.purgedBelow ?? -Infinity) : range.low;
    const read = await this.#reads.count(this.list, part, { low, high: range.high });
    this.#verify(read);
    return read.total + (overlay?.differenceIn(part, range) ?? 0);
  }

  #merge(read: readonly StoredEntry[], changes: readonly StoredEntry[], isDescending: boolean): readonly StoredEntry[] {
    const overlay = this.#overlay;
    if (overlay === undefined) return read;
    const shown = read.filter((entry) => overlay.shows(entry));
    if (changes.length === 0) return shown;
    const sign = isDescending ? -1 : 1;
    return [...shown, ...changes].toSorted((a, b) => sign * (a.lastModified - b.lastModified));
  }

  #verify(read: ListVersion): void {
    const { version } = this.#overlay ?? (this.#version ??= read);
    if (read.version !== version) throw this.#whenStale();
  }
}

function isBefore({ lastModified }: StoredEntry, timestamp: number, isDescending: boolean): boolean {
  return isDescending ? lastModified > timestamp : lastModified < timestamp;
}
