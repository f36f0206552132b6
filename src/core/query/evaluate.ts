// Defines the meaning of filters. Lists in memory are filtered by these functions, and every compiler of filters to another
// language is tested against them.
import { formatJson, isJsonObject, type JsonValue } from '../../base/json.ts';
import type { StoredEntry } from '../objects/stored.ts';
import { isCombination, type Condition, type Filter, type JsonType } from './ast.ts';
import { compareValues, containsValue, equalValues, isJsonArray } from './compare.ts';
import { readEntryField, readField } from './fields.ts';
import { findText } from './find-text.ts';
import { isScalar, setOf } from './value-set.ts';
import { foldCase } from './fold-case.ts';

/** Whether the object or tombstone matches all filters. */
export function matches(entry: StoredEntry, filters: readonly Filter[]): boolean {
  // Written out for both forms of values: a function that reads fields would be created for each entry of a list.
  for (const filter of filters) {
    const isMatch = isCombination(filter)
      ? filter.branches.some((branch) => matches(entry, branch)) === (filter.operator === 'or')
      : matchesFilter(readEntryField(entry, filter.field), filter);
    if (!isMatch) return false;
  }
  return true;
}

/** Whether a plain value, such as an entry of a list that is not stored or an element of an array, matches all filters. */
export function matchesValue(value: JsonValue, filters: readonly Filter[]): boolean {
  for (const filter of filters) {
    const isMatch = isCombination(filter)
      ? filter.branches.some((branch) => matchesValue(value, branch)) === (filter.operator === 'or')
      : matchesFilter(readField(value, filter.field), filter);
    if (!isMatch) return false;
  }
  return true;
}

/** Whether the value of the condition's field, `undefined` when missing, matches the condition. */
export function matchesFilter(value: JsonValue | undefined, filter: Condition): boolean {
  switch (filter.operator) {
    case 'eq':
      return equalValues(value, filter.value);
    case 'not':
      return !equalValues(value, filter.value);
    // A missing value is above all others, so it matches `gt` and `min`, but neither `lt` nor `max`.
    case 'lt':
      return compareValues(value, filter.value) < 0;
    case 'max':
      return compareValues(value, filter.value) <= 0;
    case 'gt':
      return compareValues(value, filter.value) > 0;
    case 'min':
      return compareValues(value, filter.value) >= 0;
    case 'in':
      return value !== undefined && isOneOf(value, filter.values);
    case 'exclude':
      return value === undefined || !isOneOf(value, filter.values);
    case 'like':
      return value !== undefined && value !== null && matchesParts(searchedText(value), filter.parts);
    case 'has':
      return (value !== undefined) === filter.present;
    case 'contains':
      return isJsonArray(value) && holdsAll(value, filter.values);
    case 'contains_any':
      return isJsonArray(value) && holdsAny(value, filter.values);
    case 'type':
      return value !== undefined && filter.types.includes(typeOf(value));
    case 'size':
      return isJsonArray(value) && value.length === filter.size;
    case 'elements':
      return isJsonArray(value) && value.some((element) => matchesValue(element, filter.filters));
  }
}

function typeOf(value: JsonValue): JsonType {
  if (value === null) return 'null';
  if (isJsonArray(value)) return 'array';
  if (isJsonObject(value)) return 'object';
  return typeof value === 'string' ? 'string' : typeof value === 'boolean' ? 'boolean' : 'number';
}

/** Number of values up to which each one is compared, which takes less time than to build a set. */
const fewValues = 8;

function isOneOf(value: JsonValue, values: readonly JsonValue[]): boolean {
  if (values.length <= fewValues) return values.some((candidate) => equalValues(value, candidate));
  const set = setOf(values);
  if (isScalar(value)) return set.find(value) !== undefined;
  return set.nested.some((candidate) => equalValues(value, candidate));
}

function holdsAll(array: readonly JsonValue[], values: readonly JsonValue[]): boolean {
  if (values.length <= fewValues) return values.every((wanted) => holdsElement(array, wanted));
  const set = setOf(values);
  const found = new Set(array.map((element) => (isScalar(element) ? set.find(element) : undefined)));
  found.delete(undefined);
  return found.size === set.size && set.nested.every((wanted) => holdsElement(array, wanted));
}

function holdsAny(array: readonly JsonValue[], values: readonly JsonValue[]): boolean {
  if (values.length <= fewValues) return values.some((wanted) => holdsElement(array, wanted));
  const set = setOf(values);
  return array.some((element) =>
    isScalar(element)
      ? set.find(element) !== undefined
      : set.nested.some((candidate) => containsValue(element, candidate)),
  );
}

function holdsElement(array: readonly JsonValue[], wanted: JsonValue): boolean {
  for (const element of array) if (containsValue(element, wanted)) return true;
  return false;
}

/** Returns the text that is searched: a text itself, or the compact JSON of any other value. */
function searchedText(value: JsonValue): string {
  return foldCase(typeof value === 'string' ? value : formatJson(value));
}

/** Whether the text consists of the parts in order, with any text between them; see `like` in the AST. */
function matchesParts(text: string, parts: readonly string[]): boolean {
  const room = roomBetweenEnds(text, parts);
  if (typeof room === 'boolean') return room;
  let { at } = room;
  // The first occurrence of each part leaves the most room for later parts.
  for (let i = 1; i < parts.length - 1; i++) {
    const part = parts[i]!;
    const found = findText(text, part, at, room.end);
    if (found === -1) return false;
    at = found + part.length;
  }
  return true;
}

/**
 * Returns where the text may have the parts between the first and the last one, or whether it matches when these two alone
 * decide.
 */
export function roomBetweenEnds(
  text: string,
  parts: readonly string[],
): boolean | { readonly at: number; readonly end: number } {
  const first = parts[0] ?? '';
  if (parts.length < 2) return first === '' || text === first;
  const last = parts[parts.length - 1]!;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  const room = { at: first.length, end: text.length - last.length };
  return room.at <= room.end && room;
}
