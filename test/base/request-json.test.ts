// JSON that clients send: what is said about text that is none.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonSyntaxError } from '../../src/base/json.ts';
import { parseInSteps } from '../../src/base/json-steps.ts';
import { parseRequestJson } from '../../src/base/request-json.ts';
import { runAtOnce } from '../../src/base/steps.ts';
import { sized } from '../support/extent.ts';

function faultOf(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message;
    throw error;
  }
}

/** Text that is nearly JSON: a document with one character replaced, added or taken away. */
const nearlyJson = fc
  .tuple(
    fc.json({ maxDepth: 3 }),
    fc.nat(),
    fc.constantFrom('', '"', '\\', '}', ']', ',', ':', '\n', "'", 'x', '1'),
    fc.boolean(),
  )
  .map(([text, place, character, isReplaced]) => {
    const at = place % (text.length + 1);
    return text.slice(0, at) + character + text.slice(isReplaced ? at + 1 : at);
  });

describe('JSON sent by clients', () => {
  it.each([
    ['', 'malformed JSON at line 1, column 1: expected a value, found the end of the text'],
    ['[1,]', 'malformed JSON at line 1, column 4: expected a value, found "]" (JSON takes no comma before "]")'],
    ['[1;2]', 'malformed JSON at line 1, column 3: expected "," or "]", found ";"'],
    ['{"a":1\n "b":2}', 'malformed JSON at line 2, column 2: expected "," or "}", found "\\""'],
    ['{"a"}', 'malformed JSON at line 1, column 5: expected ":", found "}"'],
    ['{a:1}', 'malformed JSON at line 1, column 2: expected a name in double quotes or "}", found a'],
    ['-', 'malformed JSON at line 1, column 2: expected a digit, found the end of the text'],
    ['\uFEFF{}', 'malformed JSON at line 1, column 1: expected a value, found U+FEFF'],
    ['[\u{1F600}]', 'malformed JSON at line 1, column 2: expected a value or "]", found "\u{1F600}"'],
    [`{"a": ${'x'.repeat(99)}}`, `malformed JSON at line 1, column 7: expected a value, found ${'x'.repeat(20)}`],
    [
      String.raw`["\u12"]`,
      'malformed JSON at line 1, column 3: unknown escape sequence; a backslash is written as \\\\',
    ],
  ])('describes %j', (text, description) => {
    expect(faultOf(() => parseRequestJson(text))).toBe(description);
  });

  it('reports a position for every text that is not JSON, in few characters, read in steps or not', () => {
    fc.assert(
      fc.property(nearlyJson, (text) => {
        fc.pre(!isJson(text));
        const fault = faultOf(() => parseRequestJson(text));
        // A number that no double holds may come before the place at which the text stops being JSON.
        const description = /^(?:malformed JSON at line \d+, column \d+: |number out of range: )/;
        expect(fault).toMatch(description);
        expect(fault!.length).toBeLessThan(200);
        const padded = `${text}${' '.repeat(70_000)}`;
        const limits = { maxDepth: 100, maxValues: 100_000 };
        expect(faultOf(() => runAtOnce(parseInSteps(padded, limits)))).toMatch(description);
      }),
      { numRuns: sized('COFFER_FUZZ_RUNS', 40, 300) },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
