// The INI dialect of existing deployments.
import { describe, expect, test } from 'vitest';
import { interpolate, InterpolationError, parseIni } from '../../src/settings/ini.ts';

function entriesOf(text: string): Record<string, Record<string, string>> {
  const { sections, problems } = parseIni(text);
  expect(problems).toEqual([]);
  return Object.fromEntries(
    sections.map(({ name, entries }) => [name, Object.fromEntries(entries.map((entry) => [entry.key, entry.text]))]),
  );
}

describe('Reading INI', () => {
  test('accepts = and : as separators, whichever comes first, and keeps the case of keys.', () => {
    expect(entriesOf('[a]\nx = 1\nUpper: 2\nurl = http://h:1/?a=b\nk:v=w')['a']).toEqual({
      x: '1',
      Upper: '2',
      url: 'http://h:1/?a=b',
      k: 'v=w',
    });
  });

  test('skips comment lines, and keeps text after a value on its line.', () => {
    const text = '# one\n; two\n[a]\n  # indented\nx = 1 ; not a comment\ny = a#b';
    expect(entriesOf(text)['a']).toEqual({ x: '1 ; not a comment', y: 'a#b' });
  });

  test('continues a value on lines with more indentation, without comments between them.', () => {
    const text = '[a]\nincludes = one\n  two\n  # not three\n\n\tfour\nnext = 5\n';
    expect(entriesOf(text)['a']).toEqual({ includes: 'one\ntwo\n\nfour', next: '5' });
  });

  test('accepts indented keys.', () => {
    expect(entriesOf('[a]\n  x = 1\n  y = 2\n    more')['a']).toEqual({ x: '1', y: '2\nmore' });
  });

  test('accepts a value that starts on the next line, and an empty one.', () => {
    expect(entriesOf('[a]\nlist =\n  one\n  two\nempty =\n')['a']).toEqual({ list: 'one\ntwo', empty: '' });
  });

  test('accepts byte order marks and line ends of other systems.', () => {
    expect(entriesOf('\uFEFF[a]\r\nx = 1\r\ny = 2\r\n')['a']).toEqual({ x: '1', y: '2' });
  });

  test('keeps entries before any section apart.', () => {
    expect(entriesOf('x = 1\n[a]\nx = 2')).toEqual({ '': { x: '1' }, a: { x: '2' } });
  });

  test('treats keys such as __proto__ as ordinary keys.', () => {
    const { sections } = parseIni('[a]\n__proto__ = 1\nconstructor = 2');
    expect(sections[1]?.entries.map(({ key }) => key)).toEqual(['__proto__', 'constructor']);
  });

  test('reports the line of every fault.', () => {
    expect(parseIni('[a]\nx = 1\nsecret-without-separator\nx = 2\n[a]\n[b\n= 3').problems).toEqual([
      { line: 3, message: 'expected key = value, a [section], or a comment' },
      { line: 4, message: 'x is already set in line 2' },
      { line: 5, message: 'the section [a] already exists in line 1' },
      { line: 6, message: 'malformed section; expected [name]' },
      { line: 7, message: 'expected key = value, a [section], or a comment' },
    ]);
  });
});

describe('Interpolation', () => {
  const values: Record<string, string> = {
    here: '/etc/svc',
    port: '80',
    host: 'h:%(port)s',
    loop: '%(pool)s',
    pool: '%(loop)s',
  };
  const find = (name: string): string | undefined => values[name];

  test.each([
    ['%(here)s/data', '/etc/svc/data'],
    ['100%%', '100%'],
    ['%%(here)s', '%(here)s'],
    ['http://%(host)s/', 'http://h:80/'],
    ['p%40ss 5% off', 'p%40ss 5% off'],
  ])('turns %j into %j.', (text, expected) => {
    expect(interpolate(text, find)).toBe(expected);
  });

  test('refuses missing names and circular references.', () => {
    expect(() => interpolate('%(nobody)s', find)).toThrow(InterpolationError);
    expect(() => interpolate('%(loop)s', find)).toThrow(/circle/);
  });
});
