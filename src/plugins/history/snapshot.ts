// The records of a collection as they were at an instant: what has not changed since is there still, and what has is in
// the history. Everything is read by queries, a page at a time.
import { formatJson, getKey, isJsonObject } from '../../base/json.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import {
  formatEntry,
  isTombstone,
  type ListKey,
  type StoredEntry,
  type StoredObject,
} from '../../core/objects/stored.ts';
import type { Filter } from '../../core/query/ast.ts';
import { parseField } from '../../core/query/fields.ts';
import { newestFirst, walk } from '../../engine/walk.ts';
import { where } from './where.ts';

/** Where to look. */
export interface SnapshotSource {
  readonly storage: StorageReader;
  readonly records: ListKey;
  readonly collections: ListKey;
  readonly history: ListKey;
  readonly collectionId: string;
}

/** A record as it was. */
interface PastRecord {
  readonly lastModified: number;
  readonly text: string;
}

/** Thrown when the records together are too long for one answer. */
export class SnapshotTooLarge extends Error {}

/** Characters of all records together, beyond which no answer is put together. */
const maxSnapshotChars = 100_000_000;

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
  const { storage, records, collections, collectionId } = source;
  const collection = await storage.get(collections, collectionId);
  if (collection === undefined && !(await isKnown(source))) return undefined;
  const found = new Collected();
  // First those that have not changed: whatever changes from here on is found among the changed ones.
  const unchanged = new Set<string>();
  for await (const entries of walk(storage, records, { filters: [where('last_modified', 'max', at)] })) {
    for (const entry of entries) {
      unchanged.add(entry.id);
      found.add({ lastModified: entry.lastModified, text: formatEntry(entry) });
    }
  }
  const { before: after, isLater, deleted } = await findLosses(source, at);
  const mayBeAny = isLater || collection === undefined;
  const wanted = mayBeAny ? undefined : new Set([...(await findChanged(source, at)), ...deleted]);
  for (const id of unchanged) wanted?.delete(id);
  if (wanted?.size !== 0) await addPast(source, at, { wanted, unchanged, after }, found);
  return found.newestFirst();
}

/** The records found so far. */
class Collected {
  readonly #records: PastRecord[] = [];
  #chars = 0;

  add(record: PastRecord): void {
    this.#chars += record.text.length;
    if (this.#chars > maxSnapshotChars) throw new SnapshotTooLarge();
    this.#records.push(record);
  }

  newestFirst(): readonly string[] {
    return this.#records.toSorted((a, b) => b.lastModified - a.lastModified).map(({ text }) => text);
  }
}

function ofCollection({ collectionId }: SnapshotSource, kind: 'collection' | 'record'): readonly Filter[] {
  return [where('resource_name', 'eq', kind), where('collection_id', 'eq', collectionId)];
}

async function isKnown({ storage, history, collectionId }: SnapshotSource): Promise<boolean> {
  const filters = [where('collection_id', 'eq', collectionId)];
  const { entries } = await storage.listAll(history, { filters, sort: newestFirst, limit: 1 });
  return entries.length > 0;
}

/** What deletions mean for the instant. */
interface Losses {
  /** Place in the history of the last deletion of the collection before the instant; nothing older counts. */
  readonly before: number | undefined;
  /** Whether the collection was deleted since; with it go its records, silently, so that any may have been lost. */
  readonly isLater: boolean;
  /** Records deleted one by one since. Tombstones would tell, but may have been forgotten. */
  readonly deleted: ReadonlySet<string>;
}

async function findLosses(source: SnapshotSource, at: number): Promise<Losses> {
  const { storage, history, collectionId } = source;
  const filters = [where('collection_id', 'eq', collectionId), where('action', 'eq', 'delete')];
  const deleted = new Set<string>();
  let isLater = false;
  for await (const entries of walk(storage, history, { filters })) {
    for (const entry of entries) {
      if (isTombstone(entry)) continue;
      if (readText(entry, 'resource_name') === 'record') {
        if (readTarget(entry).lastModified > at) deleted.add(readText(entry, 'record_id'));
      } else if (await isBefore(source, entry, at)) {
        return { before: entry.lastModified, isLater, deleted };
      } else isLater = true;
    }
  }
  return { before: undefined, isLater, deleted };
}

/**
 * Whether a deletion of the collection was before the instant. Lists have clocks of their own, which may be a little ahead
 * of the time: a record that was written before the deletion was before it, whatever its timestamp.
 */
async function isBefore(source: SnapshotSource, deletion: StoredObject, at: number): Promise<boolean> {
  if (readTarget(deletion).lastModified > at) return false;
  const { storage, history } = source;
  const filters = [
    ...ofCollection(source, 'record'),
    where('last_modified', 'lt', deletion.lastModified),
    where('target.data.last_modified', 'min', at),
  ];
  const { entries } = await storage.listAll(history, { filters, sort: newestFirst, limit: 1 });
  return entries.length === 0;
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
  /** Place in the history after which to look. */
  readonly after: number | undefined;
}

/** Adds changed records as the history has them: by the last entry up to the instant, unless that is a deletion. */
async function addPast(
  source: SnapshotSource,
  at: number,
  { wanted, unchanged, after }: Wanted,
  found: Collected,
): Promise<void> {
  const { storage, history } = source;
  const filters = [...ofCollection(source, 'record'), where('target.data.last_modified', 'max', at)];
  if (after !== undefined) filters.push(where('last_modified', 'gt', after));
  if (wanted !== undefined && wanted.size <= maxSearchedIds) {
    filters.push({ field: parseField('record_id'), operator: 'in', values: [...wanted] });
  }
  const seen = new Set<string>();
  for await (const entries of walk(storage, history, { filters })) {
    for (const entry of entries) {
      const id = readText(entry, 'record_id');
      if (seen.has(id) || unchanged.has(id) || wanted?.has(id) === false) continue;
      seen.add(id);
      if (readText(entry, 'action') === 'delete' || isTombstone(entry)) continue;
      found.add(readTarget(entry));
    }
    if (seen.size === wanted?.size) return;
  }
}

function readText(entry: StoredEntry, name: string): string {
  const value = isTombstone(entry) ? undefined : getKey(entry.attributes, name);
  return typeof value === 'string' ? value : '';
}

function readTarget(entry: StoredObject): PastRecord {
  const target = getKey(entry.attributes, 'target');
  const data = isJsonObject(target) ? getKey(target, 'data') : undefined;
  if (!isJsonObject(data)) throw new Error('a history entry without the object it is about');
  return { lastModified: Number(getKey(data, 'last_modified')), text: formatJson(data) };
}
