// The changes of a collection and its records, newest first: those of the current request, which are not recorded yet,
// then those in the history.
import { StepBudget } from '../../base/json-steps.ts';
import { formatJson, getKey, isJsonObject } from '../../base/json.ts';
import { pause } from '../../base/steps.ts';
import type { RequireRoom, StorageReader } from '../../contracts/storage.ts';
import { charsOf, formatEntry, isTombstone, type ListKey, type StoredObject } from '../../core/objects/stored.ts';
import type { Filter } from '../../core/query/ast.ts';
import { parseField } from '../../core/query/fields.ts';
import { newestFirst } from '../../core/query/sort.ts';
import type { Change } from '../../engine/events/event.ts';
import { walk } from '../../engine/walk.ts';
import { where } from './history-entry.ts';

/** One change, reduced to what a snapshot needs. */
export interface LoggedChange {
  /** Increases from change to change. */
  readonly position: number;
  readonly kind: string;
  readonly action: string;
  /** Id of the record; empty for a change of the collection. */
  readonly recordId: string;
  /** Timestamp of the object or its tombstone after the change. */
  readonly lastModified: number;
  /** Returns the object after the change as JSON. */
  text(): string;
}

/** Criteria for changes; absent members match all. */
export interface ChangeSelection {
  readonly kind?: 'record' | 'collection';
  readonly actions?: readonly Change['action'][];
  /** Largest timestamp of the object. */
  readonly upTo?: number | undefined;
  /** Smallest timestamp of the object. */
  readonly from?: number | undefined;
  /** Only changes after this one. */
  readonly after?: LoggedChange | undefined;
  /** Only changes before this one. */
  readonly before?: LoggedChange;
  /** Narrows the search to these records if they are few; others may be found too. */
  readonly recordIds?: readonly string[] | undefined;
}

/** Where the changes of a collection are recorded. */
export interface ChangeLogSource {
  readonly storage: StorageReader;
  readonly history: ListKey;
  readonly collectionId: string;
  /** Reserves memory for what is read. */
  readonly requireRoom: RequireRoom | undefined;
}

export class ChangeLog {
  readonly #source: ChangeLogSource;
  readonly #unrecorded: readonly LoggedChange[];

  /** @param unrecorded changes of the current request in the bucket that will be recorded, in order */
  constructor(source: ChangeLogSource, unrecorded: readonly Change[]) {
    this.#source = source;
    // Their positions are above those of all entries in the history.
    const first = Number.MAX_SAFE_INTEGER - unrecorded.length;
    this.#unrecorded = unrecorded
      .map((change, index) => ({ change, position: first + index }))
      .filter(({ change }) => change.ids['collection_id'] === source.collectionId)
      .map(({ change, position }) => readChange(change, position))
      .toReversed();
  }

  /** Returns the newest matching change. */
  async findNewest(selection: ChangeSelection): Promise<LoggedChange | undefined> {
    const unrecorded = this.#unrecorded.find((change) => isSelected(change, selection));
    if (unrecorded !== undefined) return unrecorded;
    const { storage, history, requireRoom } = this.#source;
    const options = { filters: this.#filters(selection), sort: newestFirst, limit: 1 };
    const [entry] = (await storage.listAll(history, options)).entries;
    if (entry === undefined || isTombstone(entry)) return undefined;
    if (entry.isLarge) requireRoom?.(entry.text.length);
    return readEntry(entry);
  }

  /** Yields the matching changes, with pauses in which other requests run. */
  async *newestFirst(selection: ChangeSelection): AsyncGenerator<LoggedChange, void, undefined> {
    for (const change of this.#unrecorded) if (isSelected(change, selection)) yield change;
    const { storage, history, requireRoom } = this.#source;
    const budget = new StepBudget();
    for await (const entries of walk(storage, history, { filters: this.#filters(selection) }, requireRoom)) {
      for (const entry of entries) {
        if (isTombstone(entry)) continue;
        yield readEntry(entry);
        if (budget.spendOnObject(charsOf(entry))) await pause('normal');
      }
    }
  }

  #filters({ kind, actions, from, upTo, after, before, recordIds }: ChangeSelection): readonly Filter[] {
    const filters = [where('collection_id', 'eq', this.#source.collectionId)];
    if (kind !== undefined) filters.push(where('resource_name', 'eq', kind));
    if (actions !== undefined) filters.push({ field: parseField('action'), operator: 'in', values: actions });
    if (from !== undefined) filters.push(where('target.data.last_modified', 'min', from));
    if (upTo !== undefined) filters.push(where('target.data.last_modified', 'max', upTo));
    if (after !== undefined) filters.push(where('last_modified', 'gt', after.position));
    if (before !== undefined) filters.push(where('last_modified', 'lt', before.position));
    if (recordIds !== undefined) filters.push({ field: parseField('record_id'), operator: 'in', values: recordIds });
    return filters;
  }
}

function isSelected(change: LoggedChange, selection: ChangeSelection): boolean {
  const { kind, actions, from = -Infinity, upTo = Infinity, after, before } = selection;
  if (kind !== undefined && change.kind !== kind) return false;
  if (actions?.some((action) => action === change.action) === false) return false;
  if (change.lastModified < from || change.lastModified > upTo) return false;
  return change.position > (after?.position ?? -Infinity) && change.position < (before?.position ?? Infinity);
}

function readChange({ kind, action, ids, new: entry }: Change, position: number): LoggedChange {
  const recordId = ids['record_id'] ?? '';
  const { lastModified } = entry;
  return { position, kind, action, recordId, lastModified, text: () => formatEntry(entry) };
}

function readEntry(entry: StoredObject): LoggedChange {
  const target = getKey(entry.attributes, 'target');
  const data = isJsonObject(target) ? getKey(target, 'data') : undefined;
  if (!isJsonObject(data)) throw new Error('A history entry has no target object.');
  return {
    position: entry.lastModified,
    kind: readText(entry, 'resource_name'),
    action: readText(entry, 'action'),
    recordId: readText(entry, 'record_id'),
    lastModified: Number(getKey(data, 'last_modified')),
    text: () => formatJson(data),
  };
}

function readText(entry: StoredObject, name: string): string {
  const value = getKey(entry.attributes, name);
  return typeof value === 'string' ? value : '';
}
