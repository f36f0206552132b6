import { describe, expect, it } from 'vitest';
import { parseJson, type JsonObject } from '../../../src/base/json.ts';
import { type SchemaFailure } from '../../../src/core/schema/validate.ts';
import { checkSchema, validateAgainst } from './at-once.ts';

function validate(
  schema: string,
  value: string,
  internalFields = ['last_modified', 'schema'],
): SchemaFailure | undefined {
  return validateAgainst(parseJson(schema) as JsonObject, parseJson(value) as JsonObject, { internalFields });
}

describe('validation of an object', () => {
  it('accepts what the schema allows', () => {
    expect(
      validate('{"properties":{"title":{"type":"string"}}}', '{"title":"x","id":"a","last_modified":1}'),
    ).toBeUndefined();
    expect(validate('{}', '{"id":"a"}')).toBeUndefined();
  });

  it.each([
    ['{"properties":{"title":{"type":"string"}}}', '{"title":1}', 'title'],
    ['{"properties":{"a":{"properties":{"b":{"type":"string"}}}}}', '{"a":{"b":1}}', 'b'],
    ['{"properties":{"a":{"items":{"type":"string"}}}}', '{"a":["x","y",3]}', 2],
    ['{"properties":{"a":{"additionalProperties":false}}}', '{"a":{"z":1}}', 'a'],
    ['{"required":["b","title"]}', '{"b":1}', 'title'],
    ['{"required":["title","b"]}', '{"b":1}', 'title'],
    ['{"properties":{"a":{"required":["inner"]}}}', '{"a":{}}', 'inner'],
    ['{"additionalProperties":false}', '{"z":1}', 'additionalProperties'],
    ['{"minProperties":2}', '{"z":1}', 'minProperties'],
    ['{"anyOf":[{"required":["a"]},{"required":["b"]}]}', '{}', 'anyOf'],
    ['{"allOf":[{"required":["a"]}]}', '{}', 'a'],
    ['{"if":{},"then":{"properties":{"x":{"type":"null"}}}}', '{"x":1}', 'x'],
    ['{"propertyNames":{"maxLength":2}}', '{"abc":1}', 'propertyNames'],
    ['{"dependencies":{"a":["b"]}}', '{"a":1}', 'dependencies'],
    ['{"properties":{"x":{"$ref":"#/definitions/missing"}}}', '{"x":1}', 'schema'],
    ['{"properties":{"x":{"$ref":"http://elsewhere.example/schema.json"}}}', '{"x":1}', 'schema'],
    ['{"$ref":"#"}', '{}', 'schema'],
    ['{"properties":{"x":{"pattern":"(a)\\\\1"}}}', '{}', 'schema'],
    ['{"properties":{"__proto__":{"type":"string"}}}', '{"__proto__":1}', '__proto__'],
  ])('by %s of %s fails under the name %3$s', (schema, value, name) => {
    expect(validate(schema, value)).toEqual({ name, description: expect.any(String) });
  });

  it('reports only the first failure', () => {
    expect(validate('{"properties":{"a":{"type":"null"},"b":{"type":"null"}}}', '{"b":1,"a":1}')?.name).toBe('a');
  });

  it('does not follow references that the value does not reach', () => {
    expect(validate('{"properties":{"x":{"$ref":"#/definitions/missing"}}}', '{"y":1}')).toBeUndefined();
  });

  it('hides internal fields, also from the list of required ones', () => {
    const schema =
      '{"required":["schema","last_modified","title"],"additionalProperties":false,"properties":{"title":{}}}';
    expect(validate(schema, '{"title":1,"schema":5,"last_modified":1,"id":"a"}')).toBeUndefined();
    expect(validate('{"properties":{"last_modified":{"type":"null"}}}', '{"last_modified":1}')).toBeUndefined();
  });

  it('shows the id only to schemas that mention it among their properties', () => {
    expect(validate('{"required":["id"],"maxProperties":0}', '{"id":"a"}')).toBeUndefined();
    expect(validate('{"properties":{"id":{"pattern":"^b"}}}', '{"id":"a"}')?.name).toBe('id');
    expect(validate('{"properties":{"id":{}},"required":["id"]}', '{"id":"a"}')).toBeUndefined();
    expect(validate('{"properties":{"id":{}},"required":["id"]}', '{}')?.name).toBe('id');
  });

  it('distinguishes schemas by their whole content', () => {
    expect(validate('{"properties":{"a":{"const":1}}}', '{"a":1}')).toBeUndefined();
    expect(validate('{"properties":{"a":{"const":2}}}', '{"a":1}')?.name).toBe('a');
    expect(validate('{"properties":{"a":{"const":1}}}', '{"a":1}')).toBeUndefined();
  });

  it('sees all digits of numbers', () => {
    const schema = '{"properties":{"n":{"maximum":12345678901234567890}}}';
    expect(validate(schema, '{"n":12345678901234567890}')).toBeUndefined();
    expect(validate(schema, '{"n":12345678901234567891}')?.name).toBe('n');
  });
});

describe('the check of schemas', () => {
  it('accepts objects that are schemas in draft 7', () => {
    for (const schema of [
      '{}',
      '{"type":"object","properties":{"a":{"$ref":"#/x"}}}',
      '{"$schema":"http://json-schema.org/draft-04/schema#"}',
    ]) {
      expect(checkSchema(parseJson(schema))).toBeUndefined();
    }
  });

  it('refuses everything else, whatever draft the schema names', () => {
    const refused = [
      'null',
      '"x"',
      '[]',
      'true',
      '5',
      '{"type":"strong"}',
      '{"type":5}',
      '{"minLength":-1}',
      '{"required":true}',
      '{"properties":{"a":{"type":"x"}}}',
      '{"exclusiveMinimum":true}',
      '{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}',
    ];
    for (const schema of refused) expect(checkSchema(parseJson(schema)), schema).toEqual(expect.any(String));
  });

  it('names the keyword that is wrong', () => {
    expect(checkSchema(parseJson('{"properties":{"a":{"minLength":"x"}}}'))).toContain('minLength');
    expect(checkSchema(parseJson('{"type":"strong"}'))).toContain('type');
  });

  it('refuses patterns that cannot be run, wherever they are applied', () => {
    for (const schema of [
      '{"pattern":"(?=a)"}',
      '{"patternProperties":{"(a)\\\\1":{}}}',
      '{"definitions":{"x":{"pattern":"("}}}',
    ]) {
      expect(checkSchema(parseJson(schema))).toContain('pattern');
    }
    expect(checkSchema(parseJson('{"enum":[{"pattern":"("}],"properties":{"pattern":{}}}'))).toBeUndefined();
  });

  it('refuses newer keywords with invalid values', () => {
    expect(checkSchema(parseJson('{"$schema":"https://json-schema.org/draft/2020-12/schema","items":[{}]}'))).toEqual(
      expect.any(String),
    );
  });
});
