import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LongStringReader, pieceChars } from '../../src/base/json-long-string.ts';
import { countValues, formatInSteps, parseInSteps } from '../../src/base/json-steps.ts';
import { endOfString } from '../../src/base/json-text.ts';
import { defaultJsonLimits } from '../../src/base/json.ts';
import { runAtOnce, type Steps } from '../../src/base/steps.ts';

/** Reads all pieces; returns `undefined` for a malformed string. */
function readAll(text: string, start: number, chars: number): { value: string; at: number } | undefined {
  const reader = new LongStringReader(text, start, chars);
  for (;;) {
    const isComplete = reader.readPiece();
    if (isComplete === undefined) return undefined;
    if (isComplete) return { value: reader.value, at: reader.at };
  }
}

/** Parts of JSON strings, with escape sequences that a piece must not split. */
const parts = fc.constantFrom(
  'x',
  'é',
  '語',
  '😀',
  '\\"',
  '\\\\',
  '\\n',
  '\\u00e9',
  '\\ud83d',
  '\\ude00',
  '/',
  '{"a":1}'.replaceAll('"', '\\"'),
);
const tokens = fc.array(parts, { maxLength: 40 }).map((all) => `"${all.join('')}"`);

describe('a reader of long strings', () => {
  it('reads the same value as JSON.parse, with pieces of any length', () => {
    fc.assert(
      fc.property(tokens, fc.integer({ min: 6, max: 30 }), fc.nat({ max: 3 }), (token, chars, before) => {
        const text = `${'['.repeat(before)}${token},"next"`;
        expect(readAll(text, before, chars)).toEqual({ value: JSON.parse(token), at: before + token.length });
      }),
    );
  });

  it.each([
    ['without an end', `"${'x'.repeat(50)}`],
    ['that ends in an escape sequence', `"${'x'.repeat(50)}\\"`],
    ['with a control character', `"${'x'.repeat(20)}\n${'x'.repeat(20)}"`],
    ['with an unknown escape sequence', `"${'x'.repeat(20)}\\x${'x'.repeat(20)}"`],
    ['with an incomplete escape sequence', `"${'x'.repeat(20)}\\u00"`],
    ['of backslashes without an end', `"${'\\'.repeat(40)}`],
  ])('refuses a string %s', (_, text) => {
    expect(readAll(text, 0, 7)).toBeUndefined();
  });
});

const long: readonly (readonly [string, string])[] = [
  ['letters', 'x'.repeat(20 * pieceChars)],
  ['escaped quotes', '\\"'.repeat(10 * pieceChars)],
  ['backslashes', '\\\\'.repeat(10 * pieceChars)],
  ['unicode escapes', '\\u00e9'.repeat(4 * pieceChars)],
  ['wide characters', '語😀'.repeat(4 * pieceChars)],
];

describe('long strings in documents', () => {
  it.each(long)('of %s are read, counted and written in many steps', (_, content) => {
    const text = `{"data":{"text":"${content}","n":[1,2]}}`;
    const [value, read] = countSteps(parseInSteps(text, defaultJsonLimits));
    expect(value).toEqual(JSON.parse(text));
    expect(read).toBeGreaterThan(content.length / pieceChars / 2);
    const [counted, steps] = countSteps(countValues(text));
    expect(counted).toBe(6);
    // A search for the end of the string is fast where no quotes are escaped.
    if (content.includes('"')) expect(steps).toBeGreaterThan(3);
    expect(runAtOnce(formatInSteps(value))).toBe(JSON.stringify(JSON.parse(text)));
    expect(endOfString(text, 16)).toBe(text.indexOf('","n"') + 1);
  });

  it('are refused when they are malformed, with the place of the string', () => {
    const text = `{"text":\n"${'x'.repeat(2 * pieceChars)}\n"}`;
    expect(() => runAtOnce(parseInSteps(text, defaultJsonLimits))).toThrow(/line 2/);
    const open = `{"text":"${'x'.repeat(2 * pieceChars)}`;
    expect(() => runAtOnce(parseInSteps(open, defaultJsonLimits))).toThrow(/malformed JSON/);
  });

  it('are refused with null characters and lone surrogates', () => {
    for (const bad of ['\\u0000', '\\ud83d', '\ud83d']) {
      const text = `{"text":"${'x'.repeat(2 * pieceChars)}${bad}${'x'.repeat(2 * pieceChars)}"}`;
      expect(() => runAtOnce(parseInSteps(text, defaultJsonLimits))).toThrow(/null characters and lone surrogates/);
    }
  });
});

function countSteps<T>(steps: Steps<T>): [value: T, count: number] {
  for (let count = 1; ; count++) {
    const step = steps.next();
    if (step.done === true) return [step.value, count];
  }
}
