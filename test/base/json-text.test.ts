import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findMember, itemTexts } from '../../src/base/json-text.ts';
import { formatJson, parseStoredJson, type JsonObject } from '../../src/base/json.ts';

describe('findMember', () => {
  it.each([
    ['a number', '{"a":1,"b":-2.50e3}', 'b', '-2.50e3'],
    ['the first member', '{"a":1,"b":2}', 'a', '1'],
    ['a text with quotes and brackets', '{"x":"}\\"]","a":"y\\\\"}', 'a', '"y\\\\"'],
    ['an object', '{"x":[{"a":1}],"a":{"b":[1,{"c":"]"}]}}', 'a', '{"b":[1,{"c":"]"}]}'],
    ['null', '{"a":null}', 'a', 'null'],
    ['the empty name', '{"":true}', '', 'true'],
    ['a name with escapes', '{"\\u0061":1}', 'a', '1'],
    ['a name with a quote', '{"\\"":1}', '"', '1'],
    ['text with blanks', ' {\n "x" : [ 1 , 2 ] ,\t"a" : 3 } ', 'a', '3'],
  ])('returns the text of %s', (_, text, name, found) => {
    expect(findMember(text, name)).toBe(found);
  });

  it.each([
    ['a name that only a nested object has', '{"x":{"a":1}}'],
    ['a name that only occurs in a text', '{"x":"\\"a\\":1","y":"a"}'],
    ['an empty object', '{}'],
    ['an empty object with a blank', '{ }'],
  ])('returns undefined for %s', (_, text) => {
    expect(findMember(text, 'a')).toBeUndefined();
  });

  it('finds the same values as parsing', () => {
    const names = fc.oneof(fc.constantFrom('a', '"', '\\', '__proto__', 'é', '{', ','), fc.string({ unit: 'binary' }));
    const objects = fc.dictionary(names, fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(objects, names, (value, other) => {
        const text = formatJson(value as JsonObject);
        for (const name of [...Object.keys(value), other]) {
          const found = findMember(text, name);
          const parsed = parseStoredJson(text) as JsonObject;
          expect(found !== undefined).toBe(Object.hasOwn(parsed, name));
          if (found !== undefined) expect(parseStoredJson(found)).toEqual(parsed[name]);
        }
      }),
    );
  });

  it('costs less than half of parsing an object with many members', () => {
    const members = Array.from({ length: 50_000 }, (_, n) => `"k${n}":${n}`);
    const text = `{${members.join(',')},"last":1}`;
    const lookups = cpuOf(() => findMember(text, 'last'));
    const parses = cpuOf(() => parseStoredJson(text));
    expect(lookups / parses).toBeLessThan(0.5);
  });
});

describe('itemTexts', () => {
  it.each([
    ['[]', []],
    [' [ ] ', []],
    ['[1]', ['1']],
    ['[1.10,"a,]\\"",null]', ['1.10', '"a,]\\""', 'null']],
    [' [ {"a":[1,"}"]} ,\n[[2],[]] , -0 ]', ['{"a":[1,"}"]}', '[[2],[]]', '-0']],
  ])('of %j are %j', (text, items) => {
    expect(itemTexts(text)).toEqual(items);
  });

  it('can be joined again', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (values) => {
        expect(itemTexts(JSON.stringify(values))).toEqual(values.map((value) => JSON.stringify(value)));
      }),
    );
  });
});

/** Returns the processor time of several calls, in microseconds. */
function cpuOf(work: () => unknown): number {
  const before = process.cpuUsage();
  for (let n = 0; n < 10; n++) work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
