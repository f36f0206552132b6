import { describe, expect, it } from 'vitest';
import { findJsonbText } from '../../../src/backends/postgresql/jsonb-text.ts';

/** Longer than the digits that `jsonb` keeps after the point. */
const long = `0.${'0'.repeat(17_000)}1`;
const far = '1e-17000';
const text = '"x-"';

describe('JSON text for jsonb', () => {
  it.each([0, 1, 11_998, 11_999, 12_000, 12_001, 30_000])(
    'has its extreme numbers replaced after a text of %i characters',
    (chars) => {
      const before = `["${'x'.repeat(chars)}",`;
      for (const number of [long, far, far.toUpperCase()]) {
        expect(findJsonbText(`${before}${number},${text}]`)).toBe(`${before}1e-16383,${text}]`);
      }
    },
  );

  it.each([
    ['a number alone', '12'],
    ['long digits in a text', `["${'1'.repeat(20_000)}"]`],
    ['far exponents in a text', `["1e-17000",1]`],
    ['many numbers', `[${'1.5e-3,'.repeat(20_000)}1]`],
  ])('stays as it is with %s', (_, json) => {
    expect(findJsonbText(json)).toBeUndefined();
  });

  it('replaces an extreme number that is the whole text', () => {
    expect(findJsonbText(long)).toBe('1e-16383');
  });
});
