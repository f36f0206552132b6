// The bytes of values have the order of the values.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExactNumber, type JsonValue } from '../../../src/base/json.ts';
import { encodeValue, KeyBytes } from '../../../src/core/query/encode-value.ts';
import { beginningOf, isCutOff, keyOf, parseIndexes } from '../../../src/core/index/definition.ts';
import { compareValues, equalValues } from '../../../src/core/query/compare.ts';
import { json, jsonOrMissing } from '../query/arbitraries.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 6 }).map((text) => text.toWellFormed());
const exponent = fc.oneof(fc.integer({ min: -130, max: 130 }), fc.bigInt(-(10n ** 20n), 10n ** 20n));
const anyNumber = fc
  .tuple(fc.boolean(), fc.stringMatching(/^[0-9]{1,8}(?:[.][0-9]{1,8})?$/), exponent)
  .map(([isNegative, digits, power]) => {
    const mantissa = digits.replace(/^0+(?=[0-9])/, '');
    return new ExactNumber(`${isNegative ? '-' : ''}${mantissa}e${power}`);
  });
const anyValue: fc.Arbitrary<JsonValue | undefined> = fc.oneof(
  jsonOrMissing,
  anyText,
  anyNumber,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.array(fc.oneof(anyText, anyNumber, json), { maxLength: 3 }),
  fc.dictionary(
    anyText.filter((key) => key !== '__proto__'),
    fc.oneof(anyText, anyNumber, json),
    { maxKeys: 3 },
  ),
);

function bytesOf(...values: readonly (JsonValue | undefined)[]): Buffer {
  const bytes = new KeyBytes(10_000);
  for (const value of values) encodeValue(bytes, value);
  return bytes.finish();
}

describe('encoded values', () => {
  it('have the order of the values', () => {
    fc.assert(
      fc.property(anyValue, anyValue, (a, b) => {
        expect(Math.sign(Buffer.compare(bytesOf(a), bytesOf(b)))).toBe(Math.sign(compareValues(a, b)));
      }),
      { numRuns: 20_000 },
    );
  });

  it('have the order of the first values that differ when they are joined', () => {
    fc.assert(
      fc.property(anyValue, anyValue, anyValue, anyValue, (a, b, c, d) => {
        const order = compareValues(a, c) || compareValues(b, d);
        expect(Math.sign(Buffer.compare(bytesOf(a, b), bytesOf(c, d)))).toBe(Math.sign(order));
      }),
      { numRuns: 10_000 },
    );
  });

  it.each<[JsonValue[], JsonValue[]]>([
    [
      [12, 'a'],
      [12.03, 'a'],
    ],
    [
      [12, null],
      [12.03, null],
    ],
    [
      [-12.03, 'a'],
      [-12, 'a'],
    ],
    [
      ['a', 1],
      ['ab', 1],
    ],
    [
      ['a', true],
      ['a\u0000', null],
    ],
    [
      [[1], 2],
      [[1, 0], 0],
    ],
  ])('have the order of the first values that differ: %j before %j', (low, high) => {
    expect(Buffer.compare(bytesOf(...low), bytesOf(...high))).toBe(-1);
  });

  it('have the opposite order when they are inverted', () => {
    const inverted = (value: JsonValue | undefined): Buffer => {
      const bytes = new KeyBytes(10_000);
      encodeValue(bytes, value);
      bytes.invertFrom(0);
      return bytes.finish();
    };
    fc.assert(
      fc.property(anyValue, anyValue, (a, b) => {
        expect(Math.sign(Buffer.compare(inverted(a), inverted(b)))).toBe(Math.sign(compareValues(b, a)));
      }),
      { numRuns: 5000 },
    );
  });

  it('keep the order of the values, or are equal, when they are cut off', () => {
    const cut = (value: JsonValue | undefined): KeyBytes => {
      const bytes = new KeyBytes(5);
      encodeValue(bytes, value);
      return bytes;
    };
    fc.assert(
      fc.property(anyValue, anyValue, (a, b) => {
        const [first, second] = [cut(a), cut(b)];
        const order = Math.sign(Buffer.compare(first.finish(), second.finish()));
        const wanted = Math.sign(compareValues(a, b));
        expect(order === 0 ? (first.isFull() && second.isFull() ? wanted : 0) : order).toBe(wanted);
      }),
      { numRuns: 10_000 },
    );
  });
});

describe('keys of long values', () => {
  const [index] = parseIndexes([{ fields: ['a', '-b'] }])!;
  const start = fc.constantFrom('x'.repeat(990), 'x'.repeat(1100), 'é'.repeat(600));
  const long = fc.oneof(
    anyValue,
    fc.tuple(start, anyText).map(([first, last]) => first + last),
    fc
      .tuple(
        start,
        anyValue.filter((value) => value !== undefined),
      )
      .map(([first, last]) => [first, last]),
  );

  it('are equal when the values are, and short', () => {
    fc.assert(
      fc.property(long, long, long, long, (a, b, c, d) => {
        const [first, second] = [keyOf(index!, [a, b]), keyOf(index!, [c, d])];
        expect(first.equals(second)).toBe(equalValues(a, c) && equalValues(b, d));
        expect(first.length).toBeLessThanOrEqual(8 + 1 + 1024);
      }),
      { numRuns: 5000 },
    );
  });

  it('begin in the order of the values where both are cut off', () => {
    fc.assert(
      fc.property(long, long, long, long, (a, b, c, d) => {
        const keys = [keyOf(index!, [a, b]), keyOf(index!, [c, d])] as const;
        if (!keys.every((key) => isCutOff({ key }))) return;
        const order = Math.sign(Buffer.compare(beginningOf(keys[0]), beginningOf(keys[1])));
        if (order !== 0) expect(order).toBe(Math.sign(compareValues(a, c) || compareValues(d, b)));
      }),
      { numRuns: 5000 },
    );
  });
});
