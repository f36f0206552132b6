// The console's view of JSON Schemas: fields of forms, defaults, and numbers to the last digit.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  choicesOf,
  defaultsOf,
  emptyValueOf,
  numberText,
  propertiesOf,
  shapeOf,
} from '../../admin/src/core/json-schema.ts';
import { memberText, withMember } from '../../admin/src/core/json-text.ts';

describe('A form from a JSON Schema', () => {
  it('has a field for each property, in order, with required ones marked.', () => {
    const schema = '{"required":["b"],"properties":{"b":{"type":"string"},"a":{"type":"integer"},"__proto__":true}}';
    expect(propertiesOf(schema)).toEqual([
      { key: 'b', schema: '{"type":"string"}', isRequired: true },
      { key: 'a', schema: '{"type":"integer"}', isRequired: false },
      { key: '__proto__', schema: 'true', isRequired: false },
    ]);
  });

  it.each([
    ['{"type":"string"}', 'string'],
    ['{"type":"integer"}', 'number'],
    ['{"enum":["a",1,null]}', 'enum'],
    ['{"enum":[{"a":1}]}', 'json'],
    ['{"type":"array","items":{"type":"string"}}', 'array'],
    ['{"type":"array"}', 'json'],
    ['{"type":"object","properties":{"a":{}}}', 'object'],
    ['{"type":["string","null"]}', 'string'],
    ['{"type":["string","number"]}', 'json'],
    ['{"anyOf":[{"type":"integer"},{"type":"null"}]}', 'number'],
    ['{"oneOf":[{"const":"a","title":"A"},{"const":1}]}', 'enum'],
    ['{"oneOf":[{"const":"a"},{"type":"string"}]}', 'json'],
    ['{"const":"a"}', 'enum'],
    ['{"anyOf":[]}', 'json'],
    ['{}', 'json'],
    ['true', 'json'],
    ['null', 'json'],
    ['"text"', 'json'],
    ['[]', 'json'],
  ])('shows %s as %s.', (schema, type) => {
    expect(shapeOf(schema, schema).type).toBe(type);
  });

  it('follows references inside the document, also in a circle.', () => {
    const root = '{"definitions":{"a~b":{"type":"integer","title":"T"},"loop":{"$ref":"#/definitions/loop"}}}';
    expect(shapeOf('{"$ref":"#/definitions/a~0b","title":"Mine"}', root)).toMatchObject({
      type: 'number',
      schema: '{"type":"integer","title":"Mine"}',
    });
    expect(shapeOf('{"$ref":"#/definitions/loop"}', root).type).toBe('json');
    expect(shapeOf('{"$ref":"#/definitions/none"}', root).type).toBe('json');
    expect(shapeOf('{"$ref":"other.json#/x"}', root).type).toBe('json');
  });

  it('takes the alternative null as the absence of a value.', () => {
    const shape = shapeOf('{"anyOf":[{"type":"null"},{"$ref":"#/d"}],"title":"T"}', '{"d":{"enum":["a"],"title":"U"}}');
    expect(shape).toMatchObject({ type: 'enum', isNullable: true, schema: '{"title":"T","enum":["a"]}' });
    expect(shape.choices.map(({ value }) => value)).toEqual(['"a"', 'null']);
  });

  it('survives any schema.', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const schema = JSON.stringify(value);
        expect(() => [propertiesOf(schema), shapeOf(schema, schema), emptyValueOf(schema, schema)]).not.toThrow();
      }),
    );
  });

  it('begins with the defaults, with their digits.', () => {
    const schema = '{"properties":{"n":{"type":"number","default":1.10},"s":{"type":"string"},"t":{"default":[1E9]}}}';
    expect(defaultsOf(schema)).toBe('{"n":1.10,"t":[1E9]}');
    expect(
      defaultsOf(
        '{"properties":{"a":{"type":"object","properties":{"b":{"default":1.0},"c":{}}},"o":{"type":"object","properties":{"c":{}}}}}',
      ),
    ).toBe('{"a":{"b":1.0}}');
    expect(defaultsOf('{"required":["kind"],"properties":{"kind":{"const":"book"},"other":{"const":1}}}')).toBe(
      '{"kind":"book"}',
    );
    expect(emptyValueOf('{"enum":["x"]}', '{}')).toBe('"x"');
    expect(choicesOf('{"enum":[1.0,"a"]}')).toEqual(['1.0', '"a"']);
  });

  it('keeps typed numbers as they are, and other texts as texts that the service refuses.', () => {
    expect(['12345678901234567890.10', '-1e9', ' 5 '].map(numberText)).toEqual([
      '12345678901234567890.10',
      '-1e9',
      '5',
    ]);
    expect(['', '-', '01', '1.', 'NaN', '0x1', '1,5'].map(numberText).every((text) => text.startsWith('"'))).toBe(true);
  });

  it('changes one member and leaves all others as they are.', () => {
    const text = String.raw`{"a":1.0,"__proto__":{"x":-0},"b":"\u0041"}`;
    expect(withMember(text, 'a', '2')).toBe(String.raw`{"a":2,"__proto__":{"x":-0},"b":"\u0041"}`);
    expect(withMember(text, 'b', undefined)).toBe('{"a":1.0,"__proto__":{"x":-0}}');
    expect(withMember('{}', '__proto__', '1')).toBe('{"__proto__":1}');
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), fc.jsonValue(), (object, key, value) => {
        const changed = withMember(JSON.stringify(object), key, JSON.stringify(value));
        expect(memberText(changed, key)).toBe(JSON.stringify(value));
        expect(Object.keys(JSON.parse(changed)).length).toBe(new Set([...Object.keys(object), key]).size);
      }),
    );
  });
});
