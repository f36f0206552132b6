// Our validator against an independent one that compiles schemas to program text, on random schemas and values.
import { Ajv, type Options, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import draft04 from 'ajv-draft-04';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { checkSchema, compileSchema } from './at-once.ts';

/** Fixed, so that a flaw of the other implementation found by chance does not turn the suite red. */
const seed = 2026;

const options: Options = {
  strict: false,
  validateFormats: false,
  validateSchema: false,
  addUsedSchema: false,
  ownProperties: true,
  logger: false,
};

// Theirs takes an own property called `constructor` for a type, and objects without prototype for another one.
const keys = ['a', 'b', 'ab', 'x'];
const plain = { noNullPrototype: true };
/** With these keywords, ajv treats `contains` as satisfied by an empty list. */
const ofItems: ReadonlySet<string> = new Set(['items', 'prefixItems']);
const value: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<JsonValue>(null, true, false, 0, 1, 2, 3, 10, 2.5, '', 'a', 'ab', 'x1', 'é😀'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 4, ...plain }),
  ),
})).value;

/** Schemas of a draft with references to one part, which refers to itself for members only and so comes to an end. */
function schemaOf(draft: number): fc.Arbitrary<JsonObject> {
  const definitions = draft >= 2019 ? '$defs' : 'definitions';
  const reference: JsonObject = { $ref: `#/${definitions}/part` };
  const part = bodyOf(draft, undefined).map((body) => ({ ...body, properties: { x: reference } }));
  return fc.tuple(bodyOf(draft, reference), part).map(([root, other]) => ({ ...root, [definitions]: { part: other } }));
}

/** Schemas of a draft with only the keywords that draft has. */
function bodyOf(draft: number, reference: JsonObject | undefined): fc.Arbitrary<JsonObject> {
  return fc.letrec<{ schema: JsonObject; sub: JsonValue }>((tie) => {
    const sub = tie('sub');
    const list = fc.array(sub, { minLength: 1, maxLength: 3 });
    const map = fc.dictionary(fc.constantFrom(...keys), sub, { maxKeys: 3, ...plain });
    const count = fc.nat(3);
    const fields: Record<string, fc.Arbitrary<JsonValue>> = {
      type: fc.constantFrom<JsonValue>('string', 'integer', 'number', 'object', 'array', ['null', 'string'], 'boolean'),
      enum: fc.array(value, { minLength: 1, maxLength: 3 }),
      minimum: fc.integer({ min: 0, max: 3 }),
      maximum: fc.integer({ min: 0, max: 3 }),
      multipleOf: fc.constantFrom(1, 2, 2.5),
      minLength: count,
      maxLength: count,
      pattern: fc.constantFrom('^a', 'b$', '^[a-z]+\\d?$', '.'),
      minItems: count,
      maxItems: count,
      uniqueItems: fc.boolean(),
      minProperties: count,
      maxProperties: count,
      required: fc.uniqueArray(fc.constantFrom(...keys), { maxLength: 2 }),
      properties: map,
      patternProperties: fc.dictionary(fc.constantFrom('^a', 'b$', 'x'), sub, { maxKeys: 2, ...plain }),
      additionalProperties: sub,
      dependencies: fc.dictionary(
        fc.constantFrom(...keys),
        fc.oneof(sub, fc.uniqueArray(fc.constantFrom(...keys), { minLength: 1, maxLength: 2 })),
      ),
      items: draft === 2020 ? sub : fc.oneof(sub, list),
      allOf: list,
      anyOf: list,
      oneOf: list,
      not: sub,
    };
    if (draft < 2020) fields['additionalItems'] = sub;
    if (draft === 2020) fields['prefixItems'] = list;
    if (draft >= 6) {
      Object.assign(fields, {
        const: value,
        exclusiveMinimum: count,
        exclusiveMaximum: count,
        contains: fc.constantFrom<JsonValue>({ type: 'string' }, { minimum: 2 }, { const: null }),
        propertyNames: sub,
      });
    }
    if (draft >= 7) Object.assign(fields, { if: sub, then: sub, else: sub });
    if (draft >= 2019) {
      delete fields['dependencies'];
      Object.assign(fields, {
        dependentRequired: fc.dictionary(
          fc.constantFrom(...keys),
          fc.uniqueArray(fc.constantFrom(...keys), { maxLength: 2 }),
        ),
        dependentSchemas: map,
      });
    }
    const names = Object.keys(fields);
    const body = fc
      .uniqueArray(fc.constantFrom(...names), { maxLength: 4 })
      .map((chosen) => (chosen.includes('contains') ? chosen.filter((name) => !ofItems.has(name)) : chosen))
      .chain((chosen) => fc.record(Object.fromEntries(chosen.map((name) => [name, fields[name]!])), plain));
    return {
      sub: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        draft >= 6 ? fc.constantFrom<JsonValue>(true, false, {}) : fc.constant<JsonValue>({}),
        { arbitrary: body, weight: 4 },
        ...(reference === undefined ? [] : [fc.constant<JsonValue>(reference)]),
      ),
      schema: body,
    };
  }).schema;
}

const engines: readonly (readonly [number, string, () => Ajv])[] = [
  [4, 'http://json-schema.org/draft-04/schema#', () => new draft04.default(options)],
  [6, 'http://json-schema.org/draft-06/schema#', () => new Ajv(options)],
  [7, 'http://json-schema.org/draft-07/schema#', () => new Ajv(options)],
  [2019, 'https://json-schema.org/draft/2019-09/schema', () => new Ajv2019(options)],
  [2020, 'https://json-schema.org/draft/2020-12/schema', () => new Ajv2020(options)],
];

/** The program text theirs writes for newer drafts sometimes uses variables that do not exist or hold nothing. */
function accepts(validator: ValidateFunction, candidate: JsonValue): boolean {
  try {
    return validator(candidate);
  } catch (error) {
    fc.pre(!(error instanceof ReferenceError || error instanceof TypeError));
    throw error;
  }
}

describe('validation', () => {
  it.each(engines)('of draft %i agrees with another implementation', (draft, uri, createEngine) => {
    fc.assert(
      fc.property(schemaOf(draft), fc.array(value, { minLength: 1, maxLength: 8 }), (schema, values) => {
        const complete: JsonObject = { $schema: uri, ...schema };
        const theirs = createEngine().compile(complete as object);
        const ours = compileSchema(complete);
        for (const candidate of values) {
          expect(ours(candidate) === undefined).toBe(accepts(theirs, candidate));
        }
      }),
      { numRuns: 250, seed },
    );
  });
});

describe('the check of schemas', () => {
  const engine = new Ajv({ strict: false, validateFormats: false, logger: false });
  const meta = engine.getSchema('http://json-schema.org/draft-07/schema')!;

  it('agrees with the published meta-schema', () => {
    const broken = fc.oneof({ arbitrary: schemaOf(7), weight: 2 }, schemaOf(7).chain(spoil));
    fc.assert(
      fc.property(broken, (schema) => {
        // Ours knows the present form of `enum`, which may be empty and repeat itself.
        fc.pre(!/"enum":\[/.test(JSON.stringify(schema)));
        expect(checkSchema(schema) === undefined).toBe(meta(schema));
      }),
      { numRuns: 400, seed },
    );
  });
});

/** The schema with one keyword given another value. */
function spoil(schema: JsonObject): fc.Arbitrary<JsonObject> {
  const names = [
    'type',
    'minLength',
    'required',
    'properties',
    'items',
    'allOf',
    'not',
    'pattern',
    'uniqueItems',
    '$id',
    'if',
  ];
  const junk = fc.constantFrom<JsonValue>(null, -1, 1.5, 'text', [], ['a', 'a'], [1], {}, { a: 1 }, { a: [] }, true, [
    'null',
  ]);
  return fc.tuple(fc.constantFrom(...names), junk).map(([name, other]) => ({ ...schema, [name]: other }));
}
