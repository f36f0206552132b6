// The order of a list and the place of a page in it. A position is the values of the sort keys at one object; the
// next page is what comes strictly after it, whether or not that object still exists.
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import { isTombstone, type StoredEntry } from '../objects/stored.ts';
import type { PagePosition, PageQuery, Selection, SortKey } from './ast.ts';
import { compareText, compareValues } from './compare.ts';
import { isIdField, isTimestampField, lastModifiedField, readEntryField, readField } from './fields.ts';
import { matchesValue } from './evaluate.ts';

export const newestFirst: readonly SortKey[] = [{ field: lastModifiedField, direction: 'descending' }];

/** Orders positions of one sort; missing values come last ascending and first descending. */
export function comparePositions(a: PagePosition, b: PagePosition, sort: readonly SortKey[]): number {
  for (let i = 0; i < sort.length; i++) {
    const difference = compareValues(a[i], b[i]);
    if (difference !== 0) return inDirection(sort[i]!, difference);
  }
  return 0;
}

/** The order of a list, for `Array.prototype.sort` and the like. */
export function compareEntries(sort: readonly SortKey[]): (a: StoredEntry, b: StoredEntry) => number {
  const comparators = sort.map(compareByKey);
  const [first] = comparators;
  if (comparators.length === 1 && first !== undefined) return first;
  return (a, b) => {
    for (const compare of comparators) {
      const difference = compare(a, b);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}

function compareByKey(key: SortKey): (a: StoredEntry, b: StoredEntry) => number {
  const { field } = key;
  const sign = inDirection(key, 1);
  if (isTimestampField(field)) {
    return (a, b) => sign * (a.lastModified - b.lastModified);
  }
  if (isIdField(field)) return (a, b) => sign * compareText(a.id, b.id);
  return (a, b) => sign * compareValues(readEntryField(a, field), readEntryField(b, field));
}

/** Where the entry stands. */
export function positionOf(entry: StoredEntry, sort: readonly SortKey[]): PagePosition {
  return sort.map((key) => readEntryField(entry, key.field));
}

/** Where an entry stands that may be large. */
export function* positionInSteps(entry: StoredEntry, sort: readonly SortKey[]): Steps<PagePosition> {
  const isInside = sort.some(({ field: { path } }) => path[0] !== 'id' && path[0] !== 'last_modified');
  if (isInside && !isTombstone(entry) && entry.isLarge) yield* entry.read();
  return positionOf(entry, sort);
}

/** Where a plain value stands. */
export function positionOfValue(value: JsonObject, sort: readonly SortKey[]): PagePosition {
  return sort.map((key) => readField(value, key.field));
}

/** Whether the entry comes strictly after the position. */
export function isAfter(entry: StoredEntry, sort: readonly SortKey[], position: PagePosition): boolean {
  for (let i = 0; i < sort.length; i++) {
    const key = sort[i]!;
    const difference = compareValues(readEntryField(entry, key.field), position[i]);
    if (difference !== 0) return inDirection(key, difference) > 0;
  }
  return false;
}

/** One page of a list of plain values, which is not stored anywhere. Values have no tombstones among them. */
export function selectValues<T extends JsonObject>(
  values: readonly T[],
  query: PageQuery,
): { readonly values: readonly T[]; readonly more: boolean } {
  const { sort, after, limit } = query;
  const placed: { readonly value: T; readonly position: PagePosition }[] = [];
  for (const value of filterValues(values, query)) {
    const position = positionOfValue(value, sort);
    if (after === undefined || comparePositions(position, after, sort) > 0) placed.push({ value, position });
  }
  placed.sort((a, b) => comparePositions(a.position, b.position, sort));
  return { values: placed.slice(0, limit).map(({ value }) => value), more: placed.length > limit };
}

/** The selected plain values in the order they came; their number is what `Total-Objects` says. */
export function filterValues<T extends JsonObject>(values: readonly T[], selection: Selection): readonly T[] {
  const { filters } = selection;
  const ids = selection.ids === undefined ? undefined : new Set<JsonValue | undefined>(selection.ids);
  return values.filter((value) => (ids === undefined || ids.has(value['id'])) && matchesValue(value, filters));
}

function inDirection(key: SortKey, difference: number): number {
  return key.direction === 'ascending' ? difference : -difference;
}
