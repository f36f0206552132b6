// The first look at a query string: shapes.
import type { Issue } from '../../../src/core/errors.ts';
import { describe, expect, it } from 'vitest';
import { parseParameters, type ListParameters, type ParameterUse } from '../../../src/core/query/parameters.ts';

const now = 1_795_235_546_771;
const day = 24 * 60 * 60 * 1000;

function parse(query: readonly (readonly [string, string])[], use: ParameterUse = 'list'): ListParameters {
  return parseParameters(query, { now, use });
}

/** The names blamed for one parameter. */
function blamed(name: string, value: string): readonly Issue['name'][] {
  return parse([[name, value]]).issues.map((issue) => {
    expect(issue.location).toBe('querystring');
    return issue.name;
  });
}

describe('an empty query string', () => {
  it('selects everything', () => {
    expect(parse([])).toEqual({
      issues: [],
      filters: [],
      selector: undefined,
      text: undefined,
      isRanked: false,
      explain: false,
      since: undefined,
      before: [],
      usesDeprecatedTo: false,
      gone: false,
      live: undefined,
      waitSeconds: undefined,
      limit: undefined,
      sort: undefined,
      token: undefined,
      fields: undefined,
    });
  });
});

describe('_limit', () => {
  it.each([
    ['2', 2],
    ['"2"', 2],
    ['02', 2],
    ['9223372036854775808', 2 ** 63],
    ['0', undefined],
    ['"0"', undefined],
    ['', undefined],
  ])('%s means %s', (text, limit) => {
    expect(parse([['_limit', text]])).toMatchObject({ issues: [], limit });
  });

  it.each([
    '-1',
    'abc',
    '1.5',
    '1e3',
    'true',
    'null',
    '[1]',
    ' ',
    '9223372036854775809',
    '9'.repeat(5000),
    '"2',
    '"a"',
  ])('%s is refused', (text) => {
    expect(blamed('_limit', text)).toEqual(['_limit']);
  });
});

describe('_since, _before and _to', () => {
  it.each([
    ['0', 0],
    ['123', 123],
    ['"123"', 123],
    [String(now + day - 1), now + day - 1],
  ])('may be %s', (text, timestamp) => {
    expect(parse([['_since', text]])).toMatchObject({
      issues: [],
      since: timestamp,
      before: [],
      usesDeprecatedTo: false,
    });
    expect(parse([['_before', text]])).toMatchObject({ issues: [], before: [timestamp], usesDeprecatedTo: false });
    expect(parse([['_to', text]])).toMatchObject({ issues: [], before: [timestamp], usesDeprecatedTo: true });
  });

  it.each(
    [
      ['-1', 'yesterday', '', '"abc"', '""', '"123', '1.5', '1e3', 'true', 'null', ' ', '[1]', '9223372036854775808'],
      [String(now + day), `"${now + day}"`],
    ].flat(),
  )('may not be %s', (text) => {
    for (const name of ['_since', '_before', '_to']) expect(blamed(name, text)).toEqual([name]);
  });

  it('bound the list together', () => {
    const query = [
      ['_since', '1'],
      ['_before', '9'],
      ['_to', '8'],
    ] as const;
    expect(parse(query)).toMatchObject({ since: 1, before: [9, 8], usesDeprecatedTo: true });
  });
});

describe('_sort, _token and _fields', () => {
  it('are passed on, empty ones as absent', () => {
    const query = [
      ['_sort', '-n'],
      ['_token', 'abc'],
      ['_fields', 'a,b'],
    ] as const;
    expect(parse(query)).toMatchObject({ issues: [], sort: '-n', token: 'abc', fields: 'a,b' });
    const empty = query.map(([name]) => [name, ''] as const);
    expect(parse(empty)).toMatchObject({ issues: [], sort: undefined, token: undefined, fields: undefined });
  });

  it('may stand in quotes as JSON does', () => {
    expect(parse([['_sort', '"-n"']])).toMatchObject({ sort: '-n' });
    expect(parse([['_token', '" "']])).toMatchObject({ token: ' ' });
    expect(blamed('_fields', '"\\u0000"')).toEqual(['_fields']);
  });
});

describe('repeated parameters', () => {
  it('are several filters', () => {
    const query = [
      ['n', '1'],
      ['n', '2'],
    ] as const;
    expect(parse(query)).toMatchObject({ issues: [], filters: query });
  });

  it('are refused when they are reserved, and reported once', () => {
    for (const name of ['_since', '_before', '_to', '_limit', '_sort', '_token', '_fields']) {
      const query = [1, 2, 3, 4].map((value) => [name, String(value)] as const);
      expect(parse(query).issues.map((issue) => issue.name)).toEqual([name]);
    }
  });
});

describe('other names with an underscore', () => {
  it('are ignored, repeated or not', () => {
    const query = [
      ['_expected', '"x'],
      ['_expected', ''],
      ['__proto__', '1'],
      ['_', '1'],
    ] as const;
    expect(parse(query)).toMatchObject({ issues: [], filters: [] });
  });
});

describe('text that no backend can store', () => {
  it('is refused in every name and value, with the parameter as name', () => {
    expect(blamed('n', 'a\0b')).toEqual(['n']);
    expect(blamed('in_n', 'a,b\0')).toEqual(['in_n']);
    expect(blamed('_expected', '\0')).toEqual(['_expected']);
    expect(blamed('_since', '1\0')).toEqual(['_since']);
    expect(blamed('n', '\ud800')).toEqual(['n']);
    expect(blamed('a\0', '1')).toEqual(['a\0']);
    expect(blamed('a\udc00', '1')).toEqual(['a\ufffd']);
  });
});

describe('parameters without effect', () => {
  it('single objects read _fields only', () => {
    const query = [
      ['_limit', '-1'],
      ['_since', 'x'],
      ['n', '\0'],
      ['_fields', 'a'],
    ] as const;
    expect(parse(query, 'object')).toMatchObject({ issues: [], filters: [], fields: 'a', since: undefined });
    expect(parse([...query, ['_fields', 'b']], 'object').issues).toHaveLength(1);
  });

  it('deletions of lists ignore _fields', () => {
    const query = [
      ['_fields', 'a'],
      ['_fields', 'b'],
      ['_limit', '3'],
      ['n', '1'],
    ] as const;
    expect(parse(query, 'deletion')).toMatchObject({ issues: [], fields: undefined, limit: 3, filters: [['n', '1']] });
  });
});

describe('all issues', () => {
  it('are collected', () => {
    const query = [
      ['_since', 'x'],
      ['_limit', '-1'],
      ['_before', ''],
      ['n', '\0'],
    ] as const;
    expect(parse(query).issues.map(({ name }) => name)).toEqual(['n', '_since', '_before', '_limit']);
  });
});
