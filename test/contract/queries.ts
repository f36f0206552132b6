// Random lists, objects and queries with few ids and timestamps, so that equal ones occur often.
import fc from 'fast-check';
import { isStorableText, parseStoredJson, type JsonObject, type JsonValue } from '../../src/base/json.ts';
import { keysOf, parseIndexes } from '../../src/core/index/definition.ts';
import { formatAttributes, type IndexKeys } from '../../src/core/objects/stored.ts';
import {
  jsonTypes,
  type Condition,
  type Field,
  type Filter,
  type PageQuery,
  type SortKey,
} from '../../src/core/query/ast.ts';
import { parseField } from '../../src/core/query/fields.ts';
import { hostileText, orHostile } from './hostile-texts.ts';
import { attributes, fieldNames, json, jsonOrMissing, totalSort, words } from '../core/query/arbitraries.ts';
import type { ListKey } from '../../src/testing/contract/plain-contracts.ts';

export const ids = orHostile(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'A', 'é', '__proto__'));
export const parents = [
  '',
  '/buckets/a_b',
  '/buckets/axb',
  '/buckets/a_b/collections/c',
  '/buckets/a_b2/collections/c',
];
export const lists: fc.Arbitrary<ListKey> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ kind: 'record', parent: '/buckets/a_b/collections/c' }) },
  fc.record({
    kind: fc.constantFrom('record', 'group'),
    parent: orHostile(
      fc.constantFrom(...parents),
      '/buckets/?',
      '/buckets/a_b/collections/?',
      '/buckets/?/collections/c',
    ),
  }),
);

/** Timestamps around the start of a history, most of them taken. */
export function timestamps(start: number): fc.Arbitrary<number> {
  return fc.integer({ min: -8, max: 30 }).map((offset) => start + offset);
}

export interface Change {
  readonly id: string;
  /** Absent: a deletion. */
  readonly text: string | undefined;
  readonly lastModified: number | undefined;
}

export function changeOf(start: number): fc.Arbitrary<Change> {
  return fc.record({
    id: ids.filter(isStorableText),
    text: fc.option(attributes.map(formatAttributes), { nil: undefined, freq: 3 }),
    lastModified: fc.option(timestamps(start), { nil: undefined }),
  });
}

const fields: fc.Arbitrary<Field> = orHostile(
  fc.constantFrom(...fieldNames, 'id', 'deleted', 'o.k.a', 'id.x'),
  '?',
  'o.?',
).map(parseField);
/** JSON, and sometimes a hostile text. */
const filterValue: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 16, arbitrary: json },
  { weight: 1, arbitrary: hostileText },
);
const timeField = parseField('last_modified');

/** Filters on any field with any value, and combinations of them. */
export function anyFilter(start: number): fc.Arbitrary<Filter> {
  const condition = anyCondition(start);
  const combined = (inner: fc.Arbitrary<Filter>): fc.Arbitrary<Filter> =>
    fc.record({
      operator: fc.constantFrom('or', 'nor'),
      branches: fc.array(fc.array(inner, { maxLength: 2 }), { minLength: 1, maxLength: 3 }),
    });
  return fc.oneof(
    { weight: 6, arbitrary: condition },
    { weight: 1, arbitrary: combined(condition) },
    { weight: 1, arbitrary: combined(fc.oneof(condition, combined(condition))) },
  );
}

/** Conditions on the elements of an array: on themselves, or on their members. */
const elementFilter: fc.Arbitrary<Filter> = fc.oneof(
  fc.record({
    field: fc
      .constantFrom('', 'k', 'a', '__proto__', 'k.a')
      .map((name) => (name === '' ? { name, path: [] } : parseField(name))),
    operator: fc.constantFrom('eq', 'not', 'lt', 'max', 'gt', 'min'),
    value: filterValue,
  }),
  fc.record({
    field: fc.constantFrom('', 'k').map((name) => (name === '' ? { name, path: [] } : parseField(name))),
    operator: fc.constant('type'),
    types: fc.subarray([...jsonTypes]),
  }),
);

function anyCondition(start: number): fc.Arbitrary<Condition> {
  const ordered = fc.constantFrom('eq', 'not', 'lt', 'max', 'gt', 'min');
  const values = fc.array(filterValue, { maxLength: 3 });
  const parts = fc.array(
    orHostile(fc.constantFrom(...words, '')).map((word) => word.toLowerCase()),
    { minLength: 2, maxLength: 4 },
  );
  return fc.oneof(
    fc.record({ field: fields, operator: ordered, value: filterValue }),
    fc.record({
      field: fc.constant(timeField),
      operator: ordered,
      value: fc.oneof({ weight: 4, arbitrary: timestamps(start) }, json),
    }),
    fc.record({ field: fc.constant(parseField('id')), operator: ordered, value: ids }),
    fc.record({ field: fields, operator: fc.constantFrom('in', 'exclude'), values }),
    fc.record({
      field: fc.constantFrom(timeField, parseField('id')),
      operator: fc.constantFrom('in', 'exclude'),
      values: fc.array(fc.oneof(timestamps(start), ids) as fc.Arbitrary<JsonValue>, { maxLength: 3 }),
    }),
    fc.record({ field: fields, operator: fc.constant('like'), parts }),
    fc.record({ field: fields, operator: fc.constant('has'), present: fc.boolean() }),
    fc.record({ field: fields, operator: fc.constantFrom('contains', 'contains_any'), values }),
    fc.record({ field: fields, operator: fc.constant('type'), types: fc.subarray([...jsonTypes]) }),
    fc.record({ field: fields, operator: fc.constant('size'), size: fc.integer({ min: 0, max: 3 }) }),
    fc.record({
      field: fields,
      operator: fc.constant('elements'),
      filters: fc.array(
        fc.oneof(
          { weight: 4, arbitrary: elementFilter },
          {
            weight: 1,
            arbitrary: fc.record({
              operator: fc.constantFrom('or', 'nor'),
              branches: fc.array(fc.array(elementFilter, { maxLength: 2 }), { minLength: 1, maxLength: 2 }),
            }),
          },
        ),
        { maxLength: 2 },
      ),
    }),
  );
}

/** A position to continue after, which usually fits the sort. */
function positions(start: number, sort: readonly SortKey[]): fc.Arbitrary<readonly (JsonValue | undefined)[]> {
  return fc.tuple(
    ...sort.map(({ field }): fc.Arbitrary<JsonValue | undefined> => {
      if (field.name === 'last_modified') return timestamps(start);
      return field.name === 'id' ? ids : jsonOrMissing;
    }),
  );
}

/** Declared indexes of all lists, in all slots. */
export const declaredIndexes = parseIndexes([
  { fields: ['n'] },
  { fields: ['-s'] },
  { fields: ['s', 'n'] },
  { fields: ['s', '-n'] },
  { fields: ['-o.k', 's'] },
  { fields: ['o'] },
  { fields: ['-n', '-s', 'o'] },
  { fields: ['s'], unique: true },
])!;

/** Returns the keys of the text of an object; those of another object for a text that is no object. */
export function keysOfText(text: string): IndexKeys {
  return keysOf(declaredIndexes, parseStoredJson(text) as JsonObject);
}

/** Queries, many of which find something. */
export function anyQuery(start: number): fc.Arbitrary<PageQuery> {
  return totalSort.chain((sort) =>
    fc.record({
      sort: fc.constant(sort),
      filters: fc.oneof(
        { weight: 3, arbitrary: fc.constant([]) },
        { weight: 3, arbitrary: fc.tuple(anyFilter(start)) },
        { weight: 1, arbitrary: fc.tuple(anyFilter(start), anyFilter(start)) },
      ),
      limit: fc.constantFrom(1, 2, 3, 100),
      includeDeleted: fc.boolean(),
      ids: seldom(fc.uniqueArray(ids, { maxLength: 6, size: 'max' })),
      after: seldom(positions(start, sort)),
      indexes: fc.oneof(fc.constant(declaredIndexes), fc.subarray([...declaredIndexes])),
    }),
  );
}

function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}
