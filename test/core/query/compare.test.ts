// The order over all values and what agrees with it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExactNumber, parseJson, type JsonValue } from '../../../src/base/json.ts';
import { compareText, compareValues, containsValue, equalValues, sortedKeys } from '../../../src/core/query/compare.ts';
import { json, jsonOrMissing } from './arbitraries.ts';

const exact = (text: string): ExactNumber => new ExactNumber(text);

describe('the order over all values', () => {
  const ascending: readonly (JsonValue | undefined)[] = [
    null,
    '',
    'A',
    'a',
    'ab',
    '\u{e000}',
    '\u{ffff}',
    '\u{10000}',
    '\u{1f600}',
    exact('-1e300'),
    -2,
    exact('-1.5000000000000000000001'),
    -1.5,
    exact('-1e-400'),
    0,
    exact('1e-500'),
    exact('1.1e-400'),
    0.1,
    exact('0.10000000000000000001'),
    1,
    exact('1.00000000000000000001'),
    2,
    10,
    exact('12345678901234567889'),
    exact('12345678901234567890'),
    1e21,
    false,
    true,
    [],
    [true],
    [[]],
    [{}],
    [null, 1],
    [1, 'a'],
    [1, 2],
    {},
    { a: 1 },
    { a: 2 },
    { aa: 0 },
    { b: 0 },
    { c: 0, a: 1 },
    { aa: 9, b: 0 },
    { b: 0, aa: 10 },
    { b: 1, aa: 0 },
    undefined,
  ];

  it('is null < strings < numbers < booleans < arrays < objects < missing, and defined within each type', () => {
    for (const [i, a] of ascending.entries()) {
      for (const [j, b] of ascending.entries()) {
        expect(Math.sign(compareValues(a, b)), `${String(i)} against ${String(j)}`).toBe(Math.sign(i - j));
      }
    }
  });

  it('compares numbers of any form and size by their exact value', () => {
    const same: readonly (readonly [JsonValue, JsonValue])[] = [
      [exact('1.0'), 1],
      [exact('1e3'), 1000],
      [exact('1E+3'), exact('1000.000')],
      [exact('-0'), 0],
      [exact('-0.0e5'), exact('0e999999999999999999999')],
      [exact('0.00012e4'), exact('1.2')],
      [exact('100000000000000000000000'), 1e23],
      [exact('0.1'), 0.1],
    ];
    for (const [a, b] of same) {
      expect(compareValues(a, b)).toBe(0);
      expect(equalValues(a, b)).toBe(true);
      expect(equalValues(b, a)).toBe(true);
    }
    expect(compareValues(exact('12345678901234567890'), exact('12345678901234567889'))).toBeGreaterThan(0);
    expect(compareValues(exact('12345678901234567890'), 12345678901234567000)).toBeGreaterThan(0);
    expect(equalValues(exact('0.1000000000000000000001'), 0.1)).toBe(false);
  });

  it('has one zero, also for negative numbers that differ in a zero alone', () => {
    expect(compareValues(new ExactNumber('-5e-1000000000000000'), new ExactNumber('-50e-1000000000000000'))).toBe(0);
  });

  it('accepts extreme exponents', () => {
    const tiny = exact(`1e-${'9'.repeat(400)}`);
    expect(compareValues(tiny, 0)).toBeGreaterThan(0);
    expect(compareValues(tiny, exact('1e-999999'))).toBeLessThan(0);
    expect(compareValues(exact(`-1e-${'9'.repeat(400)}`), tiny)).toBeLessThan(0);
    expect(equalValues(tiny, tiny)).toBe(true);
  });

  it('is total: antisymmetric, transitive, and 0 exactly for equal values', () => {
    fc.assert(
      fc.property(jsonOrMissing, jsonOrMissing, jsonOrMissing, (a, b, c) => {
        const [ab, ba, bc, ac] = [compareValues(a, b), compareValues(b, a), compareValues(b, c), compareValues(a, c)];
        expect(Math.sign(ab)).toBe(0 - Math.sign(ba));
        if (ab <= 0 && bc <= 0) expect(ac).toBeLessThanOrEqual(0);
        if (ab === 0) expect(Math.sign(ac)).toBe(Math.sign(bc));
        expect(equalValues(a, b)).toBe(ab === 0);
        expect(compareValues(a, a)).toBe(0);
      }),
      { numRuns: 2000 },
    );
  });

  it('orders random numbers like big integers of the same scale', () => {
    const decimal = fc.tuple(fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }), fc.integer({ min: -30, max: 5 }));
    fc.assert(
      fc.property(decimal, decimal, ([a, m], [b, n]) => {
        const [x, y] = [a * 10n ** BigInt(m + 30), b * 10n ** BigInt(n + 30)];
        const sign = x < y ? -1 : x > y ? 1 : 0;
        expect(Math.sign(compareValues(parseJson(`${a}e${m}`), parseJson(`${b}e${n}`)))).toBe(sign);
      }),
    );
  });

  it('orders text by its UTF-8 bytes', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'é', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}'),
    });
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareText(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });

  it('compares object keys by UTF-8 length first', () => {
    expect(sortedKeys({ b: 1, aa: 1, é: 1, a: 1 })).toEqual(['a', 'b', 'aa', 'é']);
    const all = ['a', 'z', 'é', '\uffee', '\ud7ff', 'zz', 'a0'];
    for (const last of ['b', '\u{1f600}', '\ue000']) {
      const parts = [...all, last];
      const keys = parts.flatMap((one) => parts.flatMap((two) => parts.map((three) => one + two + three)));
      const object = Object.fromEntries(keys.map((key) => [key, 1]));
      const expected = Object.keys(object).toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(sortedKeys(object)).toEqual(expected.toSorted((a, b) => Buffer.byteLength(a) - Buffer.byteLength(b)));
    }
  });
});

describe('equality', () => {
  it('ignores the order of keys and inherited members', () => {
    expect(equalValues({ a: 1, b: [2] }, { b: [exact('2.0')], a: 1 })).toBe(true);
    expect(equalValues(parseJson('{"__proto__":1}'), parseJson('{"__proto__":1}'))).toBe(true);
    expect(equalValues(parseJson('{"__proto__":1}'), { a: 1 })).toBe(false);
    expect(equalValues({ constructor: 1 }, { a: 1 })).toBe(false);
    expect(equalValues({ a: 1 }, { toString: 1 })).toBe(false);
  });

  it('is typed', () => {
    expect(equalValues('1', 1)).toBe(false);
    expect(equalValues(1, true)).toBe(false);
    expect(equalValues(null, undefined)).toBe(false);
    expect(equalValues([], {})).toBe(false);
    expect(equalValues([1, 2], [2, 1])).toBe(false);
    expect(equalValues(exact('1.0'), [])).toBe(false);
  });
});

describe('containment of an element', () => {
  it('is equality for scalars and arrays', () => {
    expect(containsValue(1, exact('1.0'))).toBe(true);
    expect(containsValue('ab', 'a')).toBe(false);
    expect(containsValue([1, 2], [1])).toBe(false);
    expect(containsValue([1, 2], [1, 2])).toBe(true);
  });

  it('allows further members in an object, at any depth', () => {
    expect(containsValue({ x: 1, y: 2 }, { x: 1 })).toBe(true);
    expect(containsValue({ x: 1 }, { x: 1, y: 2 })).toBe(false);
    expect(containsValue({ x: { a: 1, b: 2 }, y: 0 }, { x: { b: 2 } })).toBe(true);
    expect(containsValue({ x: [1, { a: 1, b: 2 }, 3] }, { x: [{ b: 2 }, 1] })).toBe(true);
    expect(containsValue({ x: [1, 2] }, { x: [3] })).toBe(false);
    expect(containsValue({ x: 1 }, { x: [1] })).toBe(false);
    expect(containsValue({ x: 1 }, { constructor: {} })).toBe(false);
    expect(containsValue([], {})).toBe(false);
  });

  it('holds for every value and itself', () => {
    fc.assert(fc.property(json, (value) => containsValue(value, value)));
  });
});
