// Reconstructs the records of a collection at a past time. Records unchanged since then are read from the collection,
// the others from the change log. All reads are queries by page, and other requests run between the steps.
import { largeTextChars, StepBudget } from '../../base/json-steps.ts';
import { sortInSteps } from '../../base/sort-in-steps.ts';
import { pause, runFromNow, type Steps } from '../../base/steps.ts';
import type { RequireRoom, StorageReader } from '../../contracts/storage.ts';
import { charsOf, formatEntry, type ListKey } from '../../core/objects/stored.ts';
import { oldestFirst, shortPageBytes, walk, walkIds } from '../../engine/walk.ts';
import type { ChangeLog, ChangeSelection, LoggedChange } from './change-log.ts';
import { where } from './history-entry.ts';

/** Sources and limits of a snapshot. */
export interface SnapshotSource {
  readonly storage: StorageReader;
  readonly records: ListKey;
  /** Whether the collection exists now. */
  readonly exists: boolean;
  readonly changes: ChangeLog;
  /** Which changes count; absent: all of them. */
  readonly extent?: SnapshotExtent | undefined;
  /** Maximum size of all records together. */
  readonly maxBytes: number;
  /** Reserves memory for a page. */
  readonly requireRoom: RequireRoom | undefined;
  /** Reserves memory for the bytes found so far. Called from time to time. */
  readonly reserve: (bytes: number) => void;
}

/** Changes to records of the present collection, and not to those of an earlier one of the same name. */
export interface SnapshotExtent {
  /** Timestamp of records after which changes count. Those since the last creation or deletion of the collection do, too. */
  readonly after: number;
  /** Whether no change counts if the change log does not contain that creation. */
  readonly isCreationRequired: boolean;
}

/** A record at the time of the snapshot. */
interface SnapshotRecord {
  readonly lastModified: number;
  readonly text: string;
}

/** Thrown when the records together exceed the maximum size. */
export class SnapshotTooLarge extends Error {}

/** Maximum number of ids in a query of the history. With more ids, the whole history is read. */
const maxSearchedIds = 500;

/**
 * Returns the records at a time as JSON, newest first and separated by commas, in pieces of a long text.
 *
 * @param at milliseconds since 1970 UTC; changes at exactly this time are included
 * @returns `undefined` when the collection does not exist and the change log does not know it
 * @throws SnapshotTooLarge
 */
export async function readSnapshot(source: SnapshotSource, at: number): Promise<readonly string[] | undefined> {
  const { storage, records, exists, changes, extent, requireRoom } = source;
  if (!exists && (await changes.findNewest({})) === undefined) return undefined;
  const found = new RecordCollector(source);
  // Records change while they are read, also at times up to `at`. What changes from here on is later than the clock.
  const clock = await storage.resourceTimestamp(records);
  const border = clock === undefined ? at : Math.min(at, clock);
  // Unchanged records are read first. Those that change from here on are found in the change log.
  const unchanged = new Set<string>();
  const earlier = { filters: [where('last_modified', 'max', border)] };
  const budget = new StepBudget();
  for await (const entries of walk(storage, records, earlier, requireRoom, { maxBytes: shortPageBytes })) {
    for (const entry of entries) {
      unchanged.add(entry.id);
      found.add({ lastModified: entry.lastModified, text: formatEntry(entry) });
      if (budget.spendOnObject(charsOf(entry))) await pause('normal');
    }
  }
  const finish = (): Promise<readonly string[]> | readonly string[] => runFromNow(found.newestFirst(), 'normal');
  if (extent !== undefined && extent.after >= border) return finish();
  const start = extent && (await changes.findNewest({ kind: 'collection', actions: ['create', 'delete'] }));
  if (extent?.isCreationRequired === true && start === undefined) return finish();
  const { before: after = start, isLater, deleted } = await findDeletions(changes, { at, border, after: start });
  const wanted = isLater || !exists ? undefined : await findChanged(source, border, { deleted, unchanged });
  const counted = { from: extent && extent.after + 1, upTo: border, after };
  if (wanted?.size !== 0) await addChanged(changes, counted, { wanted, unchanged }, found);
  return finish();
}

/** Number of bytes between two memory reservations. */
const reservationBytes = 1_048_576;

/** Collects records up to the maximum size. */
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
    if (this.#bytes > this.#reserved + reservationBytes) {
      this.#reserved = this.#bytes;
      this.#limits.reserve(this.#bytes);
    }
    this.#records.push(record);
  }

  /** Joins the records into pieces of a long text. */
  *newestFirst(): Steps<readonly string[]> {
    const records = yield* sortInSteps(this.#records, (a, b) => b.lastModified - a.lastModified);
    const pieces: string[] = [];
    let texts: string[] = [];
    let chars = 0;
    for (const { text } of records) {
      texts.push(text);
      chars += text.length;
      if (chars < largeTextChars) continue;
      pieces.push(texts.join(','), ',');
      texts = [];
      chars = 0;
      yield;
    }
    if (texts.length === 0) pieces.pop();
    else pieces.push(texts.join(','));
    return pieces;
  }
}

/** Deletions that affect the snapshot. */
interface Deletions {
  /** Last deletion of the collection before the time. Older changes do not count. */
  readonly before: LoggedChange | undefined;
  /** Whether the collection was deleted later. Its records were deleted without entries, so any may be missing. */
  readonly isLater: boolean;
  /** Records deleted individually later. Their tombstones may have been purged. */
  readonly deleted: ReadonlySet<string>;
}

interface DeletionTimes {
  readonly at: number;
  /** The time `at` by the clock of the records, which may be earlier. */
  readonly border: number;
  readonly after: LoggedChange | undefined;
}

async function findDeletions(changes: ChangeLog, { at, border, after }: DeletionTimes): Promise<Deletions> {
  const deleted = new Set<string>();
  let isLater = false;
  for await (const change of changes.newestFirst({ actions: ['delete'], after })) {
    if (change.kind === 'record') {
      if (change.lastModified > border) deleted.add(change.recordId);
    } else if (await isBefore(changes, change, at)) {
      return { before: change, isLater, deleted };
    } else isLater = true;
  }
  return { before: undefined, isLater, deleted };
}

/**
 * Returns whether a deletion of the collection was before the time. Each list has its own clock, which may be ahead of the
 * time. So a record that was written before the deletion counts as earlier, whatever its timestamp.
 */
async function isBefore(changes: ChangeLog, deletion: LoggedChange, at: number): Promise<boolean> {
  if (deletion.lastModified > at) return false;
  return (await changes.findNewest({ kind: 'record', from: at, before: deletion })) === undefined;
}

/**
 * Returns the ids of records deleted after the time, and of those changed that the list of records still knows, except those
 * that were found unchanged.
 */
async function findChanged(
  { storage, records, requireRoom }: SnapshotSource,
  border: number,
  { deleted, unchanged }: { readonly deleted: ReadonlySet<string>; readonly unchanged: ReadonlySet<string> },
): Promise<ReadonlySet<string>> {
  const changed = new Set<string>();
  const later = { filters: [where('last_modified', 'gt', border)], includeDeleted: true };
  // The oldest first: a record that changes meanwhile moves behind the position, and is found there.
  for await (const id of walkIds(storage, records, later, requireRoom, oldestFirst)) {
    if (!unchanged.has(id)) changed.add(id);
  }
  for (const id of deleted) if (!unchanged.has(id)) changed.add(id);
  return changed;
}

interface Wanted {
  /** Ids to find; `undefined` means any. */
  readonly wanted: ReadonlySet<string> | undefined;
  /** Ids found already. */
  readonly unchanged: ReadonlySet<string>;
}

/** Adds changed records in their state after the last of the selected changes, unless that was a deletion. */
async function addChanged(
  changes: ChangeLog,
  selection: Pick<ChangeSelection, 'from' | 'upTo' | 'after'>,
  { wanted, unchanged }: Wanted,
  found: RecordCollector,
): Promise<void> {
  const recordIds = wanted !== undefined && wanted.size <= maxSearchedIds ? [...wanted] : undefined;
  const seen = new Set<string>();
  for await (const change of changes.newestFirst({ ...selection, kind: 'record', recordIds })) {
    const id = change.recordId;
    if (seen.has(id) || unchanged.has(id) || wanted?.has(id) === false) continue;
    seen.add(id);
    if (change.action !== 'delete') found.add({ lastModified: change.lastModified, text: change.text() });
    if (seen.size === wanted?.size) return;
  }
}
