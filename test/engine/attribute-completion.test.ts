// Completion of attributes by a schema: what stays untouched, and that much work is done in steps.
import { describe, expect, it } from 'vitest';
import { ExactNumber, parseJson, type JsonObject, type JsonValue } from '../../src/base/json.ts';
import { runAtOnce } from '../../src/base/steps.ts';
import { compileCompletion } from '../../src/engine/attribute-completion.ts';

const complete = (schema: JsonObject, value: JsonObject): JsonObject =>
  runAtOnce(compileCompletion(schema, { coerce: true })!(value));

describe('The completion of attributes', () => {
  it('is undefined for a schema that changes nothing', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' }, b: { items: { type: 'integer' } } } };
    expect(compileCompletion(schema, { coerce: false })).toBeUndefined();
    expect(compileCompletion({}, { coerce: true })).toBeUndefined();
  });

  it('returns complete attributes unchanged', () => {
    const value = { a: 1, list: [1, 2], other: { b: true } };
    const schema: JsonObject = {
      properties: {
        a: { type: 'integer', default: 2 },
        list: { items: { type: 'integer' } },
        other: { properties: { b: { type: 'boolean' } } },
      },
    };
    expect(complete(schema, value)).toBe(value);
  });

  it('changes no given value', () => {
    const value = parseJson('{"list":["1"],"inner":{}}') as JsonObject;
    const schema: JsonObject = {
      properties: { list: { items: { type: 'integer' } }, inner: { properties: { n: { default: 1 } } } },
    };
    expect(complete(schema, value)).toEqual({ list: [1], inner: { n: 1 } });
    expect(value).toEqual({ list: ['1'], inner: {} });
  });

  it('adds no defaults to array items, so that a response is not much longer than its request', () => {
    const schema: JsonObject = { properties: { list: { items: { properties: { a: { default: 'x' } } } } } };
    expect(compileCompletion(schema, { coerce: true })).toBeUndefined();
  });

  it('treats __proto__ as an ordinary name', () => {
    const schema = parseJson('{"properties":{"__proto__":{"default":1},"constructor":{"default":2}}}') as JsonObject;
    const completed = complete(schema, {});
    expect(Object.keys(completed)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(completed)).toBe(Object.prototype);
  });

  it.each<[string, JsonValue, JsonValue]>([
    ['integer', '007', '007'],
    ['integer', '1e3', new ExactNumber('1e3')],
    ['number', '-0.50', new ExactNumber('-0.50')],
    ['number', 'Infinity', 'Infinity'],
    ['number', '1'.repeat(101), '1'.repeat(101)],
    ['number', true, true],
    ['boolean', 'TRUE', 'TRUE'],
    ['boolean', 0, 0],
    ['string', new ExactNumber('1.0'), '1.0'],
    ['string', null, null],
    ['array', 'a', 'a'],
  ])('converts to %s: %s', (type, given, expected) => {
    const schema: JsonObject = { properties: { a: { type }, b: { type: 'string' } } };
    expect(complete(schema, { a: given })).toEqual({ a: expected });
  });

  it('runs in steps when large', () => {
    const list = Array.from({ length: 50_000 }, (_, index) => String(index));
    const steps = compileCompletion({ properties: { list: { items: { type: 'integer' } } } }, { coerce: true })!({
      list,
    });
    let pauses = 0;
    while (steps.next().done !== true) pauses += 1;
    expect(pauses).toBeGreaterThan(10);
  });
});
