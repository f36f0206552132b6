import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rangeBelow, rangeOfPrefix } from '../../../src/backends/sql/text-range.ts';
import { storedUri } from '../../../src/core/objects/uris.ts';

const character = fc.constantFrom(
  'a',
  'b',
  '_',
  '%',
  '/',
  '0',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\u{10000}',
  '\u{10ffff}',
);
const text = fc.array(character, { maxLength: 4 }).map((characters) => characters.join(''));

function isAtLeast(value: string, bound: string): boolean {
  return Buffer.compare(Buffer.from(value), Buffer.from(bound)) >= 0;
}

describe('text ranges', () => {
  it('of a prefix contain exactly the texts that start with it', () => {
    fc.assert(
      fc.property(text, text, fc.boolean(), (prefix, other, glued) => {
        const value = glued ? prefix + other : other;
        const { low, high } = rangeOfPrefix(prefix);
        const inRange = isAtLeast(value, low) && (high === undefined || !isAtLeast(value, high));
        expect(inRange).toBe(value.startsWith(prefix));
      }),
      { numRuns: 2000 },
    );
  });

  it('below a URI contain exactly its continuations with a slash', () => {
    fc.assert(
      fc.property(text, text, fc.boolean(), (uri, other, glued) => {
        const value = glued ? uri + other : other;
        const { low, high } = rangeBelow(storedUri(uri));
        expect(isAtLeast(value, low) && !isAtLeast(value, high)).toBe(value.startsWith(`${uri}/`));
      }),
      { numRuns: 2000 },
    );
  });
});
