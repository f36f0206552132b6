// Stored objects: the attributes as JSON text, the id and the timestamp. Responses are concatenated from these texts;
// attributes are parsed only when their values are needed.
import {
  formatJson,
  getKey,
  parseStoredJson,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
} from '../../base/json.ts';
import { findMember } from '../../base/json-text.ts';
import { copyMembers, largeTextChars, parseStoredInSteps } from '../../base/json-steps.ts';
import type { Steps } from '../../base/steps.ts';
import type { ListParent } from './uris.ts';

/** A list: all objects of a kind below one parent, with a clock of its own. */
export interface ListKey {
  /** Name of the resource kind, such as `record`. */
  readonly kind: string;
  /** URI of the parent object, `''` for kinds at the root, or a user id for user resources. */
  readonly parent: ListParent;
}

/** Keys of an object in the declared indexes of its list, by slot; `undefined` in slots without an index. */
export type IndexKeys = readonly (Buffer | undefined)[];

/** Number of attributes of a large object that are looked up in its text before all of them are parsed. */
const maxLookups = 8;
/** Numbers of these lookups. In a map, because few objects are large. */
const lookups = new WeakMap<StoredObject, number>();

/** Counts a lookup; returns whether it costs less than parsing. */
function mayLookUp(object: StoredObject): boolean {
  const count = (lookups.get(object) ?? 0) + 1;
  lookups.set(object, count);
  return count <= maxLookups;
}

/** A live object. Immutable; `attributes` returns a shared value, which must not be changed. */
export class StoredObject {
  readonly id: string;
  /** Milliseconds since 1970 UTC. */
  readonly lastModified: number;
  /** Compact JSON text of the attributes, without `id` and `last_modified`. */
  readonly text: string;
  /** Keys in the declared indexes of the list, of an object that is being stored; `undefined`: the list has none. */
  readonly keys: IndexKeys | undefined;
  /** Large attributes are held weakly: parsed, they take several times the memory of their text. */
  #attributes: JsonObject | WeakRef<JsonObject> | undefined;

  /** @param attributes the parsed text, when it is known */
  constructor(id: string, lastModified: number, text: string, attributes?: JsonObject, keys?: IndexKeys) {
    this.id = id;
    this.lastModified = lastModified;
    this.text = text;
    this.keys = keys;
    if (attributes !== undefined) this.#keep(attributes);
  }

  /** The attributes without `id` and `last_modified`. Parsed once; `read` parses large ones in steps. */
  get attributes(): JsonObject {
    return this.#parsed ?? this.#keep(parseStoredJson(this.text) as JsonObject);
  }

  /** Returns one attribute, without parsing the others of a large object; `undefined` when it is missing. */
  attribute(name: string): JsonValue | undefined {
    const parsed = this.#parsed;
    if (parsed === undefined && this.isLarge && mayLookUp(this)) {
      const text = findMember(this.text, name);
      return text === undefined ? undefined : parseStoredJson(text);
    }
    return getKey(parsed ?? this.attributes, name);
  }

  /** Upper limit of the length of the text, in characters; the length itself unless the text is deferred. */
  get chars(): number {
    return this.text.length;
  }

  /** Whether the text was left in the database. */
  get isDeferred(): boolean {
    return false;
  }

  /** Whether work on all attributes should be done in steps. */
  get isLarge(): boolean {
    return this.chars >= largeTextChars;
  }

  /** Returns the attributes. Keep the result while it is used: those of large objects may be garbage collected. */
  *read(): Steps<JsonObject> {
    return this.#parsed ?? this.#keep((yield* parseStoredInSteps(this.text)) as JsonObject);
  }

  get #parsed(): JsonObject | undefined {
    const kept = this.#attributes;
    return kept instanceof WeakRef ? kept.deref() : kept;
  }

  #keep(attributes: JsonObject): JsonObject {
    this.#attributes = this.isLarge ? new WeakRef(attributes) : attributes;
    return attributes;
  }
}

/** The mark of a deletion, for clients that synchronise the list. */
export interface Tombstone {
  readonly id: string;
  readonly lastModified: number;
  readonly deleted: true;
}

/** Whether two versions of one object are the same; `undefined` stands for a missing object. */
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

/** Returns the length of the text of an entry; tombstones have none. */
export function charsOf(entry: StoredEntry): number {
  return isTombstone(entry) ? 0 : entry.text.length;
}

/** Ids that are their own JSON text between quotes, as almost all are. */
const plainId = /^[\w-]*$/;

/** Returns the JSON text of an object or tombstone for clients, with `id` and `last_modified`. */
export function formatEntry(entry: StoredEntry): string {
  if (isTombstone(entry)) return `{${ownMembers(entry)},"deleted":true}`;
  const [attributes, end] = entryPieces(entry);
  return attributes + end;
}

/** Returns `formatEntry` in two pieces, the first with the attributes: a large text is not copied. */
export function entryPieces(object: StoredObject): readonly [attributes: string, end: string] {
  const own = ownMembers(object);
  return object.text === '{}' ? ['{', `${own}}`] : [object.text.slice(0, -1), `,${own}}`];
}

function ownMembers({ id, lastModified }: StoredEntry): string {
  const idText = plainId.test(id) ? `"${id}"` : JSON.stringify(id);
  return `"id":${idText},"last_modified":${formatTimestamp(lastModified)}`;
}

/** JSON text of the marker for an object that filters exclude. */
export function formatGone({ id, lastModified }: StoredObject): string {
  return `{"id":${JSON.stringify(id)},"last_modified":${lastModified},"gone":true}`;
}

const million = 1_000_000;

/** Returns the digits of a timestamp. Formats two halves, because small integers take half the time. */
function formatTimestamp(timestamp: number): string {
  if (timestamp < million) return String(timestamp);
  const millions = Math.floor(timestamp / million);
  return `${millions}${String(timestamp - millions * million + million).slice(1)}`;
}

/** Returns the JSON texts of several entries, separated by commas, as one flat string that can be cached. */
export function formatEntries(entries: readonly StoredEntry[]): string {
  return entries.map(formatEntry).join(',');
}

/** Returns an object or tombstone as a value, in the form for clients. */
export function entryValue(entry: StoredEntry): JsonObject {
  if (isTombstone(entry)) return { id: entry.id, last_modified: entry.lastModified, deleted: true };
  return { ...entry.attributes, id: entry.id, last_modified: entry.lastModified };
}

/** Returns an object as a value, in the form for clients. */
export function* entryInSteps(object: StoredObject): Steps<JsonObject> {
  if (!object.isLarge) return entryValue(object);
  const value: MutableJsonObject = {};
  yield* copyMembers(yield* object.read(), value);
  value['id'] = object.id;
  value['last_modified'] = object.lastModified;
  return value;
}

/** Returns the JSON text of attributes for storage. */
export function formatAttributes(attributes: JsonObject): string {
  return formatJson(attributes);
}
