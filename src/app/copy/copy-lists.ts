// Copies all lists with their clocks. What the target has already, from a copy that was cut off or from an earlier one,
// is compared entry by entry, and only what differs is written.
import type { StorageBackend } from '../../contracts/storage.ts';
import { isTombstone, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import { Growth, inUnit } from './units.ts';
import { compareIds, sizeOf, walkEntries, walkLists, walkPairs } from './walk.ts';

export interface ListCopyOptions {
  /** Whether the target may hold something already. */
  readonly resumes: boolean;
  /** Called with the number of entries that are settled since the last call. */
  readonly onProgress: (entries: number) => void;
}

/** Makes the lists of the target what those of the source are; answers with the number of entries written or removed. */
export async function copyLists(
  source: StorageBackend,
  target: StorageBackend,
  { resumes, onProgress }: ListCopyOptions,
): Promise<number> {
  const writes = new Restorations(target, onProgress);
  for await (const list of walkLists(source.reader)) {
    const clock = resumes ? await target.reader.resourceTimestamp(list) : undefined;
    if (clock !== list.timestamp) await writes.add(list, list.timestamp, {});
    if (clock === undefined) {
      for await (const put of walkEntries(source.reader, list)) await writes.add(list, list.timestamp, { put });
      continue;
    }
    const pairs = walkPairs(walkEntries(source.reader, list), walkEntries(target.reader, list), compareIds);
    for await (const [ours, theirs] of pairs) {
      if (ours === undefined) await writes.add(list, list.timestamp, { gone: theirs.id });
      else if (theirs === undefined || !isSame(ours, theirs)) await writes.add(list, list.timestamp, { put: ours });
      else onProgress(1);
    }
  }
  await writes.finish();
  return writes.written;
}

function isSame(a: StoredEntry, b: StoredEntry): boolean {
  if (a.lastModified !== b.lastModified) return false;
  return isTombstone(a) ? isTombstone(b) : !isTombstone(b) && a.text === b.text;
}

interface Part {
  readonly list: ListKey;
  readonly clock: number;
  readonly entries: StoredEntry[];
  readonly gone: string[];
}

/** What one unit of work holds at most. Many small lists share one, because each commit waits for the disk. */
const unitEntries = 500;
const unitLists = 200;
const unitCharacters = 4_000_000;

/** Collects what is to be restored and writes it in units of work, in the order of the lists. */
class Restorations {
  readonly #target: StorageBackend;
  readonly #onWritten: (entries: number) => void;
  readonly #growth: Growth;
  readonly #parts: Part[] = [];
  #entries = 0;
  #characters = 0;
  written = 0;

  constructor(target: StorageBackend, onWritten: (entries: number) => void) {
    this.#target = target;
    this.#onWritten = onWritten;
    this.#growth = new Growth(target.database);
  }

  /** Adds an entry to be put, an id to be gone, or the clock alone. */
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
      part = { list, clock, entries: [], gone: [] };
      this.#parts.push(part);
    }
    if (put !== undefined) part.entries.push(put);
    if (gone !== undefined) part.gone.push(gone);
    if (put !== undefined || gone !== undefined) this.#entries++;
    this.#characters += size;
  }

  async finish(): Promise<void> {
    await this.flush();
    await this.#growth.finish();
  }

  async flush(): Promise<void> {
    if (this.#parts.length === 0) return;
    await inUnit(this.#target.database, async (transaction) => {
      const writer = this.#target.writer(transaction);
      for (const { list, clock, entries, gone } of this.#parts) await writer.restore(list, { clock, entries, gone });
    });
    this.#onWritten(this.#parts.reduce((sum, { entries }) => sum + entries.length, 0));
    this.written += this.#entries;
    await this.#growth.add(this.#entries + this.#parts.length);
    this.#parts.length = 0;
    this.#entries = 0;
    this.#characters = 0;
  }
}
