import { describe, expect, it } from 'vitest';
import { findNearest } from '../../src/base/nearest.ts';

describe('the nearest word', () => {
  it.each([
    ['_limt', '_limit'],
    ['_feilds', '_fields'],
    ['_sortt', '_sort'],
    ['_begin', undefined],
    ['_expected', undefined],
  ])('of %s is %s', (word, nearest) => {
    expect(findNearest(word, ['_sort', '_limit', '_fields'])).toBe(nearest);
  });
});
