// Responses are parsed from the bytes of a connection, in any division.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerReader, type Answer } from '../../../src/backends/memcached/answers.ts';

const answer: fc.Arbitrary<Answer> = fc.oneof(
  fc.constantFrom('STORED', 'NOT_FOUND', 'END', 'SERVER_ERROR out of memory storing object').map((line) => ({ line })),
  fc
    .record({
      text: fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('\r\nEND\r\n', 'VALUE k 0 1 1\r\n', 'a\r\n')),
      cas: fc.nat().map(String),
    })
    .map((value) => ({ line: `VALUE k 0 ${Buffer.byteLength(value.text)} ${value.cas}`, value })),
);

function format({ line, value }: Answer): string {
  return value === undefined ? `${line}\r\n` : `${line}\r\n${value.text}\r\nEND\r\n`;
}

describe('The responses of a server', () => {
  it('are parsed in any division of their bytes.', () => {
    fc.assert(
      fc.property(fc.array(answer), fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (answers, sizes) => {
        const bytes = Buffer.from(answers.map(format).join(''));
        const reader = new AnswerReader();
        const found: Answer[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const end = at + sizes[turn % sizes.length]!;
          found.push(...reader.read(bytes.subarray(at, end)));
          at = end;
        }
        expect(found).toEqual(answers);
      }),
    );
  });

  it.each(['VALUE k 0 1\r\nab\r\nEND\r\n', 'VALUE k 0 1 5\r\nab\r\nEND\r\n', 'x'.repeat(3000)])(
    'are refused when they are malformed: %j.',
    (text) => {
      expect(() => new AnswerReader().read(Buffer.from(text))).toThrow(/a value|a line/);
    },
  );
});
