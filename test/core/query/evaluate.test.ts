// What filters match: the tables of the protocol, row by row, through the parameters that clients write.
import { describe, expect, it } from 'vitest';
import { ExactNumber, parseJson, type JsonObject } from '../../../src/base/json.ts';
import { StoredObject, type StoredEntry } from '../../../src/core/objects/stored.ts';
import type { Filter } from '../../../src/core/query/ast.ts';
import { matches, matchesFilter, matchesValue } from '../../../src/core/query/evaluate.ts';
import { parseField, readEntryField, readField } from '../../../src/core/query/fields.ts';
import { parseFilter } from '../../../src/core/query/filter-parameter.ts';

function filterOf(parameter: string): Filter {
  const equals = parameter.indexOf('=');
  const options = { now: 10_000, textFields: ['id'] };
  const parsed = parseFilter(parameter.slice(0, equals), parameter.slice(equals + 1), options);
  if (!('field' in parsed)) throw new Error(parsed.description);
  return parsed;
}

function stored(id: string, lastModified: number, text: string): StoredObject {
  return new StoredObject(id, lastModified, text);
}

/** The ids of the entries that pass, separated by blanks. */
function select(entries: readonly StoredEntry[], parameter: string): string {
  const filters = [filterOf(parameter)];
  return entries
    .filter((entry) => matches(entry, filters))
    .map(({ id }) => id)
    .join(' ');
}

describe('the nine records of the protocol', () => {
  const texts = ['{"n":1}', '{"n":2}', '{"n":10}', '{"n":"2"}', '{"n":null}', '{}', '{"n":1.5}', '{"n":[1]}'];
  const records = [...texts, '{"n":{"a":1}}'].map((text, index) => stored(`r${index + 1}`, 100 + index, text));
  const all = 'r1 r2 r3 r4 r5 r6 r7 r8 r9';
  const without = (...ids: string[]): string =>
    all
      .split(' ')
      .filter((id) => !ids.includes(id))
      .join(' ');

  it.each([
    ['n=1', 'r1'],
    ['n=1.0', 'r1'],
    ['n="2"', 'r4'],
    ['n=null', 'r5'],
    ['not_n=1', without('r1')],
    ['min_n=2', 'r2 r3 r6 r8 r9'],
    ['max_n=2', 'r1 r2 r4 r5 r7'],
    ['lt_n=2', 'r1 r4 r5 r7'],
    ['gt_n=1', 'r2 r3 r6 r7 r8 r9'],
    ['gt_n=null', without('r5')],
    ['lt_n=null', ''],
    ['in_n=1,2', 'r1 r2'],
    ['in_n="2",1', 'r1 r4'],
    ['in_n=[1]', 'r8'],
    ['exclude_n=1,2', without('r1', 'r2')],
    ['has_n=true', without('r6')],
    ['has_n=false', 'r6'],
    ['gt_missing=1', all],
    ['not_missing=1', all],
    ['exclude_missing=1', all],
    ['missing=null', ''],
    ['lt_missing=1', ''],
    ['in_missing=1', ''],
    // Beyond the measured table: null and equality of whole values.
    ['not_n=null', without('r5')],
    ['in_n=null', 'r5'],
    ['exclude_n=null', without('r5')],
    ['n=', ''],
    ['n=[1]', 'r8'],
    ['n={"a":1}', 'r9'],
    ['n={"a":1.0}', 'r9'],
    ['n={}', ''],
    ['eq_n=2', 'r2'],
    ['contains_n=1', 'r8'],
    ['contains_any_n=[1,7]', 'r8'],
    ['like_n=1', 'r1 r3 r7 r8 r9'],
    ['like_n=2', 'r2 r4'],
    ['n.a=1', 'r9'],
    ['has_n.a=true', 'r9'],
    ['min_n.a=2', without('r9')],
  ])('%s selects [%s]', (parameter, expected) => {
    expect(select(records, parameter)).toBe(expected);
  });
});

describe('equality', () => {
  it('distinguishes strings from numbers and is case-sensitive', () => {
    const records = [
      stored('text', 1, '{"s":"10"}'),
      stored('number', 2, '{"s":10}'),
      stored('word', 3, '{"s":"Apple"}'),
    ];
    expect(select(records, 's=10')).toBe('number');
    expect(select(records, 's="10"')).toBe('text');
    expect(select(records, 's=Apple')).toBe('word');
    expect(select(records, 's="Apple"')).toBe('word');
    expect(select(records, 's=apple')).toBe('');
  });

  it('keeps every digit of numbers', () => {
    const records = [stored('a', 1, '{"n":12345678901234567890}'), stored('b', 2, '{"n":12345678901234567891}')];
    expect(select(records, 'n=12345678901234567891')).toBe('b');
    expect(select(records, 'gt_n=12345678901234567890')).toBe('b');
  });
});

describe('like', () => {
  const words = ['Novel 3', 'A novel', '100%', '100 cats', 'a_b', 'axb', 'back\\slash', 'ÉTÉ', ''];
  const records = words.map((s, index) => stored(`w${index}`, index, JSON.stringify({ s })));
  const others = [stored('array', 90, '{"s":["a","b"]}'), stored('null', 91, '{"s":null}'), stored('none', 92, '{}')];
  const found = (parameter: string): string => select([...records, ...others], parameter);

  it('searches anywhere in the text, ignoring case', () => {
    expect(found('like_s=NOVEL')).toBe('w0 w1');
    expect(found('like_s=été')).toBe('w7');
  });

  it('is anchored at both ends when the pattern has a star', () => {
    expect(found('like_s=nov*3')).toBe('w0');
    expect(found('like_s=nov*')).toBe('w0');
    expect(found('like_s=*novel')).toBe('w1');
    expect(found('like_s=*l*3')).toBe('w0');
    expect(found('like_s=n*v*v*3')).toBe('');
  });

  it('takes percent, underscore and backslash literally', () => {
    expect(found('like_s=100%')).toBe('w2');
    expect(found('like_s=a_b')).toBe('w4');
    expect(found('like_s=k\\s')).toBe('w6');
  });

  it('searches digits as text', () => {
    expect(found('like_s=100')).toBe('w2 w3');
    expect(found('like_s="100"')).toBe('w2 w3');
  });

  it('searches the JSON text of other values, and never matches null or missing', () => {
    expect(found('like_s=["A","B"')).toBe('array');
    expect(found('like_s=')).toBe('w0 w1 w2 w3 w4 w5 w6 w7 w8 array');
    expect(found('like_s=*')).toBe('w0 w1 w2 w3 w4 w5 w6 w7 w8 array');
    expect(found('like_s=null')).toBe('');
  });

  it('works on ids', () => {
    expect(found('like_id=ARR')).toBe('array');
    expect(found('like_id=1')).toBe('w1');
  });

  it('never lets the parts overlap', () => {
    const like = (text: string, ...parts: string[]): boolean =>
      matchesFilter(text, { field: parseField('s'), operator: 'like', parts });
    expect(like('aba', 'ab', 'ba')).toBe(false);
    expect(like('abba', 'ab', 'ba')).toBe(true);
    expect(like('aXa', 'a', 'x', 'a')).toBe(true);
    expect(like('aa', 'a', 'a', 'a')).toBe(false);
    expect(like('abcbc', '', 'b', 'bc')).toBe(true);
    expect(like('abc', 'abc')).toBe(true);
    expect(like('abcd', 'abc')).toBe(false);
  });
});

describe('contains', () => {
  const texts = [
    '["a","b"]',
    '["a,b"]',
    '[1]',
    '[{"x":1,"y":2}]',
    '[]',
    '"abc"',
    '{"a":1}',
    'null',
    '[[1,2]]',
    '[true,"1"]',
  ];
  const records = [...texts.map((t, index) => stored(`c${index}`, index, `{"t":${t}}`)), stored('none', 90, '{}')];
  it.each([
    ['contains_t=a', 'c0'],
    ['contains_t=["a","b"]', 'c0'],
    ['contains_t=["a","c"]', ''],
    ['contains_t=a,b', 'c1'],
    ['contains_t=1', 'c2'],
    ['contains_t=1.0', 'c2'],
    ['contains_t={"x":1}', 'c3'],
    ['contains_t={"x":1,"y":2,"z":3}', ''],
    ['contains_t=[]', 'c0 c1 c2 c3 c4 c8 c9'],
    ['contains_t=[[1]]', ''],
    ['contains_t=[[1,2]]', 'c8'],
    ['contains_t=true', 'c9'],
    ['contains_any_t=["b",1]', 'c0 c2'],
    ['contains_any_t=a', 'c0'],
    ['contains_any_t=[]', ''],
  ])('%s selects [%s]', (parameter, expected) => {
    expect(select(records, parameter)).toBe(expected);
  });
});

describe('fields', () => {
  const object = parseJson(
    '{"a":{"b":{"c":1},"":2},"x.y":7,"list":[{"k":1}],"n":1.0,"__proto__":{"p":3}}',
  ) as JsonObject;
  const read = (name: string): unknown => readField(object, parseField(name));

  it('descend into objects by dots', () => {
    expect(read('a.b.c')).toBe(1);
    expect(read('a.')).toBe(2);
    expect(read('__proto__.p')).toBe(3);
  });

  it('are missing below values other than objects, and under inherited names', () => {
    for (const name of [
      'z',
      'a.z',
      'a.b.c.d',
      'list.0',
      'list.length',
      'n.text',
      'x.y',
      'toString',
      'a.constructor',
      '',
    ]) {
      expect(read(name), name).toBeUndefined();
    }
  });

  it('come from the entry for ids, timestamps and tombstones', () => {
    const live = stored('one', 5, '{"deleted":"no","o":{"id":3}}');
    const tombstone = { id: 'gone', lastModified: 6, deleted: true } as const;
    const of = (entry: StoredEntry, name: string): unknown => readEntryField(entry, parseField(name));
    expect([of(live, 'id'), of(live, 'last_modified'), of(live, 'deleted'), of(live, 'o.id')]).toEqual([
      'one',
      5,
      'no',
      3,
    ]);
    expect([of(tombstone, 'id'), of(tombstone, 'last_modified'), of(tombstone, 'deleted')]).toEqual(['gone', 6, true]);
    for (const name of ['id.x', 'last_modified.x', 'deleted.x', 'o']) expect(of(tombstone, name), name).toBeUndefined();
    expect([of(live, 'id.x'), of(live, 'last_modified.x')]).toEqual([undefined, undefined]);
  });
});

describe('several filters', () => {
  it('must all match, including has_', () => {
    const filters = [filterOf('has_n=true'), filterOf('min_n=2'), filterOf('not_n=3')];
    const passing = [1, 2, 3, 4].filter((n) => matchesValue({ n }, filters));
    expect(passing).toEqual([2, 4]);
    expect(matchesValue({}, [])).toBe(true);
    expect(matchesValue({ n: new ExactNumber('3.0') }, filters)).toBe(false);
  });

  it('apply to tombstones as to objects', () => {
    const tombstone = { id: 'gone', lastModified: 6, deleted: true } as const;
    const passes = (...parameters: string[]): boolean => matches(tombstone, parameters.map(filterOf));
    expect(passes('deleted=true', 'gt_last_modified=5')).toBe(true);
    expect(passes('n=1')).toBe(false);
    expect(passes('gt_n=1')).toBe(true);
    expect(passes('gt_last_modified=6')).toBe(false);
  });

  it('compare ids in code-point order', () => {
    const records = ['r1', 'r7', 'r8', 'R9', 's'].map((id, index) => stored(id, index, '{}'));
    expect(select(records, 'gt_id=r7')).toBe('r8 s');
    expect(select(records, 'lt_id=r7')).toBe('r1 R9');
    expect(select(records, 'in_id=')).toBe('');
  });
});
