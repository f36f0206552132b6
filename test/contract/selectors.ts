// Random objects and selectors as clients send them: JSON texts with values of every type, numbers with many digits, texts
// that look alike, nested members and elements, and every operator.
import fc from 'fast-check';
import { ExactNumber, formatJson, type JsonObject, type JsonValue } from '../../src/base/json.ts';
import { jsonTypes, type Filter } from '../../src/core/query/ast.ts';
import { defaultSelectorLimits, parseSelector } from '../../src/core/query/selector.ts';
import { objectOf } from '../core/query/arbitraries.ts';

const digits80 = '1234567890'.repeat(8);
/** Numbers around the largest integers of doubles, and others that a double would make equal. */
const exactNumbers = [
  '9007199254740992',
  '9007199254740993',
  '9007199254740994',
  digits80,
  `${digits80.slice(0, -1)}1`,
  `-${digits80}`,
  `0.${digits80}`,
  '1.0',
  '1e0',
  '-0',
  '1e308',
  '1e-400',
].map((text) => new ExactNumber(text));

/** Texts that look alike, precede each other in one order of characters and follow in another, or fold to others. */
const texts = [
  '',
  'a',
  'A',
  '\u0430',
  'ab',
  'b',
  '\u00e9',
  'e\u0301',
  '\uffff',
  '\ue000',
  '\u{10000}',
  '\u{1f600}',
  '\u{10ffff}',
  '\u0001',
  'a\u0001',
  '%',
  '_',
  '*',
  '\\',
  '"',
  "'",
  '\u0130',
  '\u2028',
  '1',
  '__proto__',
];

const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<JsonValue>(0, 1, 2, -1, 1.5) },
  { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'ab') },
  { weight: 2, arbitrary: fc.constantFrom<JsonValue>(null, true, false) },
  { weight: 2, arbitrary: fc.constantFrom(...texts) },
  { weight: 2, arbitrary: fc.constantFrom(...exactNumbers) },
);
const members = ['k', 'l', '__proto__'];
const element: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 3, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(fc.tuple(fc.constantFrom(...members), scalar), { maxLength: 2 }).map(objectOf) },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 2 }) },
);
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 6, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(element, { maxLength: 3 }) },
  { weight: 1, arbitrary: element },
);

/** Values that do not fit into a key of an index. */
const long = 'x'.repeat(1100);
const longValue = fc.constantFrom<JsonValue>(`${long}a`, `${long}b`, [long, 1]);

/** Fields of objects, two of them nested. */
export const fieldNames = ['s', 'n', 't', 'o', 'o.k', 'o.l'];

/** Lists of objects with few different values. Values that are cut off in keys make a query look at all of them, so half of the lists have none. */
export function anyObjects(maxLength: number): fc.Arbitrary<readonly JsonObject[]> {
  const objects = (any: fc.Arbitrary<JsonValue>): fc.Arbitrary<readonly JsonObject[]> =>
    fc.array(
      fc
        .record(
          {
            s: any,
            n: any,
            t: any,
            o: fc.oneof({ weight: 1, arbitrary: any }, { weight: 3, arbitrary: nested(any) }),
          },
          { requiredKeys: [] },
        )
        .map((record) => objectOf(Object.entries(record))),
      { minLength: 1, maxLength, size: 'max' },
    );
  return fc.oneof(
    objects(value),
    objects(fc.oneof({ weight: 30, arbitrary: value }, { weight: 1, arbitrary: longValue })),
  );
}

function nested(any: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject> {
  return fc.record({ k: any, l: any }, { requiredKeys: [] }).map((record) => objectOf(Object.entries(record)));
}

const queried: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 20, arbitrary: value },
  { weight: 1, arbitrary: longValue },
);
const values = fc.array(queried, { maxLength: 4 });
const types = fc.subarray([...jsonTypes], { minLength: 1 });
const pattern = fc.array(fc.constantFrom('a', 'B', '*', '%', '_', '\u00e9', '\u{1f600}', '1'), { maxLength: 3 });

/** An operator with its operand, as one member of the object of a field. */
const operation: fc.Arbitrary<readonly [string, JsonValue]> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(fc.constantFrom('$eq', '$eq', '$ne', '$gt', '$gte', '$lt', '$lte'), queried),
  },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('$in', '$in', '$nin'), values) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('$exists'), fc.boolean()) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constant('$like'),
      pattern.map((parts) => parts.join('')),
    ),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constant('$startsWith'), fc.constantFrom(...texts)) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom('$contains', '$containsAny'),
      fc.oneof(scalar, fc.array(element, { maxLength: 2 })),
    ),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constant('$size'), fc.nat(3)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('$type'), fc.oneof(types, fc.constantFrom(...jsonTypes))) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('$elemMatch'), elementConditions()) },
);

function elementConditions(): fc.Arbitrary<JsonObject> {
  const comparison = fc.tuple(fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte'), scalar);
  const others = fc.oneof(
    fc.tuple(fc.constant('$in'), fc.array(scalar, { maxLength: 3 })),
    fc.tuple(fc.constant('$type'), fc.constantFrom(...jsonTypes)),
    fc.tuple(fc.constant('$exists'), fc.boolean()),
  );
  const operators = fc.oneof(comparison, comparison, others).map((one) => objectOf([one]));
  const member = fc.tuple(fc.constantFrom(...members), fc.oneof(scalar, operators)).map((one) => objectOf([one]));
  return fc.oneof(
    operators,
    member,
    operators.map((inner) => objectOf([['$not', inner]])),
    fc.array(member, { minLength: 1, maxLength: 2 }).map((all) => objectOf([['$or', all]])),
  );
}

const anyField = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...fieldNames) },
  { weight: 1, arbitrary: fc.constantFrom('o.k.k', 'none') },
);

const onField: fc.Arbitrary<JsonObject> = fc
  .tuple(
    anyField,
    fc.oneof(
      { weight: 1, arbitrary: scalar },
      { weight: 4, arbitrary: operation.map((one): JsonValue => objectOf([one])) },
      { weight: 1, arbitrary: fc.tuple(operation, operation).map((all): JsonValue => objectOf(all)) },
      {
        weight: 1,
        arbitrary: fc.tuple(operation).map((all): JsonValue => objectOf([['$not', objectOf(all)]])),
      },
    ),
  )
  .map((one) => objectOf([one]));

const onIds: fc.Arbitrary<JsonObject> = fc
  .tuple(
    fc.constantFrom('$in', '$nin', '$in'),
    fc.array(
      fc.nat(120).map((n) => `id${n}`),
      { maxLength: 60 },
    ),
  )
  .map((one) => objectOf([['id', objectOf([one])]]));

/** Selectors, with at most three levels of combinations. */
export const anySelector: fc.Arbitrary<JsonObject> = fc.letrec<{
  all: JsonObject;
  one: JsonObject;
  combined: JsonObject;
}>((tie) => ({
  one: fc.oneof({ weight: 9, arbitrary: onField }, { weight: 1, arbitrary: onIds }),
  combined: fc.oneof(
    fc
      .tuple(fc.constantFrom('$or', '$or', '$nor', '$and'), fc.array(tie('all'), { minLength: 1, maxLength: 3 }))
      .map(([operator, branches]) => objectOf([[operator, branches]])),
    tie('all').map((inner) => objectOf([['$not', inner]])),
  ),
  all: fc
    .array(fc.oneof({ maxDepth: 3 }, { weight: 4, arbitrary: tie('one') }, { weight: 1, arbitrary: tie('combined') }), {
      maxLength: 2,
    })
    .map((parts) => objectOf(parts.flatMap((part) => Object.entries(part)))),
})).all;

/** Returns the filters of a selector, which passes the parser of requests as a text. */
export function filtersOf(selector: JsonObject): readonly Filter[] {
  const parsed = parseSelector(formatJson(selector), { limits: defaultSelectorLimits });
  if ('location' in parsed) throw new Error(`${formatJson(selector)}: ${JSON.stringify(parsed)}`);
  return parsed;
}
