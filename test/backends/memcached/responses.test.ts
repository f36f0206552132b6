// The parser of memcached responses, with any split of the bytes.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ResponseParser, type MemcachedResponse } from '../../../src/backends/memcached/responses.ts';

const response: fc.Arbitrary<MemcachedResponse> = fc.oneof(
  fc.constantFrom('STORED', 'NOT_FOUND', 'END', 'SERVER_ERROR out of memory storing object').map((line) => ({ line })),
  fc
    .record({
      text: fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('\r\nEND\r\n', 'VALUE k 0 1 1\r\n', 'a\r\n')),
      cas: fc.nat().map(String),
    })
    .map((value) => ({ line: `VALUE k 0 ${Buffer.byteLength(value.text)} ${value.cas}`, value })),
);

function format({ line, value }: MemcachedResponse): string {
  return value === undefined ? `${line}\r\n` : `${line}\r\n${value.text}\r\nEND\r\n`;
}

describe('The responses of a server', () => {
  it('are parsed correctly for any split of the bytes.', () => {
    fc.assert(
      fc.property(
        fc.array(response),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (responses, sizes) => {
          const bytes = Buffer.from(responses.map(format).join(''));
          const reader = new ResponseParser();
          const found: MemcachedResponse[] = [];
          for (let at = 0, turn = 0; at < bytes.length; turn++) {
            const end = at + sizes[turn % sizes.length]!;
            found.push(...reader.read(bytes.subarray(at, end)));
            at = end;
          }
          expect(found).toEqual(responses);
        },
      ),
    );
  });

  it.each(['VALUE k 0 1\r\nab\r\nEND\r\n', 'VALUE k 0 1 5\r\nab\r\nEND\r\n', 'x'.repeat(3000)])(
    'are refused when they are none: %j.',
    (text) => {
      expect(() => new ResponseParser().read(Buffer.from(text))).toThrow(/a value|a line/);
    },
  );
});
