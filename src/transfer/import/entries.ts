// Parses the JSON of responses into stored entries, without losing digits or keys.
import {
  ExactNumber,
  getKey,
  isJsonObject,
  JsonSyntaxError,
  parseJson,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
} from '../../base/json.ts';
import { findMember, itemTexts } from '../../base/json-text.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { isSafeId } from '../../core/objects/object-id.ts';
import { formatAttributes, StoredObject, type StoredEntry } from '../../core/objects/stored.ts';
import { isImportedTimestamp } from '../../core/objects/timestamps.ts';
import { toPrincipals, type Principal } from '../../core/permissions/principals.ts';
import { BrokenAnswer } from './transport.ts';

/** Limits of one object. They are above those of requests. */
const limits = { maxDepth: 518, maxValues: Infinity };
/** Lists and batches put envelopes around objects. */
const answerLimits = { maxDepth: 520, maxValues: Infinity };

/** An object that cannot be stored here. */
export interface Unfit {
  readonly id: string;
  readonly lastModified: number;
  readonly reason: string;
}

/**
 * Parses a response.
 *
 * @throws BrokenAnswer when it is not JSON; JsonSyntaxError when it is JSON that no backend can store
 */
export function parseAnswer(text: string): JsonObject {
  let value: JsonValue;
  try {
    value = parseJson(text, answerLimits);
  } catch (error) {
    if (error instanceof JsonSyntaxError && isJson(text)) throw error;
    throw new BrokenAnswer('the response is not JSON', { cause: error });
  }
  if (!isJsonObject(value)) throw new BrokenAnswer('the response is not a JSON object');
  return value;
}

/** Whether a text is JSON at all. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the array `data` of a list. */
function dataOf(body: JsonObject): readonly JsonValue[] {
  const data = getKey(body, 'data');
  if (!Array.isArray(data)) throw noData();
  return data as readonly JsonValue[];
}

function noData(): BrokenAnswer {
  return new BrokenAnswer('the response has no array `data`');
}

/**
 * Returns the objects and tombstones in the response of a list.
 *
 * @throws BrokenAnswer when it is not the response of a list
 */
export function readEntries(text: string): readonly (StoredEntry | Unfit)[] {
  try {
    return dataOf(parseAnswer(text)).map(readEntry);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
  }
  // One object makes the whole response unacceptable. Each is read by itself, so the others keep their digits.
  const data = findMember(text, 'data');
  if (data?.startsWith('[') !== true) throw noData();
  return itemTexts(data).map(readItem);
}

function readItem(text: string): StoredEntry | Unfit {
  try {
    return readEntry(parseJson(text, limits));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const { id, lastModified } = readHead(JSON.parse(text) as JsonValue);
    const where = error.path === undefined ? '' : ` (${error.path})`;
    return { id, lastModified: timeOf(lastModified), reason: `${error.message}${where}` };
  }
}

/**
 * Reads an object or tombstone of a list. Kinto stores a `deleted: true` that a client sent on a live object. It is dropped
 * here, as it would be when sent to this service.
 */
function readEntry(value: JsonValue): StoredEntry | Unfit {
  const { id, lastModified, attributes } = readHead(value);
  if (typeof lastModified !== 'number' || !isImportedTimestamp(lastModified)) {
    const reason =
      typeof lastModified === 'number' && lastModified < 0
        ? 'its last_modified is negative'
        : 'its last_modified is not a timestamp that can be stored';
    return { id, lastModified: timeOf(lastModified), reason };
  }
  if (!isSafeId(id)) return { id, lastModified, reason: 'its id contains characters that are not allowed here' };
  const names = Object.keys(attributes);
  if (getKey(attributes, 'deleted') === true) {
    if (names.length === 1) return { id, lastModified, deleted: true };
    delete attributes['deleted'];
  }
  return new StoredObject(id, lastModified, formatAttributes(attributes));
}

/** Splits an item into its id, which must be a text, its timestamp and its attributes. */
function readHead(value: JsonValue): Head {
  if (!isJsonObject(value)) throw new BrokenAnswer('an item of `data` is not an object');
  const { id, last_modified: lastModified, ...attributes } = value;
  if (typeof id !== 'string') throw new BrokenAnswer('the response has an object without id');
  return { id, lastModified, attributes };
}

interface Head {
  readonly id: string;
  readonly lastModified: JsonValue | undefined;
  readonly attributes: MutableJsonObject;
}

/** Returns the number of a timestamp that cannot be stored; NaN when it is none. */
function timeOf(value: JsonValue | undefined): number {
  return typeof value === 'number' || value instanceof ExactNumber ? Number(value) : NaN;
}

export function isUnfit(entry: StoredEntry | Unfit): entry is Unfit {
  return 'reason' in entry;
}

/** Reads the permissions of an object; `undefined` when they are not shown, or when it has none. */
export function readPermissions(value: JsonValue | undefined): ObjectPermissions | undefined {
  if (value === undefined || !isJsonObject(value)) return undefined;
  const entries = Object.entries(value).flatMap(([name, principals]) => {
    const texts = Array.isArray(principals) ? principals.filter((principal) => typeof principal === 'string') : [];
    return texts.length === 0 ? [] : [[name, toPrincipals(texts)] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries<readonly Principal[]>(entries);
}
