// What has happened to a collection and its records, newest first: what the request itself has done, which is not in the
// history yet, and then the history.
import { formatJson, getKey, isJsonObject } from '../../base/json.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import { formatEntry, isTombstone, type ListKey, type StoredObject } from '../../core/objects/stored.ts';
import type { Filter } from '../../core/query/ast.ts';
import { parseField } from '../../core/query/fields.ts';
import { newestFirst } from '../../core/query/sort.ts';
import type { Change } from '../../engine/events/event.ts';
import { walk } from '../../engine/walk.ts';
import { where } from './where.ts';

/** One change, as much of it as tells what there was. */
export interface PastChange {
  /** Grows from change to change. */
  readonly place: number;
  readonly kind: string;
  readonly isDeletion: boolean;
  /** Id of the record; empty when it is about the collection. */
  readonly recordId: string;
  /** Timestamp that the object got, or its tombstone. */
  readonly lastModified: number;
  /** The object after the change, as JSON. */
  text(): string;
}

/** Which changes are wanted; what is left out does not matter. */
export interface PastSelection {
  readonly kind?: 'record';
  readonly isDeletion?: true;
  /** The greatest timestamp of the object. */
  readonly upTo?: number;
  /** The least timestamp of the object. */
  readonly from?: number;
  /** The change after which to look. */
  readonly after?: PastChange | undefined;
  /** The change before which to look. */
  readonly before?: PastChange;
  /** The records to look for, when they are few; others may be among what is found. */
  readonly recordIds?: readonly string[] | undefined;
}

export class PastChanges {
  readonly #storage: StorageReader;
  readonly #history: ListKey;
  readonly #collectionId: string;
  readonly #unrecorded: readonly PastChange[];

  /** @param unrecorded what the request has done in the bucket so far and is going to be recorded, in order */
  constructor(storage: StorageReader, history: ListKey, collectionId: string, unrecorded: readonly Change[]) {
    this.#storage = storage;
    this.#history = history;
    this.#collectionId = collectionId;
    // They come after all that is in the history, wherever that ends.
    const first = Number.MAX_SAFE_INTEGER - unrecorded.length;
    this.#unrecorded = unrecorded
      .map((change, index) => ({ change, place: first + index }))
      .filter(({ change }) => change.ids['collection_id'] === collectionId)
      .map(({ change, place }) => readChange(change, place))
      .toReversed();
  }

  /** Whether any change is like that. */
  async has(selection: PastSelection): Promise<boolean> {
    if (this.#unrecorded.some((change) => isSelected(change, selection))) return true;
    const options = { filters: this.#filters(selection), sort: newestFirst, limit: 1 };
    const { entries } = await this.#storage.listAll(this.#history, options);
    return entries.length > 0;
  }

  /** The changes that are like that. */
  async *newestFirst(selection: PastSelection): AsyncGenerator<PastChange, void, undefined> {
    for (const change of this.#unrecorded) if (isSelected(change, selection)) yield change;
    for await (const entries of walk(this.#storage, this.#history, { filters: this.#filters(selection) })) {
      for (const entry of entries) if (!isTombstone(entry)) yield readEntry(entry);
    }
  }

  #filters({ kind, isDeletion, from, upTo, after, before, recordIds }: PastSelection): readonly Filter[] {
    const filters = [where('collection_id', 'eq', this.#collectionId)];
    if (kind !== undefined) filters.push(where('resource_name', 'eq', kind));
    if (isDeletion) filters.push(where('action', 'eq', 'delete'));
    if (from !== undefined) filters.push(where('target.data.last_modified', 'min', from));
    if (upTo !== undefined) filters.push(where('target.data.last_modified', 'max', upTo));
    if (after !== undefined) filters.push(where('last_modified', 'gt', after.place));
    if (before !== undefined) filters.push(where('last_modified', 'lt', before.place));
    if (recordIds !== undefined) filters.push({ field: parseField('record_id'), operator: 'in', values: recordIds });
    return filters;
  }
}

function isSelected(change: PastChange, selection: PastSelection): boolean {
  const { kind, isDeletion, from = -Infinity, upTo = Infinity, after, before } = selection;
  if (kind !== undefined && change.kind !== kind) return false;
  if (isDeletion && !change.isDeletion) return false;
  if (change.lastModified < from || change.lastModified > upTo) return false;
  return change.place > (after?.place ?? -Infinity) && change.place < (before?.place ?? Infinity);
}

function readChange({ kind, action, ids, new: entry }: Change, place: number): PastChange {
  const recordId = ids['record_id'] ?? '';
  const { lastModified } = entry;
  return { place, kind, isDeletion: action === 'delete', recordId, lastModified, text: () => formatEntry(entry) };
}

function readEntry(entry: StoredObject): PastChange {
  const target = getKey(entry.attributes, 'target');
  const data = isJsonObject(target) ? getKey(target, 'data') : undefined;
  if (!isJsonObject(data)) throw new Error('a history entry without the object it is about');
  return {
    place: entry.lastModified,
    kind: readText(entry, 'resource_name'),
    isDeletion: readText(entry, 'action') === 'delete',
    recordId: readText(entry, 'record_id'),
    lastModified: Number(getKey(data, 'last_modified')),
    text: () => formatJson(data),
  };
}

function readText(entry: StoredObject, name: string): string {
  const value = getKey(entry.attributes, name);
  return typeof value === 'string' ? value : '';
}
