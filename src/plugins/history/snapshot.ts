// The records of a collection as they were at an instant: what has not changed since is there still, and what has is
// among the past changes. Everything is read by queries, a page at a time.
import type { StorageReader } from '../../contracts/storage.ts';
import { formatEntry, type ListKey } from '../../core/objects/stored.ts';
import { walk } from '../../engine/walk.ts';
import type { LoggedChange, ChangeLog } from './change-log.ts';
import { where } from './where.ts';

/** Where to look. */
export interface SnapshotSource {
  readonly storage: StorageReader;
  readonly records: ListKey;
  /** Whether the collection is there. */
  readonly exists: boolean;
  readonly changes: ChangeLog;
  /** Bytes of all records together, beyond which there is no answer. */
  readonly maxBytes: number;
  /** Reserves memory for the bytes found so far, now and then. */
  readonly reserve: (bytes: number) => void;
}

/** A record as it was. */
interface SnapshotRecord {
  readonly lastModified: number;
  readonly text: string;
}

/** Thrown when the records together are too long for one answer. */
export class SnapshotTooLarge extends Error {}

/** Ids by which the history is searched; when there are more, it is read as a whole. */
const maxSearchedIds = 500;

/**
 * The records at an instant, as JSON texts, newest first.
 *
 * @param at milliseconds since 1970 UTC; what was changed at this very instant is changed
 * @returns `undefined` when there is nothing by that name, and never was as far as known
 * @throws SnapshotTooLarge
 */
export async function readSnapshot(source: SnapshotSource, at: number): Promise<readonly string[] | undefined> {
  const { storage, records, exists, changes } = source;
  if (!exists && !(await changes.has({}))) return undefined;
  const found = new RecordCollector(source);
  // First those that have not changed: whatever changes from here on is found among the changed ones.
  const unchanged = new Set<string>();
  for await (const entries of walk(storage, records, { filters: [where('last_modified', 'max', at)] })) {
    for (const entry of entries) {
      unchanged.add(entry.id);
      found.add({ lastModified: entry.lastModified, text: formatEntry(entry) });
    }
  }
  const { before: after, isLater, deleted } = await findDeletions(changes, at);
  const isUnknown = isLater || !exists;
  const wanted = isUnknown ? undefined : new Set([...(await findChanged(source, at)), ...deleted]);
  for (const id of unchanged) wanted?.delete(id);
  if (wanted?.size !== 0) await addChanged(changes, at, { wanted, unchanged, after }, found);
  return found.newestFirst();
}

/** Bytes that are found before memory is reserved for them. */
const reservedAtOnce = 1_048_576;

/** The records found so far. */
class RecordCollector {
  readonly #records: SnapshotRecord[] = [];
  readonly #limits: Pick<SnapshotSource, 'maxBytes' | 'reserve'>;
  #bytes = 0;
  #reserved = 0;

  constructor(limits: Pick<SnapshotSource, 'maxBytes' | 'reserve'>) {
    this.#limits = limits;
  }

  add(record: SnapshotRecord): void {
    this.#bytes += Buffer.byteLength(record.text);
    if (this.#bytes > this.#limits.maxBytes) throw new SnapshotTooLarge();
    if (this.#bytes > this.#reserved + reservedAtOnce) {
      this.#reserved = this.#bytes;
      this.#limits.reserve(this.#bytes);
    }
    this.#records.push(record);
  }

  newestFirst(): readonly string[] {
    return this.#records.toSorted((a, b) => b.lastModified - a.lastModified).map(({ text }) => text);
  }
}

/** What deletions mean for the instant. */
interface Deletions {
  /** The last deletion of the collection before the instant; nothing older counts. */
  readonly before: LoggedChange | undefined;
  /** Whether the collection was deleted since; with it go its records, silently, so that any may have been lost. */
  readonly isLater: boolean;
  /** Records deleted one by one since. Tombstones would tell, but may have been forgotten. */
  readonly deleted: ReadonlySet<string>;
}

async function findDeletions(changes: ChangeLog, at: number): Promise<Deletions> {
  const deleted = new Set<string>();
  let isLater = false;
  for await (const change of changes.newestFirst({ isDeletion: true })) {
    if (change.kind === 'record') {
      if (change.lastModified > at) deleted.add(change.recordId);
    } else if (await isBefore(changes, change, at)) {
      return { before: change, isLater, deleted };
    } else isLater = true;
  }
  return { before: undefined, isLater, deleted };
}

/**
 * Whether a deletion of the collection was before the instant. Lists have clocks of their own, which may be a little
 * ahead of the time: a record that was written before the deletion was before it, whatever its timestamp.
 */
async function isBefore(changes: ChangeLog, deletion: LoggedChange, at: number): Promise<boolean> {
  if (deletion.lastModified > at) return false;
  return !(await changes.has({ kind: 'record', from: at, before: deletion }));
}

/** The ids of records changed or deleted after the instant, as far as the list of records knows. */
async function findChanged({ storage, records }: SnapshotSource, at: number): Promise<ReadonlySet<string>> {
  const changed = new Set<string>();
  const later = { filters: [where('last_modified', 'gt', at)], includeDeleted: true };
  for await (const entries of walk(storage, records, later)) for (const { id } of entries) changed.add(id);
  return changed;
}

interface Wanted {
  /** Ids to look for; `undefined`: any. */
  readonly wanted: ReadonlySet<string> | undefined;
  /** Ids that are found already. */
  readonly unchanged: ReadonlySet<string>;
  /** The change after which to look. */
  readonly after: LoggedChange | undefined;
}

/** Adds changed records as they were after their last change up to the instant, unless that was a deletion. */
async function addChanged(
  changes: ChangeLog,
  at: number,
  { wanted, unchanged, after }: Wanted,
  found: RecordCollector,
): Promise<void> {
  const recordIds = wanted !== undefined && wanted.size <= maxSearchedIds ? [...wanted] : undefined;
  const seen = new Set<string>();
  for await (const change of changes.newestFirst({ kind: 'record', upTo: at, after, recordIds })) {
    const id = change.recordId;
    if (seen.has(id) || unchanged.has(id) || wanted?.has(id) === false) continue;
    seen.add(id);
    if (!change.isDeletion) found.add({ lastModified: change.lastModified, text: change.text() });
    if (seen.size === wanted?.size) return;
  }
}
