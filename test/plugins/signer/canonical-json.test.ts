// Canonical JSON: equal values have equal texts.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson, type JsonValue } from '../../../src/base/json.ts';
import { formatCanonicalInSteps, formatCanonicalJson, findFloat } from '../../../src/plugins/signer/canonical-json.ts';

const canonical = (text: string): string => formatCanonicalJson(parseJson(text));

describe('Canonical JSON', () => {
  it.each([
    ['{ "b": 1, "a": [ true, null ] }', '{"a":[true,null],"b":1}'],
    ['{"b":{"d":1,"c":2},"a":{}}', '{"a":{},"b":{"c":2,"d":1}}'],
    ['{"é":"ñ","z":"日本"}', String.raw`{"z":"\u65e5\u672c","\u00e9":"\u00f1"}`],
    ['"😀"', String.raw`"\ud83d\ude00"`],
    [String.raw`"\u00E9\/\t\u0001\u007f\""`, `"\\u00e9/\\t\\u0001\u007f\\""`],
    ['12345678901234567890', '12345678901234567890'],
    ['-9007199254740993', '-9007199254740993'],
    ['-0', '0'],
    ['1.0', '1'],
    ['1.50', '1.5'],
    ['1e2', '100'],
    ['1E21', '1e+21'],
    ['0.0000001', '1e-7'],
    ['-0.0', '0'],
    ['{"__proto__":1,"constructor":2,"10":3,"9":4}', '{"10":3,"9":4,"__proto__":1,"constructor":2}'],
  ])('%s is %s.', (given, expected) => {
    expect(canonical(given)).toBe(expected);
  });

  it('sorts keys by code point, with characters beyond the basic plane last.', () => {
    expect(canonical('{"😀":1,"\uffee":2}')).toBe(String.raw`{"\uffee":2,"\ud83d\ude00":1}`);
  });

  it('is ASCII JSON of the same value in any order of keys.', () => {
    const withoutNegativeZero = (_key: string, value: unknown): unknown => (Object.is(value, -0) ? 0 : value);
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (given) => {
        const value = JSON.parse(JSON.stringify(given), withoutNegativeZero) as JsonValue;
        const text = formatCanonicalJson(value);
        expect(text).toMatch(/^[\x20-\x7f]*$/);
        expect(JSON.parse(text)).toEqual(value);
        expect(formatCanonicalJson(reversed(value))).toBe(text);
      }),
      { numRuns: 200 },
    );
  });
});

describe('Canonical JSON of large values', () => {
  /** Returns the text and the number of steps. */
  function inSteps(value: JsonValue): { readonly text: string; readonly steps: number } {
    const writing = formatCanonicalInSteps(value);
    for (let steps = 1; ; steps++) {
      const step = writing.next();
      if (step.done === true) return { text: step.value, steps };
    }
  }

  it.each<[string, JsonValue]>([
    ['characters of two units, wherever they are cut', `x${'😀é'.repeat(60_000)}"\\\n`],
    ['many members', Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`ключ${n}`, [n, 'text', null]]))],
    ['exact numbers', Array.from({ length: 5000 }, (_, n) => parseJson(`{"b":1.${n}0,"a":-0.0,"__proto__":[]}`))],
    ['deep values', parseJson(`${'['.repeat(400)}"${'ж'.repeat(70_000)}"${']'.repeat(400)}`)],
  ])('has the same text, written in steps, for %s.', (_, value) => {
    const { text, steps } = inSteps(value);
    expect(text === formatCanonicalJson(value)).toBe(true);
    expect(steps).toBeGreaterThan(3);
  });

  it('takes one step for small values.', () => {
    expect(inSteps({ b: 1, a: 'é' })).toEqual({ text: String.raw`{"a":"\u00e9","b":1}`, steps: 1 });
  });
});

describe('Detection of numbers that are not integers', () => {
  it.each([
    ['1', undefined],
    ['12345678901234567890', undefined],
    ['"1.5"', undefined],
    ['{"a":[1,{"b":2}]}', undefined],
    ['1.5', []],
    ['1.0', []],
    ['1e3', []],
    ['1e+21', []],
    ['{"a":[1,{"b":2.5}],"c":1.5}', ['a', '1', 'b']],
  ])('%s: %s.', (given, expected) => {
    expect(findFloat(parseJson(given))).toEqual(expected);
  });
});

/** Returns the same value with keys in another order. */
function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, member]) => [key, reversed(member as JsonValue)]),
  );
}
