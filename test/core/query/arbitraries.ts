// Random JSON values out of few words, so that equal, nested and nearly equal ones meet often.
import fc from 'fast-check';
import {
  ExactNumber,
  setKey,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
} from '../../../src/base/json.ts';
import type { Field, SortKey } from '../../../src/core/query/ast.ts';
import { StoredObject, formatAttributes } from '../../../src/core/objects/stored.ts';
import { parseField } from '../../../src/core/query/fields.ts';

export const words = ['', 'a', 'A', 'b', 'ab', 'é', '\uffee', '\u{1f600}', '__proto__', 'constructor', '%', '"'];
const exactNumbers = ['-0', '1.0', '1e0', '1.50', '12345678901234567890', '12345678901234567889', '1e-400', '0.1e1'];
const numbers: readonly JsonValue[] = [
  [0, 1, -1, 2, 1.5, 10, 1e21, 12345678901234567000],
  exactNumbers.map((text) => new ExactNumber(text)),
].flat();

export function objectOf(entries: readonly (readonly [string, JsonValue])[]): JsonObject {
  const object: MutableJsonObject = {};
  for (const [key, value] of entries) setKey(object, key, value);
  return object;
}

export const jsonScalar: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, false),
  fc.constantFrom(...numbers),
  fc.constantFrom(...words),
);

export const json: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue; array: JsonValue; object: JsonValue }>(
  (tie) => ({
    value: fc.oneof({ maxDepth: 3, withCrossShrink: true }, jsonScalar, tie('array'), tie('object')),
    array: fc.array(tie('value'), { maxLength: 3 }),
    object: fc.array(fc.tuple(fc.constantFrom(...words), tie('value')), { maxLength: 3 }).map(objectOf),
  }),
).value;

export const jsonOrMissing: fc.Arbitrary<JsonValue | undefined> = fc.option(json, { nil: undefined });

export const fieldNames = ['n', 'o.k', 's', 'o'];

/** Objects that have some of the fields of `fieldNames`, with any values. */
export const attributes: fc.Arbitrary<JsonObject> = fc
  .record(
    {
      n: json,
      s: jsonScalar,
      o: fc.oneof(
        json,
        json.map((k) => ({ k })),
      ),
    },
    { requiredKeys: [] },
  )
  .map((record) => objectOf(Object.entries(record)));

/** A list of live objects with ids and timestamps that are unique, in any order. */
export const storedList: fc.Arbitrary<readonly StoredObject[]> = fc.array(attributes, { maxLength: 12 }).chain((all) =>
  fc
    .shuffledSubarray(
      all.map((_, index) => index),
      { minLength: all.length },
    )
    .map((order) =>
      all.map((own, index) => new StoredObject(`id${order[index]}`, 1000 + index, formatAttributes(own))),
    ),
);

const direction = fc.constantFrom('ascending', 'descending') satisfies fc.Arbitrary<SortKey['direction']>;
const sortKey = (name: string): fc.Arbitrary<SortKey> =>
  direction.map((way) => ({ field: fieldOf(name), direction: way }));

/** Total orders: some fields, then a unique one. */
export const totalSort: fc.Arbitrary<readonly SortKey[]> = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom(...fieldNames), { maxLength: 3 }).chain((names) => fc.tuple(...names.map(sortKey))),
    fc.constantFrom('last_modified', 'id').chain(sortKey),
  )
  .map(([keys, last]) => [...keys, last]);

export function fieldOf(name: string): Field {
  return parseField(name);
}
