// What storage keeps of an object: its attributes as JSON text, its id and its timestamp. A response is concatenated
// from these texts; the attributes are parsed only when something needs their value.
import { formatJson, parseStoredJson, type JsonObject } from '../../base/json.ts';

/** One list: all objects of a kind below one parent, with a clock of its own. */
export interface ListKey {
  /** Name of the resource kind, such as `record`. */
  readonly kind: string;
  /** URI of the parent object, `''` for kinds at the root, or a user id for user resources. */
  readonly parent: string;
}

/** A live object. Immutable; `attributes` is shared, so never change what it returns. */
export class StoredObject {
  readonly id: string;
  /** Milliseconds since 1970 UTC. */
  readonly lastModified: number;
  /** Compact JSON text of the attributes, without `id` and `last_modified`. */
  readonly text: string;
  #attributes: JsonObject | undefined;

  constructor(id: string, lastModified: number, text: string) {
    this.id = id;
    this.lastModified = lastModified;
    this.text = text;
  }

  /** The attributes without `id` and `last_modified`, parsed once. */
  get attributes(): JsonObject {
    this.#attributes ??= parseStoredJson(this.text) as JsonObject;
    return this.#attributes;
  }
}

/** What a deletion leaves behind, so that clients who follow the list learn of it. */
export interface Tombstone {
  readonly id: string;
  readonly lastModified: number;
  readonly deleted: true;
}

/** Whether two objects of one id, or none, are the same. */
export function isSameObject(
  a: Pick<StoredObject, 'lastModified' | 'text'> | undefined,
  b: Pick<StoredObject, 'lastModified' | 'text'> | undefined,
): boolean {
  return a?.lastModified === b?.lastModified && a?.text === b?.text;
}

export type StoredEntry = StoredObject | Tombstone;

export function isTombstone(entry: StoredEntry): entry is Tombstone {
  return !(entry instanceof StoredObject);
}

/** Ids that are their own JSON text between quotes, as almost all are. */
const plainId = /^[\w-]*$/;

/** JSON text of the object or tombstone as clients see it, `id` and `last_modified` included. */
export function formatEntry(entry: StoredEntry): string {
  const id = plainId.test(entry.id) ? `"${entry.id}"` : JSON.stringify(entry.id);
  const own = `"id":${id},"last_modified":${formatTimestamp(entry.lastModified)}`;
  if (isTombstone(entry)) return `{${own},"deleted":true}`;
  return entry.text === '{}' ? `{${own}}` : `${entry.text.slice(0, -1)},${own}}`;
}

const million = 1_000_000;

/** Digits of a timestamp: in two halves, which are small numbers and so take half the time to write. */
function formatTimestamp(timestamp: number): string {
  if (timestamp < million) return String(timestamp);
  const millions = Math.floor(timestamp / million);
  return `${millions}${String(timestamp - millions * million + million).slice(1)}`;
}

/** The same of several, one after the other with commas between them. The text is in one piece, so that it can be kept. */
export function formatEntries(entries: readonly StoredEntry[]): string {
  return entries.map(formatEntry).join(',');
}

/** The object or tombstone as clients see it, as a value. */
export function entryValue(entry: StoredEntry): JsonObject {
  if (isTombstone(entry)) return { id: entry.id, last_modified: entry.lastModified, deleted: true };
  return { ...entry.attributes, id: entry.id, last_modified: entry.lastModified };
}

/** JSON text of attributes for storage. */
export function formatAttributes(attributes: JsonObject): string {
  return formatJson(attributes);
}
