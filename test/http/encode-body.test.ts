import { describe, expect, it } from 'vitest';
import { encodeBody } from '../../src/http/encode-body.ts';

describe('A long body', () => {
  it.each([
    ['ASCII', 'x'.repeat(3_000_001)],
    ['surrogate pairs', '\u{1f600}'.repeat(1_500_000)],
    ['surrogate pairs at odd places', `x${'\u{1f600}'.repeat(1_500_000)}`],
  ])('of %s is encoded without loss', async (_, text) => {
    expect((await encodeBody(text)).equals(Buffer.from(text))).toBe(true);
  });

  it('in pieces is encoded as one text', async () => {
    const pieces = ['[', '\u{1f600}'.repeat(700_000), ',', 'ü'.repeat(1_000_000), '', ']'];
    expect((await encodeBody(pieces)).equals(Buffer.from(pieces.join('')))).toBe(true);
  });
});

it('encodes short pieces at once', () => {
  expect(encodeBody(['a', 'ü'])).toEqual(Buffer.from('aü'));
});
