// The first entries of a page, among values of any length.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { runAtOnce, type Steps } from '../../../src/base/steps.ts';
import { formatAttributes, StoredObject, type StoredEntry } from '../../../src/core/objects/stored.ts';
import type { SortKey } from '../../../src/core/query/ast.ts';
import { FirstEntries } from '../../../src/core/query/first-entries.ts';
import type { Scan } from '../../../src/core/query/plan-page.ts';
import { compareEntries, positionOf } from '../../../src/core/query/sort.ts';
import { everyTimestamp } from '../../../src/core/query/timestamp-range.ts';
import { fieldOf, json, totalSort } from './arbitraries.ts';

/** Values that differ from each other at their ends only. */
const longText = fc.constantFrom('', 'a', 'b', '\uffee', '\u{1f600}').map((end) => 'x'.repeat(1200) + end);
const manyKeys = fc
  .tuple(fc.constantFrom('', 'é', '\u{1f600}'), fc.integer({ min: 149, max: 151 }), json)
  .map(([start, count, last]) => objectOf(start, count, last));
const value = fc.oneof(
  json,
  longText,
  manyKeys,
  manyKeys.map((object) => [object]),
);
/** Makes the whole object large, so that its attributes are read in steps. */
const padding = fc.constantFrom('', 'p'.repeat(200), 'p'.repeat(70_000));
const attributes = fc.record({ n: value, o: fc.oneof(value, fc.record({ k: value })), padding });

function objectOf(start: string, count: number, last: JsonValue): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`${start}k${n}`, n === count - 1 ? last : n]));
}

const scan: Scan = { by: 'scan', range: everyTimestamp, residual: [], includeDeleted: true };

/** Returns the ids of all pages of a list. */
function readPages(entries: readonly StoredEntry[], sort: readonly SortKey[], limit: number): string[] {
  const ids: string[] = [];
  let last: StoredEntry | undefined;
  do {
    const first = new FirstEntries<StoredEntry>({ ...scan, sort, limit, after: last && positionOf(last, sort) });
    runAtOnce(first.addAll(entries));
    const page = runAtOnce(first.finish());
    ids.push(...page.entries.map(({ id }) => id));
    last = page.more ? page.entries.at(-1) : undefined;
  } while (last !== undefined);
  return ids;
}

/** Returns the number of pauses. */
function countPauses(steps: Steps<unknown>): number {
  let pauses = 0;
  while (steps.next().done !== true) pauses++;
  return pauses;
}

describe('the first entries', () => {
  it('are those of the sorted list, on every page', () => {
    fc.assert(
      fc.property(
        fc.array(attributes, { maxLength: 8 }),
        totalSort,
        fc.integer({ min: 1, max: 5 }),
        (all, sort, limit) => {
          const entries: StoredEntry[] = all.map(
            (own, number) => new StoredObject(`id${number}`, 1000 + number, formatAttributes(own)),
          );
          entries.push({ id: 'gone', lastModified: 1, deleted: true });
          const sorted = entries.toSorted(compareEntries(sort)).map(({ id }) => id);
          expect(readPages(entries, sort, limit)).toEqual(sorted);
        },
      ),
    );
  });

  it('are found with pauses while large objects are read and compared', () => {
    const count = 12;
    const [names, parts] = [20_000, 8];
    const sort: readonly SortKey[] = [
      { field: fieldOf('n'), direction: 'descending' },
      { field: fieldOf('id'), direction: 'ascending' },
    ];
    const entries = Array.from(
      { length: count },
      (_, number) => new StoredObject(`id${number}`, number, formatAttributes({ n: objectOf('', names, number) })),
    );
    const first = new FirstEntries<StoredEntry>({ ...scan, sort, limit: count, after: undefined });
    expect(countPauses(first.addAll(entries))).toBeGreaterThan(count * parts);
    const { entries: found } = runAtOnce(first.finish());
    expect(found.map(({ id }) => id)).toEqual(entries.map(({ id }) => id).toReversed());
  });
});
