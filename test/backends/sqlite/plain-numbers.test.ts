import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExactNumber } from '../../../src/base/json.ts';
import { holdsPlainNumbersOnly, isPlainNumber } from '../../../src/backends/sqlite/plain-numbers.ts';
import { openConnection, temporaryPath } from './temporary.ts';

const decimal = fc
  .tuple(fc.integer({ min: -999_999_999, max: 999_999_999 }), fc.nat(999_999), fc.nat(6))
  .map(([whole, fraction, zeros]) => Number(`${whole}.${'0'.repeat(zeros)}${fraction}`));

describe('plain numbers', () => {
  it('are read from JSON by SQLite as by JavaScript', async () => {
    const connection = openConnection(await temporaryPath());
    const isSame = (value: number): boolean =>
      connection.get<[number]>('SELECT json_extract(?, ?) = ?', `{"n":${value}}`, '$.n', value)?.[0] === 1;
    const numbers = fc.oneof(decimal, fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }));
    fc.assert(
      fc.property(numbers, (value) => {
        if (isPlainNumber(value)) expect(isSame(value)).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });

  it.each(['{}', '{"a":1,"b":-2.5,"c":[0,0.125]}', '{"a":1.0,"b":2.50}', '{"a":999999999999999}'])(
    'are the only numbers of %s',
    (text) => expect(holdsPlainNumbersOnly(text)).toBe(true),
  );

  it.each([
    '{"a":0.30000000000000004}',
    '{"a":1e3}',
    '{"a":1e+21}',
    '{"a":[1,{"b":-0}]}',
    '{"a":12345678901234567890}',
    '{"a":9007199254740993}',
    '{"a":-1152921504606846976}',
  ])('are not all that %s holds', (text) => expect(holdsPlainNumbersOnly(text)).toBe(false));

  it.each(['{"a":"1e3 -0 12345678901234567890"}', '{"a\\"1e3":"\\\\"}', '{"hash":"0f1e2d3c4b5a69788796a5b4c3d2e1f0"}'])(
    'are not searched for in the strings of %s',
    (text) => expect(holdsPlainNumbersOnly(text)).toBe(true),
  );

  it('are not searched for in large texts, which count as holding others', () => {
    const textOf = (length: number): string => `{"a":1,"b":"${'x'.repeat(length)}"}`;
    expect(holdsPlainNumbersOnly(textOf(60_000))).toBe(true);
    expect(holdsPlainNumbersOnly(textOf(70_000))).toBe(false);
  });

  it('are never exact numbers', () => {
    expect(isPlainNumber(new ExactNumber('1.0'))).toBe(false);
    expect(isPlainNumber('1')).toBe(false);
  });
});
