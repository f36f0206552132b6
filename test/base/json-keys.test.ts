import { afterEach, describe, expect, it, vi } from 'vitest';
import { keysOfObject, manyMembers } from '../../src/base/json-keys.ts';
import { formatAndCount, formatInSteps, parseInSteps } from '../../src/base/json-steps.ts';
import { defaultJsonLimits, parseStoredJson, type JsonObject } from '../../src/base/json.ts';
import { runAtOnce } from '../../src/base/steps.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Returns an object with many members before the given ones, all in the order of the text. */
function textWith(members: string, count = 5 * manyMembers): string {
  const first = Array.from({ length: count }, (_, n) => `"member${n}":${n}.50`);
  return `{${[...first, members].join(',')}}`;
}

function read(text: string): JsonObject {
  return runAtOnce(parseInSteps(text, defaultJsonLimits)) as JsonObject;
}

describe('keysOfObject', () => {
  it.each([
    ['plain names', '"last":1'],
    ['a repeated name of the first members', '"member7":1,"last":2'],
    ['a repeated name of later members', '"member4000":1,"last":2,"last":3'],
    ['names that are numbers', '"7":1,"last":2,"1":3'],
    ['the name __proto__', '"__proto__":1,"constructor":2'],
    ['nested objects', `"inner":${textWith('"x":1', manyMembers + 1)},"other":{"1":1,"a":2}`],
  ])('returns the keys in the order of JavaScript with %s', (_, members) => {
    const text = textWith(members);
    const object = read(text);
    expect(keysOfObject(object)).toEqual(Object.keys(object));
    expect(runAtOnce(formatInSteps(object))).toBe(runAtOnce(formatInSteps(parseStoredJson(text))));
  });

  it('is known for large objects that were read, so that writing them lists no large object at once', () => {
    const object = read(textWith('"last":1'));
    const listed = vi.spyOn(Object, 'keys');
    const { values } = runAtOnce(formatAndCount(object, 1));
    expect(values).toBe(5 * manyMembers + 2);
    expect(listed.mock.calls.filter(([value]) => value === object)).toEqual([]);
  });
});
