import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { folderOf, parsePattern } from '../../../src/core/permissions/object-pattern.ts';

/** Returns a regular expression with the meaning of the pattern. */
function reference(pattern: string, withChildren: boolean): RegExp {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(withChildren ? '[^]*' : '[^/]*')}$`, 'u');
}

const objectId = fc.string({ unit: fc.constantFrom('a', 'b', '/', '_', '.', '%'), maxLength: 10 });
const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*', '*', '.'), maxLength: 8 });

describe('object patterns', () => {
  it('match like the equivalent regular expression', () => {
    fc.assert(
      fc.property(pattern, objectId, fc.boolean(), (text, id, withChildren) => {
        expect(parsePattern(text, withChildren).matches(id)).toBe(reference(text, withChildren).test(id));
      }),
      { numRuns: 2000 },
    );
  });

  it('match only ids in their folder', () => {
    fc.assert(
      fc.property(pattern, objectId, fc.boolean(), (text, id, withChildren) => {
        const { folder, flat, matches } = parsePattern(text, withChildren);
        if (!matches(id)) return;
        expect(folderOf(id).startsWith(folder)).toBe(true);
        if (flat) expect(folderOf(id)).toBe(folder);
      }),
      { numRuns: 2000 },
    );
  });

  it('match many stars in negligible time', () => {
    const { matches } = parsePattern(`${'*a'.repeat(200)}*b`, true);
    expect(matches('a'.repeat(20_000))).toBe(false);
  });
});
