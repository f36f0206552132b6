// The three-way merge of the console.
import { describe, expect, it } from 'vitest';
import { mergedText, mergeFields } from '../../admin/src/core/merge.ts';

describe('A merge of two versions', () => {
  const base = '{"a":1.0,"b":1,"c":1,"d":{"x":[1]}}';

  it('names who has changed each member, and skips members that no side has changed.', () => {
    const mine = '{"a":2.0,"b":1,"c":5,"d":{ "x" : [1] },"e":"\\u00e9"}';
    const theirs = '{"a":3.0,"b":1,"c":5,"f":null}';
    const sides = mergeFields(base, mine, theirs).map(({ key, side }) => [key, side]);
    expect(sides).toEqual([
      ['a', undefined],
      ['c', 'both'],
      ['f', 'theirs'],
      ['d', 'theirs'],
      ['e', 'mine'],
    ]);
  });

  it('keeps the digits and the keys of the chosen sides.', () => {
    const mine = '{"a":12345678901234567890.10,"__proto__":{"x":1},"c":1}';
    const theirs = '{"a":2,"b":1.0}';
    expect(mergedText(mine, theirs, new Set(['a', '__proto__']))).toBe(
      '{"a":12345678901234567890.10,"b":1.0,"__proto__":{"x":1}}',
    );
    expect(mergedText(mine, theirs, new Set(['b']))).toBe('{"a":2}');
  });
});
