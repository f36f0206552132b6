// What query parameters were probably meant to be.
import { describe, expect, it } from 'vitest';
import { suggestFilter, suggestReserved } from '../../../src/core/query/suggestions.ts';

describe('parameters that start with an underscore', () => {
  it.each([
    ['_order', '_sort'],
    ['_orderBy', '_sort'],
    ['_sorrt', '_sort'],
    ['_search', '_q'],
    ['_where', '_filter'],
    ['_offset', 'the address in the header Next-Page'],
    ['_per_page', '_limit'],
    ['_lmit', '_limit'],
    ['_select', '_fields'],
    ['_befor', '_before'],
  ])('%s is probably %s', (name, meant) => {
    expect(suggestReserved(name)).toBe(meant);
  });

  it.each(['_since', '_to', '_', '_t', '_ts', '_cb', '_cache', '_expected', '_nocache', '__proto__', '_constructor'])(
    '%s suggests nothing',
    (name) => {
      expect(suggestReserved(name)).toBeUndefined();
    },
  );
});

describe('filters by equality', () => {
  it.each([
    ['gte_minutes', 'min_minutes'],
    ['le_minutes', 'max_minutes'],
    ['ne_a.b', 'not_a.b'],
    ['nin_id', 'exclude_id'],
    ['exists_title', 'has_title'],
    ['minutes__gt', 'gt_minutes'],
    ['title__icontains', 'like_title'],
    ['minutes[lt]', 'lt_minutes'],
    ['minutes[$gte]', 'min_minutes'],
    ['minutes_lte', 'max_minutes'],
    ['minutes>', 'min_minutes'],
    ['a.b<', 'max_a.b'],
    ['title!', 'not_title'],
    ['fields', '_fields'],
    ['order_by', '_sort'],
    ['page', 'the address in the header Next-Page'],
  ])('%s is probably %s', (name, meant) => {
    expect(suggestFilter(name)).toBe(meant);
  });

  it.each(['title', 'min_age', 'in_stock', 'like_a', 'gte_', 'gte', '_gte', 'is_active', 'size', 'constructor', ''])(
    '%j suggests nothing',
    (name) => {
      expect(suggestFilter(name)).toBeUndefined();
    },
  );

  it('ignores names longer than any typing error', () => {
    expect(suggestFilter(`${'a__'.repeat(30)}gte`)).toBeUndefined();
    expect(suggestReserved(`_${'sort'.repeat(30)}`)).toBeUndefined();
  });
});
