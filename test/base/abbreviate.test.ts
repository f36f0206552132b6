// Short forms of what clients have sent.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { abbreviateJson, quoteText } from '../../src/base/abbreviate.ts';
import { ExactNumber, parseJson } from '../../src/base/json.ts';

describe('short forms', () => {
  it('show small values as they are', () => {
    for (const text of ['{"a": 1, "b": [true, null, "x"]}', '[]', '{}', '1.50', '""'])
      expect(abbreviateJson(parseJson(text), 3)).toBe(text);
  });

  it('omit long, deep and numerous parts', () => {
    expect(abbreviateJson('x'.repeat(50), 1)).toBe(`"${'x'.repeat(40)}…"`);
    expect(abbreviateJson({ a: { b: { c: 1 } }, d: [[1]] }, 2)).toBe('{"a": {"b": {…}}, "d": [[…]]}');
    expect(abbreviateJson([1, 2, 3, 4, 5, 6], 1)).toBe('[1, 2, 3, 4, 5, …]');
    expect(abbreviateJson(Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, 0])), 1)).toMatch(
      /"e": 0, …\}$/,
    );
    expect(abbreviateJson(new ExactNumber('1'.repeat(100)), 1)).toBe('…');
  });

  it('are bounded, whatever the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        expect(
          abbreviateJson(parseJson(JSON.stringify(value).replaceAll(/\\u0000|\\ud\w\w\w/g, '')), 2).length,
        ).toBeLessThan(5000);
      }),
    );
  });

  it('contain well-formed text only', () => {
    expect(quoteText('a\uD800b')).toBe('"a\uFFFDb"');
    expect(quoteText('\u{1F600}'.repeat(40), 61).isWellFormed()).toBe(true);
  });
});
