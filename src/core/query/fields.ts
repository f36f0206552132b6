// Finds the field of a query in an object: dots descend into objects, and only own members count.
import { getKey, isJsonObject, type JsonValue } from '../../base/json.ts';
import { isTombstone, type StoredEntry } from '../objects/stored.ts';
import type { Field } from './ast.ts';

export const idField: Field = { name: 'id', path: ['id'] };
export const lastModifiedField: Field = { name: 'last_modified', path: ['last_modified'] };

/** Stands for how well an object matches a text query, in the order of a list. */
export const scoreField: Field = { name: '_score', path: ['_score'] };

/** Whether it is the score, and not an attribute of that name. */
export function isScoreField(field: Field): boolean {
  return field === scoreField;
}

/** Whether the field is the id of the entry itself; `undefined` stands for a combination of conditions. */
export function isIdField(field: Field | undefined): boolean {
  return field?.path.length === 1 && field.path[0] === 'id';
}

/** Whether the field is the timestamp of the entry itself. */
export function isTimestampField(field: Field | undefined): boolean {
  return field?.path.length === 1 && field.path[0] === 'last_modified';
}

/** Whether the field is the id or the timestamp, of which no two entries of a list have the same. */
export function isUniqueField(field: Field | undefined): boolean {
  return isIdField(field) || isTimestampField(field);
}

/** Returns the field of a name as clients write it. Keys that contain dots cannot be addressed. */
export function parseField(name: string): Field {
  return { name, path: name.split('.') };
}

/** Returns the value of the field; `undefined` when it, or an object on the path to it, is missing. */
export function readField(value: JsonValue, field: Field): JsonValue | undefined {
  let current: JsonValue | undefined = value;
  for (const key of field.path) {
    if (!isJsonObject(current)) return undefined;
    current = getKey(current, key);
  }
  return current;
}

/** Returns the value of a field of the entry as clients see it, without building that object. */
export function readEntryField(entry: StoredEntry, field: Field): JsonValue | undefined {
  const { path } = field;
  const first = path[0];
  if (first === 'id') return path.length === 1 ? entry.id : undefined;
  if (first === 'last_modified') return path.length === 1 ? entry.lastModified : undefined;
  if (isTombstone(entry)) return first === 'deleted' && path.length === 1 ? true : undefined;
  if (!entry.isLarge) return path.length === 1 ? getKey(entry.attributes, first!) : readField(entry.attributes, field);
  const value = entry.attribute(first!);
  return path.length === 1 || value === undefined ? value : readField(value, { ...field, path: path.slice(1) });
}
