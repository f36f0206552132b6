import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { maxSchemaChars } from '../../../src/core/schema/check-schema.ts';
import { checkSchema, validateAgainst } from './at-once.ts';

const options = { internalFields: [] };

function nest(levels: number, wrap: (inner: JsonValue) => JsonValue): JsonValue {
  let value: JsonValue = {};
  for (let level = 0; level < levels; level++) value = wrap(value);
  return value;
}

describe('malicious schemas', () => {
  it('cannot multiply references without limit', () => {
    const definitions: [string, JsonValue][] = [['a0', {}]];
    for (let level = 1; level <= 40; level++) {
      const twice = { $ref: `#/definitions/a${level - 1}` };
      definitions.push([`a${level}`, { allOf: [twice, twice] }]);
    }
    const schema: JsonObject = { $ref: '#/definitions/a40', definitions: Object.fromEntries(definitions) };
    expect(checkSchema(schema)).toBeUndefined();
    expect(validateAgainst(schema, {}, options)).toEqual({
      name: 'schema',
      description: 'validation takes too much work',
    });
  });

  it('cannot be circular without progress', () => {
    for (const schema of [
      { $ref: '#' },
      { allOf: [{ $ref: '#' }] },
      { definitions: { a: { $ref: '#/definitions/b' }, b: { $ref: '#/definitions/a' } }, $ref: '#/definitions/a' },
      { not: { anyOf: [{ if: { $ref: '#' } }] } },
      { $schema: 'https://json-schema.org/draft/2020-12/schema', $dynamicAnchor: 'a', anyOf: [{ $dynamicRef: '#a' }] },
      { $schema: 'https://json-schema.org/draft/2019-09/schema', $recursiveAnchor: true, not: { $recursiveRef: '#' } },
      { $schema: 'https://json-schema.org/draft/2020-12/schema', dependentSchemas: { a: { $ref: '#' } } },
    ]) {
      expect(checkSchema(schema)).toBeUndefined();
      expect(validateAgainst(schema, { a: 1 }, options)?.name).toBe('schema');
    }
  });

  it('cannot apply many schemas to many items', () => {
    const allOf = Array.from({ length: 3000 }, () => ({ items: { minimum: 0 } }));
    const value = { list: Array.from({ length: 100_000 }, () => 1) };
    expect(validateAgainst({ properties: { list: { allOf } } }, value, options)?.name).toBe('schema');
  });

  it('cannot contain slow patterns', () => {
    const value = { text: `${'a'.repeat(100_000)}!` };
    expect(validateAgainst({ properties: { text: { pattern: '^(a+)+$' } } }, value, options)?.name).toBe('text');
    const slow = { properties: { text: { pattern: `^${'\\p{L}{400}'.repeat(5)}` } } };
    expect(validateAgainst(slow, value, options)).toBeUndefined();
    const manyTimes = { allOf: Array.from({ length: 100 }, () => slow) };
    expect(validateAgainst(manyTimes, value, options)?.name).toBe('schema');
  });

  it('cannot contain patterns of unlimited size', () => {
    expect(checkSchema({ pattern: 'a'.repeat(3000) })).toContain('longer');
    expect(checkSchema({ pattern: '[ab]{900}[cd]{900}[ef]{900}' })).toContain('complex');
    const patterns = Array.from({ length: 20 }, (_, index) => ({ pattern: `a{${900 + index}}` }));
    expect(checkSchema({ allOf: patterns })).toContain('complex');
  });

  it('can be wide and deep within the limits', () => {
    const wide = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`p${index}`, { type: ['string', 'null'], maxLength: index }]),
    );
    expect(checkSchema({ properties: wide })).toBeUndefined();
    expect(validateAgainst({ properties: wide }, { p3: 'long' }, options)?.name).toBe('p3');
    const deep = nest(240, (inner) => ({ properties: { a: inner } })) as JsonObject;
    expect(checkSchema(deep)).toBeUndefined();
    expect(validateAgainst(deep, nest(300, (inner) => ({ a: inner })) as JsonObject, options)).toBeUndefined();
    expect(checkSchema({ description: 'x'.repeat(maxSchemaChars) })).toContain('longer');
  });

  it('can describe trees as deep as values may be', () => {
    const tree: JsonObject = { type: 'object', properties: { child: { $ref: '#' } }, additionalProperties: false };
    const value = nest(499, (inner) => ({ child: inner })) as JsonObject;
    expect(validateAgainst(tree, value, options)).toBeUndefined();
  });

  it('cannot compare items without limit', () => {
    const items = Array.from({ length: 100_000 }, (_, index) => ({ index }));
    expect(validateAgainst({ properties: { a: { uniqueItems: true } } }, { a: items }, options)).toBeUndefined();
  });

  it('cannot reach into built-in objects', () => {
    const value = { a: 1 };
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(validateAgainst({ required: [name] }, value, options)?.name).toBe(name);
      expect(validateAgainst({ $ref: `#/definitions/${name}`, definitions: {} }, value, options)?.name).toBe('schema');
      expect(validateAgainst({ $ref: `#/${name}` }, value, options)?.name).toBe('schema');
      expect(validateAgainst({ dependencies: { [name]: ['b'] } }, value, options)).toBeUndefined();
    }
    expect(checkSchema({ type: 'constructor' })).toEqual(expect.any(String));
  });
});
