// The order of a list and the position of a page in it. A position is the values of the sort keys at one object. The next
// page starts strictly after it, even if that object no longer exists.
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { sortInSteps } from '../../base/sort-in-steps.ts';
import type { Steps } from '../../base/steps.ts';
import { isTombstone, type StoredEntry } from '../objects/stored.ts';
import type { PagePosition, PageQuery, Selection, SortKey } from './ast.ts';
import { compareValues } from './compare.ts';
import { lastModifiedField, readEntryField, readField } from './fields.ts';
import { matchesValue } from './evaluate.ts';
import { workOfEntry } from './budget.ts';
import { weightOf } from './evaluate-steps.ts';

export const newestFirst: readonly SortKey[] = [{ field: lastModifiedField, direction: 'descending' }];

/** Orders positions of one sort; missing values come last ascending and first descending. */
export function comparePositions(a: PagePosition, b: PagePosition, sort: readonly SortKey[]): number {
  for (let i = 0; i < sort.length; i++) {
    const difference = compareValues(a[i], b[i]);
    if (difference !== 0) return inDirection(sort[i]!, difference);
  }
  return 0;
}

/** Returns the order of a list as a comparison function, for entries with short values. */
export function compareEntries(sort: readonly SortKey[]): (a: StoredEntry, b: StoredEntry) => number {
  return (a, b) => {
    for (const key of sort) {
      const difference = compareValues(readEntryField(a, key.field), readEntryField(b, key.field));
      if (difference !== 0) return inDirection(key, difference);
    }
    return 0;
  };
}

/** Returns the position of an entry. */
export function positionOf(entry: StoredEntry, sort: readonly SortKey[]): PagePosition {
  return sort.map((key) => readEntryField(entry, key.field));
}

/** Returns the position of an entry, in steps when its attributes are large. */
export function* positionInSteps(entry: StoredEntry, sort: readonly SortKey[]): Steps<PagePosition> {
  const isInside = sort.some(({ field: { path } }) => path[0] !== 'id' && path[0] !== 'last_modified');
  if (isInside && !isTombstone(entry) && entry.isLarge) yield* entry.read();
  return positionOf(entry, sort);
}

/** Returns the position of a plain value. */
export function positionOfValue(value: JsonObject, sort: readonly SortKey[]): PagePosition {
  return sort.map((key) => readField(value, key.field));
}

/** Returns one page of a list of plain values, which has no tombstones. */
export function* selectValues<T extends JsonObject>(
  values: readonly T[],
  query: PageQuery,
): Steps<{ readonly values: readonly T[]; readonly more: boolean }> {
  const { sort, after, limit } = query;
  const placed = (yield* filterValues(values, query))
    .map((value) => ({ value, position: positionOfValue(value, sort) }))
    .filter(({ position }) => after === undefined || comparePositions(position, after, sort) > 0);
  const sorted = yield* sortInSteps(placed, (a, b) => comparePositions(a.position, b.position, sort));
  return { values: sorted.slice(0, limit).map(({ value }) => value), more: sorted.length > limit };
}

/** Number of conditions that are tested on plain values in one step. */
const testsPerStep = 20_000;

/** Returns the selected plain values, which are small, in their given order. Their number is the total of the list. */
export function* filterValues<T extends JsonObject>(values: readonly T[], selection: Selection): Steps<readonly T[]> {
  const { filters, budget } = selection;
  const ids = selection.ids === undefined ? undefined : new Set<JsonValue | undefined>(selection.ids);
  const weight = 1 + weightOf(filters);
  const selected: T[] = [];
  let tests = 0;
  for (const value of values) {
    if ((ids === undefined || ids.has(value['id'])) && matchesValue(value, filters)) selected.push(value);
    budget?.spendOn(workOfEntry, weight);
    tests += weight;
    if (tests < testsPerStep) continue;
    tests = 0;
    yield;
  }
  return selected;
}

function inDirection(key: SortKey, difference: number): number {
  return key.direction === 'ascending' ? difference : -difference;
}
