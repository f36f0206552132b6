// Copies all lists with their clocks. Entries that the target has from an earlier or interrupted copy are compared one by one,
// and only differences are written.
import type { ListSummary, Restoration, StorageBackend } from '../../contracts/storage.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import { isTombstone, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import { Growth, inUnit } from '../../maintenance/units.ts';
import { compareTimes, sizeOf, walkEntries, walkLists, walkPairs } from '../../maintenance/walk.ts';

export interface PartOptions {
  /** Whether the target may contain data. */
  readonly resumes: boolean;
  /** Called with the number of entries, or of objects and users with permissions, done since the last call. */
  readonly onProgress: (count: number) => void;
}

/** Makes the lists of the target equal to those of the source; returns the number of entries written or removed. */
export async function copyLists(source: StorageBackend, target: StorageBackend, options: PartOptions): Promise<number> {
  const { resumes, onProgress } = options;
  const writes = new Restorations(source, target, options);
  for await (const list of walkLists(source.reader)) {
    const clock = resumes ? await target.reader.resourceTimestamp(list) : undefined;
    if (clock !== list.timestamp) await writes.add(list, list.timestamp, {});
    if (clock === undefined) {
      for await (const put of walkEntries(source.reader, list)) await writes.add(list, list.timestamp, { put });
      continue;
    }
    const pairs = walkPairs(walkEntries(source.reader, list), walkEntries(target.reader, list), compareTimes);
    for await (const [ours, theirs] of pairs) {
      if (ours === undefined) await writes.add(list, list.timestamp, { gone: theirs.id });
      else if (theirs === undefined || !isSameEntry(ours, theirs))
        await writes.add(list, list.timestamp, { put: ours });
      else onProgress(1);
    }
  }
  await writes.finish();
  await copyHorizons(source, target);
  return writes.written;
}

/** Copies the horizons. Comes last, because tombstones may have been purged while the lists were read. */
async function copyHorizons(source: StorageBackend, target: StorageBackend): Promise<void> {
  let late: ListSummary[] = [];
  const raise = (): Promise<void> =>
    inUnit(target.database, async (transaction) => {
      const writer = target.writer(transaction);
      for (const { kind, parent, timestamp: clock, horizon } of late) {
        await writer.restore({ kind, parent }, { clock, horizon, entries: [] });
      }
    });
  const pairs = walkPairs(walkLists(source.reader), walkLists(target.reader), compareLists);
  for await (const [ours, theirs] of pairs) {
    if (ours === undefined || theirs === undefined || ours.horizon <= theirs.horizon) continue;
    late.push({ ...theirs, horizon: ours.horizon });
    if (late.length < unitLists) continue;
    await raise();
    late = [];
  }
  if (late.length > 0) await raise();
}

/** Returns whether two entries have the same id, timestamp and contents. */
export function isSameEntry(a: StoredEntry, b: StoredEntry): boolean {
  if (a.id !== b.id || a.lastModified !== b.lastModified) return false;
  return isTombstone(a) ? isTombstone(b) : !isTombstone(b) && a.text === b.text;
}

interface Part {
  readonly list: ListKey;
  readonly clock: number;
  /** Entries by id. A source that is written to meanwhile may return an object twice; the last one counts. */
  readonly entries: Map<string, StoredEntry>;
  /** Ids that the target has at other timestamps than the source, and that the source may lack. */
  readonly doubtful: Set<string>;
}

/** Limits of one unit of work. Many small lists share one, because each commit waits for the disk. */
const unitEntries = 500;
const unitLists = 200;
const unitCharacters = 4_000_000;

/** Collects what has to be restored, and writes it in units of work, in the order of the lists. */
class Restorations {
  readonly #source: StorageBackend;
  readonly #target: StorageBackend;
  readonly #onWritten: (entries: number) => void;
  readonly #growth: Growth;
  readonly #isFresh: boolean;
  readonly #parts: Part[] = [];
  #entries = 0;
  #characters = 0;
  written = 0;

  constructor(source: StorageBackend, target: StorageBackend, { resumes, onProgress }: PartOptions) {
    this.#source = source;
    this.#target = target;
    this.#onWritten = onProgress;
    this.#isFresh = !resumes;
    this.#growth = new Growth(target.database);
  }

  /** Adds an entry to put, an id to remove unless the source has it, or the clock alone. */
  async add(
    list: ListKey,
    clock: number,
    { put, gone }: { readonly put?: StoredEntry; readonly gone?: string },
  ): Promise<void> {
    const size = put === undefined ? 0 : sizeOf(put);
    if (this.#entries >= unitEntries || (this.#entries > 0 && this.#characters + size > unitCharacters)) {
      await this.flush();
    }
    let part = this.#parts.at(-1);
    if (part === undefined || part.list.parent !== list.parent || part.list.kind !== list.kind) {
      if (this.#parts.length >= unitLists) await this.flush();
      part = { list, clock, entries: new Map(), doubtful: new Set() };
      this.#parts.push(part);
    }
    if (put !== undefined) part.entries.set(put.id, put);
    if (gone !== undefined) part.doubtful.add(gone);
    if (put !== undefined || gone !== undefined) this.#entries++;
    this.#characters += size;
  }

  async finish(): Promise<void> {
    await this.flush();
    await this.#growth.finish();
  }

  async flush(): Promise<void> {
    if (this.#parts.length === 0) return;
    const restorations = await Promise.all(this.#parts.map((part) => this.#restorationOf(part)));
    await inUnit(this.#target.database, async (transaction, attempt) => {
      const writer = this.#target.writer(transaction);
      // A source that is written to meanwhile may return an object twice.
      const isFresh = this.#isFresh && attempt === 1;
      for (const { list, ...restoration } of restorations) await writer.restore(list, { ...restoration, isFresh });
    });
    const [put, gone] = [countOf(restorations, 'entries'), countOf(restorations, 'gone')];
    this.#onWritten(put);
    this.written += put + gone;
    await this.#growth.add(put + this.#parts.length);
    this.#parts.length = 0;
    this.#entries = 0;
    this.#characters = 0;
  }

  /** Leaves out the ids that the source has: they are put at the place of their timestamp. */
  async #restorationOf({ list, clock, entries, doubtful }: Part): Promise<PartRestoration> {
    const ids = [...doubtful].filter((id) => !entries.has(id));
    const kept = new Set<string>();
    if (ids.length > 0) {
      for await (const { id } of walkEntries(this.#source.reader, list, ids)) kept.add(id);
    }
    return { list, clock, entries: [...entries.values()], gone: ids.filter((id) => !kept.has(id)) };
  }
}

interface PartRestoration extends Required<Omit<Restoration, 'isFresh' | 'horizon'>> {
  readonly list: ListKey;
}

function countOf(restorations: readonly PartRestoration[], what: 'entries' | 'gone'): number {
  return restorations.reduce((sum, restoration) => sum + restoration[what].length, 0);
}
