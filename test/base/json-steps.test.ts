// JSON in steps: the same values and the same faults as in one go, and no step that does too much.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  defaultJsonLimits,
  formatJson,
  JsonReader,
  JsonSyntaxError,
  parseJson,
  requireStorableText,
  type JsonLimits,
  type JsonValue,
} from '../../src/base/json.ts';
import { copyMembers, countValues, formatInSteps, isLargeJson, parseInSteps } from '../../src/base/json-steps.ts';
import { runAtOnce, type Steps } from '../../src/base/steps.ts';

/** Reads a text with a pause after every few characters. */
function readSlowly(text: string, limits: JsonLimits): JsonValue {
  const reader = new JsonReader(text, limits);
  while (!reader.advance(1));
  if (reader.holdsBadText) runAtOnce(requireStorableText(reader.value, ''));
  return reader.value;
}

const outOfRange = 'number out of range';

/** The value as text, or the path of the fault. */
function outcome(read: () => JsonValue): string {
  try {
    return formatJson(read());
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    if (error.message.includes(outOfRange)) return outOfRange;
    return `fault at ${error.path ?? 'nothing'}`;
  }
}

function countSteps<T>(steps: Steps<T>): number {
  let count = 1;
  while (steps.next().done !== true) count++;
  return count;
}

const number = fc.oneof(
  fc.double({ noDefaultInfinity: true, noNaN: true }).map(String),
  fc.constantFrom('1.0', '12345678901234567890', '-0', '0.10', '1E5', '01', '1.', '-', '.5', '1e'),
);
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '"\\u0000"',
    '"\\ud800"',
    '"\\ud83d\\ude00"',
    '"\\x"',
    '"a',
    '"__proto__"',
    '"\n"',
    '"\\\\"',
    '"\\""',
  ),
);
const { value: document } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    number,
    text,
    fc.constantFrom('true', 'false', 'null', 'nul', ' null ', ''),
    fc.array(tie('value'), { maxLength: 5 }).map((items) => `[${items.join(' ,')}]`),
    fc.array(fc.tuple(text, tie('value')), { maxLength: 5 }).map((members) => {
      return `{ ${members.map(([key, member]) => `${key}\t: ${member}`).join(',\n')}}`;
    }),
  ),
}));
const damaged = fc
  .tuple(document, fc.nat(), fc.constantFrom('', ',', ']', '}', '"', ':', '1', '\\'))
  .map(([whole, at, put]) => {
    const place = whole.length === 0 ? 0 : at % whole.length;
    return whole.slice(0, place) + put + whole.slice(place + 1);
  });

const large = JSON.stringify({ data: Object.fromEntries(Array.from({ length: 90_000 }, (_, n) => [`key${n}`, n])) });

describe('JSON in steps', () => {
  it.each([
    ['texts', document],
    ['damaged texts', damaged],
  ])('reads %s as the reader without steps does', (_name, texts) => {
    fc.assert(
      fc.property(texts, (given) => {
        const slow = outcome(() => readSlowly(given, defaultJsonLimits));
        // A text can also contain invalid text before or after that number, and either is reported.
        if (slow === outOfRange) expect(() => parseJson(given)).toThrow(JsonSyntaxError);
        else expect(slow).toBe(outcome(() => parseJson(given)));
      }),
      { numRuns: 2000 },
    );
  });

  it('counts values and levels as the reader without steps does', () => {
    fc.assert(
      fc.property(document, fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 5 }), (given, values, depth) => {
        const limits = { maxDepth: depth, maxValues: values };
        expect(outcome(() => readSlowly(given, limits))).toBe(outcome(() => parseJson(given, limits)));
      }),
      { numRuns: 2000 },
    );
  });

  it('refuses numbers beyond the range of a double', () => {
    for (const read of [parseJson, readSlowly]) {
      expect(() => read('{"a":1e400}', defaultJsonLimits)).toThrow('number out of range: 1e400');
    }
  });

  it.each([
    ['1', 1],
    ['[]', 1],
    ['{ }', 1],
    ['[1,[],{"a":"[,{"}]', 5],
    ['{"a":{"b":[1,2]},"c":null}', 6],
  ])('counts the values of %s', (given, values) => {
    expect(outcome(() => parseJson(given, { maxDepth: 9, maxValues: values }))).toBe(given.replace(' ', ''));
    expect(runAtOnce(countValues(formatJson(parseJson(given))))).toBe(values);
    if (values === 1) return;
    for (const read of [parseJson, readSlowly]) {
      expect(() => read(given, { maxDepth: 9, maxValues: values - 1 })).toThrow(
        `more than ${values - 1} JSON values (max_json_values)`,
      );
    }
  });

  it('writes the same text as the writer without steps', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { minLength: 50 }), (items) => {
        const value = [parseJson(JSON.stringify(items)), parseJson('[1.50,{"__proto__":1e2}]'), 'x'.repeat(70_000)];
        expect(runAtOnce(formatInSteps(value))).toBe(formatJson(value));
      }),
    );
  });

  it.each([
    ['reading', () => parseInSteps(large, defaultJsonLimits), 50],
    ['writing', () => formatInSteps(parseJson(large)), 50],
    ['counting', () => countValues(large), 3],
    ['copying', () => copyMembers((parseJson(large) as { data: { k: 1 } }).data, {}), 40],
  ])('pauses while %s 90,000 members', (_name, work, atLeast) => {
    expect(countSteps<unknown>(work())).toBeGreaterThanOrEqual(atLeast);
  });

  it('takes one step for small values', () => {
    const small = JSON.stringify(Array.from({ length: 1000 }, (_, n) => n));
    expect(countSteps(parseInSteps(small, defaultJsonLimits))).toBe(1);
    expect(countSteps(formatInSteps(parseJson(small)))).toBe(1);
    expect(isLargeJson(parseJson(small))).toBe(false);
  });

  it('pauses in long blanks', () => {
    expect(countSteps(parseInSteps(`[${' '.repeat(5_000_000)}]`, defaultJsonLimits))).toBeGreaterThanOrEqual(50);
  });
});
