// Parses the JSON of responses into stored entries, without losing digits or keys.
import {
  getKey,
  isJsonObject,
  JsonSyntaxError,
  parseJson,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
} from '../../base/json.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { isSafeId } from '../../core/objects/object-id.ts';
import { formatAttributes, StoredObject, type StoredEntry } from '../../core/objects/stored.ts';
import { latestTimestamp } from '../../core/objects/timestamps.ts';
import { toPrincipals, type Principal } from '../../core/permissions/principals.ts';
import { BrokenAnswer } from './transport.ts';

/** Limits above those of one body: lists and batches put envelopes around objects. */
const limits = { maxDepth: 520, maxValues: Infinity };

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
    value = parseJson(text, limits);
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
export function dataOf(body: JsonObject): readonly JsonValue[] {
  const data = getKey(body, 'data');
  if (!Array.isArray(data)) throw new BrokenAnswer('the response has no array `data`');
  return data as readonly JsonValue[];
}

/**
 * Reads an object or tombstone of a list. Kinto stores a `deleted: true` that a client sent on a live object. It is dropped
 * here, as it would be when sent to this service.
 */
export function readEntry(value: JsonValue): StoredEntry | Unfit {
  if (!isJsonObject(value)) throw new BrokenAnswer('an item of `data` is not an object');
  const { id, last_modified: lastModified, ...rest } = value;
  const attributes: MutableJsonObject = rest;
  if (typeof id !== 'string') throw new BrokenAnswer('the answer has an object without id');
  if (typeof lastModified !== 'number' || !Number.isSafeInteger(lastModified) || lastModified > latestTimestamp) {
    return {
      id,
      lastModified: Number(lastModified),
      reason: 'its last_modified is not a timestamp that can be stored',
    };
  }
  if (lastModified < 0) return { id, lastModified, reason: 'its last_modified is negative' };
  if (!isSafeId(id)) return { id, lastModified, reason: 'its id contains characters that are not allowed here' };
  const names = Object.keys(attributes);
  if (getKey(attributes, 'deleted') === true) {
    if (names.length === 1) return { id, lastModified, deleted: true };
    delete attributes['deleted'];
  }
  return new StoredObject(id, lastModified, formatAttributes(attributes));
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
