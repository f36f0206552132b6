// How the text of a setting becomes a value, reader by reader.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as readers from '../../src/settings/readers.ts';

const wrong = Symbol('wrong');
const unset = Symbol('unset');

function readWith<T>(reader: readers.Reader<T>, text: string): unknown {
  const reading = reader.read(text);
  return reading.kind === 'value' ? reading.value : reading.kind === 'unset' ? unset : wrong;
}

const cases: readonly (readonly [string, readers.Reader<unknown>, readonly (readonly [string, unknown])[]])[] = [
  [
    'text',
    readers.text(),
    [
      ['plain words', 'plain words'],
      ['"quoted words"', 'quoted words'],
      ['"', '"'],
      ['25', '25'],
      ['true', 'true'],
      ['012345678901234567890', '012345678901234567890'],
      ['[1]', '[1]'],
      ['null', unset],
      ['', unset],
      ['""', unset],
    ],
  ],
  [
    'integer',
    readers.integer({ min: 0, max: 100 }),
    [
      ['25', 25],
      ['"25"', 25],
      ['0', 0],
      ['100', 100],
      ['101', wrong],
      ['-1', wrong],
      ['1.5', wrong],
      ['1e2', wrong],
      ['0x10', wrong],
      ['many', wrong],
      ['true', wrong],
      ['', unset],
      ['null', unset],
    ],
  ],
  [
    'number',
    readers.number({ min: 0 }),
    [
      ['0.5', 0.5],
      ['1e2', 100],
      ['.5', 0.5],
      ['Infinity', wrong],
      ['NaN', wrong],
      ['-0.1', wrong],
      ['', unset],
    ],
  ],
  [
    'duration',
    readers.duration({ min: 0 }),
    [
      ['10', 10],
      ['1.5', 1.5],
      ['250ms', 0.25],
      ['2m', 120],
      ['1 h', 3600],
      ['1d', 86_400],
      ['soon', wrong],
      ['-1', wrong],
    ],
  ],
  [
    'flag',
    readers.flag(),
    [
      ...['true', 't', 'yes', 'y', 'on', '1', 'TRUE', 'Yes', 'ON', '"true"'].map((text) => [text, true] as const),
      ...['false', 'f', 'no', 'n', 'off', '0', 'False', 'NO'].map((text) => [text, false] as const),
      ['2', wrong],
      ['maybe', wrong],
      ['', unset],
      ['null', unset],
    ],
  ],
  [
    'list',
    readers.list(),
    [
      ['a b  c', ['a', 'b', 'c']],
      ['a, b,c', ['a', 'b', 'c']],
      ['\na\n  b\n\nc', ['a', 'b', 'c']],
      ['["a b", "c", 3, true]', ['a b', 'c', '3', 'true']],
      ['[]', []],
      ['', []],
      ['null', []],
      ['"a b"', ['a', 'b']],
      ['[::1] 10.0.0.1', ['[::1]', '10.0.0.1']],
      ['[["a"]]', wrong],
      ['[null]', wrong],
      ['["account:a", "account:b"', wrong],
      ['[ "a" "b" ]', wrong],
      ['[\n  "a",\n]', wrong],
      ["['a', 'b']", wrong],
      ['{"a": 1}', wrong],
      ['{a, b}', wrong],
      ['[a] b', ['[a]', 'b']],
    ],
  ],
  [
    'mailbox',
    readers.mailbox(),
    [
      ['a@b.example', 'a@b.example'],
      ['coffer@localhost', 'coffer@localhost'],
      ['Coffer <a@b.example>', 'Coffer <a@b.example>'],
      ['"Coffer, Inc." <a@b.example>', '"Coffer, Inc." <a@b.example>'],
      ['"a@b.example"', 'a@b.example'],
      ['nonsense', wrong],
      ['a@b.example, c@d.example', wrong],
      ['', unset],
    ],
  ],
  [
    'choice',
    readers.choice('http', 'https'),
    [
      ['https', 'https'],
      ['HTTPS', wrong],
      ['ftp', wrong],
      ['', unset],
    ],
  ],
  [
    'number choice',
    readers.numberChoice(415, 406),
    [
      ['406', 406],
      ['200', wrong],
    ],
  ],
  [
    'dotted choice',
    readers.dottedChoice(['memory', 'sqlite'], { isDeprecated: true }),
    [
      ['memory', 'memory'],
      ['kinto.core.storage.memory', 'memory'],
      ['kinto.core.storage.postgresql', wrong],
      ['constructor', wrong],
      ['', unset],
    ],
  ],
  [
    'date',
    readers.date(),
    [
      ['2027-12-31', { text: '2027-12-31', time: Date.UTC(2027, 11, 31) }],
      ['2027-12-31T12:30', { text: '2027-12-31T12:30', time: Date.UTC(2027, 11, 31, 12, 30) }],
      ['2027-12-31T12:00:00+02:00', { text: '2027-12-31T12:00:00+02:00', time: Date.UTC(2027, 11, 31, 10) }],
      ['2027-02-30', wrong],
      ['2027-13-01', wrong],
      ['tomorrow', wrong],
      ['1234', wrong],
    ],
  ],
  [
    'url',
    readers.url(),
    [
      ['https://example.org/x', 'https://example.org/x'],
      ['ftp://example.org/', wrong],
      ['javascript:alert(1)', wrong],
      ['example.org', wrong],
    ],
  ],
  [
    'optional integer',
    readers.optional(readers.integer()),
    [
      ['4', 4],
      ['', unset],
    ],
  ],
  [
    'integer or none',
    readers.orNone(readers.integer()),
    [
      ['4', 4],
      ['', undefined],
      ['x', wrong],
    ],
  ],
];

describe.each(cases)('The reader for %s', (_name, reader, examples) => {
  test.each(examples)('reads %j as %j.', (text, expected) => {
    expect(readWith(reader, text)).toEqual(expected);
  });
});

test('A dotted name is accepted with a log line.', () => {
  const reader = readers.dottedChoice(['memory'], { isDeprecated: true });
  expect(reader.read('kinto.core.cache.memory')).toMatchObject({
    note: 'kinto.core.cache.memory is deprecated; write memory',
  });
  expect(reader.read('memory')).not.toHaveProperty('note');
});

test('No reader throws, whatever the text.', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      for (const [, reader] of cases) reader.read(text);
    }),
  );
});

test('Every list of words comes back from its JSON spelling.', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), (words) => {
      expect(readWith(readers.list(), JSON.stringify(words))).toEqual(words);
    }),
  );
});
