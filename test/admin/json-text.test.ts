// The console's JSON as text: cut apart and put together without a change to what it says.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  displayText,
  elementsOf,
  faultOfObject,
  indentJson,
  memberText,
  membersOf,
  withoutMembers,
} from '../../admin/src/core/json-text.ts';

const objects = fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), fc.jsonValue());
/** One value, in texts with different whitespace. */
const texts = fc
  .tuple(objects, fc.constantFrom(undefined, 1, '\t', '\n '))
  .map(([object, space]) => ({ object, text: JSON.stringify(object, undefined, space) }));

describe('JSON as text', () => {
  it('is cut into members that say what the whole said.', () => {
    fc.assert(
      fc.property(texts, ({ object, text }) => {
        const members = membersOf(text);
        const read = members.map(({ key, text: value }) => [key, JSON.parse(value)]);
        expect(read).toEqual(Object.entries(JSON.parse(text)));
        expect(members.map(({ key }) => key).toSorted()).toEqual(Object.keys(object).toSorted());
      }),
    );
  });

  it('is cut into elements that say what the whole said.', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 2), (array, space) => {
        const elements = elementsOf(JSON.stringify(array, undefined, space)).map((text) => JSON.parse(text));
        expect(elements).toEqual(JSON.parse(JSON.stringify(array)));
      }),
    );
  });

  it('is indented as JSON.stringify does it.', () => {
    fc.assert(
      fc.property(texts, ({ text }) => {
        expect(indentJson(text)).toBe(JSON.stringify(JSON.parse(text), undefined, 2));
      }),
    );
  });

  it('keeps the digits of numbers, the escapes of strings and keys that are there twice.', () => {
    const text = String.raw`{"big":12345678901234567890.10,"e":1E400,"s":"\u0041\/","__proto__":{"a":-0},"d":1,"d":2}`;
    expect(indentJson(text).replaceAll(/\s/g, '')).toBe(text);
    expect(withoutMembers(text, ['e', 'd'])).toBe(
      String.raw`{"big":12345678901234567890.10,"s":"\u0041\/","__proto__":{"a":-0}}`,
    );
    expect(memberText(text, 'd')).toBe('2');
    expect(memberText(text, 'constructor')).toBeUndefined();
  });

  it('is shown as people read it.', () => {
    expect(['"a\\n\\"b"', '1.0', '{"a":1}', 'null'].map(displayText)).toEqual(['a\n"b', '1.0', '{"a":1}', 'null']);
  });

  it('is refused in words when it is no object.', () => {
    expect(faultOfObject('{"a":1}')).toBeUndefined();
    for (const text of ['', '{', '[]', 'null', '1', '{"a":1,}']) expect(faultOfObject(text)).toMatch(/JSON/);
  });
});
