import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileSafePattern, UnsupportedPattern } from '../../../src/core/schema/safe-pattern.ts';

describe('patterns', () => {
  it.each([
    ['^a$', 'a', true],
    ['^a$', 'a\n', false],
    ['b', 'abc', true],
    ['a.c', 'a\u2028c', false],
    ['^.$', '😀', true],
    ['^\\s$', '\u00a0', true],
    ['^\\S$', '\u00a0', false],
    ['^[\\s\\S]$', '\u00a0', true],
    ['^[\\s]$', '\ufeff', true],
    ['^\\w+$', 'é', false],
    ['^\\d$', '٣', false],
    ['\\ud83d\\ude00', '😀', true],
    ['\\u{1F600}', '😀', true],
    ['^\\u00e9\\xe9$', 'éé', true],
    ['\\cA', '\x01', true],
    ['\\0', '\0', true],
    ['^[^]$', '\n', true],
    ['[]', 'a', false],
    ['^[[]$', '[', true],
    ['^[\\b]$', '\b', true],
    ['^/\\/$', '//', true],
    ['^(?<year>\\d{4})-(?P<month>\\d\\d)$', '2026-11', true],
    ['(?<=a)b', 'ab', true],
    ['(?<!a)b', 'ab', false],
    ['^\\p{L}+$', 'éß', true],
    ['^\\p{Letter}\\P{Lu}$', 'aa', true],
    ['^\\p{Script=Greek}$', 'α', true],
    ['\\Aab\\Z', 'ab', true],
    ['', 'anything', true],
  ])('%j on %j: %s', (pattern, text, result) => {
    expect(compileSafePattern(pattern).test(text)).toBe(result);
  });

  it.each([
    '(a)\\1',
    '(?<n>a)\\k<n>',
    '(?=a)',
    '(?!a)',
    '(',
    '[',
    '[b-a]',
    'a**',
    '\\',
    '\\q',
    '\\u12',
    '\\ud83d',
    '\\u{110000}',
    '\\p{Foo}',
    '\\p',
    'a{1001}',
    '[\\Z]',
  ])('%j is refused', (pattern) => {
    expect(() => compileSafePattern(pattern)).toThrow(UnsupportedPattern);
  });

  it('report unsupported syntax', () => {
    expect(() => compileSafePattern('^(?!x)')).toThrow('lookahead is not supported');
    expect(() => compileSafePattern('(a)\\1')).toThrow('backreferences are not supported');
  });

  it('match like the same expressions in JavaScript', () => {
    const atom = fc.constantFrom(
      'a',
      'b',
      '.',
      '\\d',
      '\\w',
      '\\s',
      '\\S',
      '\\b',
      '[ab]',
      '[^a]',
      '[\\s\\d]',
      '[^\\s]',
      '\\n',
      'é',
      '😀',
      '\\u00e9',
      '^',
      '$',
      '\\/',
      '\\-',
    );
    const quantifier = fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,2}', '*?');
    const pattern = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { maxDepth: 3 },
        fc
          .array(
            fc.tuple(atom, quantifier).map((parts) => parts.join('')),
            { minLength: 1, maxLength: 4 },
          )
          .map((parts) => parts.join('')),
        fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
        fc.tuple(tie('pattern'), fc.constantFrom('*', '?', '+')).map(([inner, mark]) => `(${inner})${mark}`),
      ),
    })).pattern;
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', '1', ' ', '\n', '\u00a0', '\u2028', 'é', '😀', '/'),
      maxLength: 6,
    });
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 5 }), (source, texts) => {
        // Quantified anchors and escapes of ordinary characters are errors with the `u` flag.
        const native = compileNative(source);
        fc.pre(native !== undefined);
        const ours = compileSafePattern(source);
        for (const candidate of texts) expect(ours.test(candidate)).toBe(native.test(candidate));
      }),
      { numRuns: 500 },
    );
  });
});

function compileNative(source: string): RegExp | undefined {
  try {
    return new RegExp(source, 'u');
  } catch {
    return undefined;
  }
}
