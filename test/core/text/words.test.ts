// Words of texts, as text search sees them.
import { describe, expect, it } from 'vitest';
import { wordsOf } from '../../../src/core/text/words.ts';

describe('words', () => {
  it.each([
    ['Green-tea, 2 cups!', ['green', 'tea', '2', 'cups']],
    ["don't foo_bar", ['don', 't', 'foo', 'bar']],
    ['Été ÉTÉ e\u0301te\u0301', ['ete', 'ete', 'ete']],
    ['Straße STRASSE', ['strasse', 'strasse']],
    ['ΟΔΟΣ ὀδός', ['οδοσ', 'οδοσ']],
    ['İstanbul ISTANBUL', ['istanbul', 'istanbul']],
    ['ﬁne ①', ['fine', '1']],
    ['日本語 テスト', ['日', '本', '語', 'テ', 'ス', 'ト']],
    ['ｶﾞ が', ['ガ', 'が']],
    ['ภาษา', ['ภ', 'า', 'ษ', 'า']],
    ['हिन्दी में', ['हिन्दी', 'में']],
    ['한국어 검색', ['한국어', '검색']],
    ['ёлка', ['елка']],
    ['a日b', ['a', '日', 'b']],
    ['👍 -- \u0007', []],
    ['', []],
  ])('of %j are %j', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  it('have at most 30 marks in a row', () => {
    expect(wordsOf(`ब${'\u093c'.repeat(40)}ड`)).toEqual([`ब${'\u093c'.repeat(30)}ड`]);
  });

  it('end after 64 characters, and never in the middle of one', () => {
    expect(wordsOf('a'.repeat(100))).toEqual(['a'.repeat(64)]);
    expect(wordsOf(`${'a'.repeat(63)}𝒳${'b'.repeat(10)}`)).toEqual([`${'a'.repeat(63)}x`]);
    expect(wordsOf(`${'a'.repeat(63)}𐐀`)).toEqual(['a'.repeat(63)]);
  });

  it('are the same when they are split again', () => {
    for (const text of ['Straße ὀδός', '日本語', 'İ ŉ ǰ ΐ', 'ﬃ Å']) {
      const words = wordsOf(text);
      expect(wordsOf(words.join(' '))).toEqual(words);
    }
  });
});
