import { describe, expect, it } from 'vitest';
import { findClosestMatch } from '../../src/base/closest-match.ts';

describe('the closest word', () => {
  it.each([
    ['_limt', '_limit'],
    ['_feilds', '_fields'],
    ['_sortt', '_sort'],
    ['_begin', undefined],
    ['_expected', undefined],
  ])('of %s is %s', (word, nearest) => {
    expect(findClosestMatch(word, ['_sort', '_limit', '_fields'])).toBe(nearest);
  });
});
