// The console's addresses and lists: places, filters, columns, differences.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkChoice, columnsOf, knownFields, noChoice } from '../../admin/src/areas/records/columns.ts';
import { diffLines } from '../../admin/src/core/diff.ts';
import { previewText } from '../../admin/src/core/json-text.ts';
import {
  describeFilter,
  filtersOf,
  listParameters,
  sortedBy,
  sortOf,
  withFilter,
  withoutFilter,
} from '../../admin/src/core/list-query.ts';
import { below, hashOf, kinds, parseHash } from '../../admin/src/core/places.ts';
import { alternativesOf, conditionsOf, withAll, withAlternatives } from '../../admin/src/core/selectors.ts';

describe('Addresses of views', () => {
  it('lead back to the object and its parameters.', () => {
    const ids = fc.string({ minLength: 1, unit: 'grapheme' }).filter((id) => id !== '.' && id !== '..');
    fc.assert(
      fc.property(
        ids,
        ids,
        ids,
        fc.dictionary(fc.string({ minLength: 1 }), fc.string()),
        (bucket, list, record, query) => {
          const place = below(below(below([], kinds.bucket, bucket), kinds.collection, list), kinds.record, record);
          const route = parseHash(hashOf(place, query));
          expect(route?.place).toEqual(place);
          expect(route?.query.toString()).toBe(new URLSearchParams(query).toString());
        },
      ),
    );
  });

  it.each([
    '#/buckets',
    '#/buckets/a/records/b',
    '#/buckets/a/collections',
    '#/buckets/%',
    '#/buckets/../collections/x',
  ])('do not lead to %s.', (hash) => {
    expect(parseHash(hash)).toBeUndefined();
  });

  it('name pages of areas.', () => {
    expect(['', '#', '#/', '#/accounts?a=1'].map((hash) => parseHash(hash)?.page)).toEqual(['', '', '', 'accounts']);
  });
});

describe('Alternatives of a filter', () => {
  it('are a selector, which is read back.', () => {
    const conditions = [
      { prefix: 'gt_', field: 'n', value: '5' },
      { prefix: '', field: 'title', value: '"5"' },
      { prefix: 'in_', field: 'tag', value: 'a,1' },
      { prefix: '', field: 'id', value: '7' },
      { prefix: 'like_', field: 'title', value: '12' },
    ];
    const query = withAlternatives(new URLSearchParams('_sort=n&x=1&_token=t'), conditions);
    expect(query.get('_filter')).toBe(
      '{"$or":[{"n":{"$gt":5}},{"title":{"$eq":"5"}},{"tag":{"$in":["a",1]}},{"id":{"$eq":"7"}},{"title":{"$like":"12"}}]}',
    );
    expect([...query.keys()]).toEqual(['_sort', '_filter']);
    expect(alternativesOf(query)).toEqual(conditions);
    expect(withAll(query, conditions.slice(0, 1)).toString()).toBe('_sort=n&gt_n=5');
    expect(conditionsOf(new URLSearchParams('contains_any_t=a'))).toEqual([
      { prefix: 'contains_any_', field: 't', value: 'a' },
    ]);
    for (const other of ['{"a":1}', '{"$or":[{"a":1}]}', '{"$or":[],"b":2}', '[]', 'x']) {
      expect([other, alternativesOf(new URLSearchParams({ _filter: other }))]).toEqual([other, undefined]);
    }
  });
});

describe('The query of a list', () => {
  const query = (text: string): URLSearchParams => new URLSearchParams(text);

  it('has filters, which begin at the first page.', () => {
    const filtered = withFilter(query('_tab=x&_page=3&_token=t&n=1'), { prefix: 'min_', field: ' n ', value: '5' });
    expect(filtered.toString()).toBe('_tab=x&n=1&min_n=5');
    expect(listParameters(filtered).toString()).toBe('n=1&min_n=5');
    expect(filtersOf(filtered)).toEqual([
      ['n', '1'],
      ['min_n', '5'],
    ]);
    expect(withoutFilter(filtered, 'n', '1').toString()).toBe('_tab=x&min_n=5');
    expect(describeFilter('min_n', '5')).toBe('n is at least 5');
  });

  it('sorts upwards, downwards and not.', () => {
    const up = sortedBy(query(''), 'n');
    const down = sortedBy(up, 'n');
    expect([up, down, sortedBy(down, 'n')].map(String)).toEqual(['_sort=n', '_sort=-n', '']);
    expect([up, down, query('')].map((each) => sortOf(each, 'n'))).toEqual(['ascending', 'descending', 'none']);
  });
});

describe('Columns of records', () => {
  const rows = ['{"id":"1","a":1,"b":1,"schema":1}', '{"id":"2","b":2,"last_modified":3}'];

  it('are those that the user chose, those of the collection, or frequent ones.', () => {
    expect(columnsOf(noChoice, '{}', rows)).toEqual(['b', 'a', 'last_modified']);
    expect(columnsOf(noChoice, '{"displayFields":["x","id",1]}', rows)).toEqual(['x', 'last_modified']);
    expect(columnsOf({ fields: ['z'], widths: {} }, '{"displayFields":["x"]}', rows)).toEqual(['z']);
    expect(knownFields(['z'], '{"properties":{"p":{}}}', rows)).toEqual(['z', 'p', 'b', 'a', 'last_modified']);
  });

  it('are read from storage only if they are valid.', () => {
    expect(checkChoice({})).toBeUndefined();
    expect(checkChoice({ fields: ['a', 1], widths: { a: 100, b: 'x', c: 1e9 } })).toEqual({
      fields: ['a'],
      widths: { a: 100 },
    });
  });
});

describe('Texts in cells and differences', () => {
  it('are one line of limited length.', () => {
    expect(previewText('"a\\n b"', 10)).toBe('a b');
    expect(previewText(JSON.stringify('x'.repeat(300_000)), 10)).toBe(`${'x'.repeat(10)}…`);
    fc.assert(fc.property(fc.jsonValue(), (value) => previewText(JSON.stringify(value), 20).length <= 21));
  });

  it('show what was removed and added, with some lines around.', () => {
    const before = Array.from({ length: 20 }, (_value, line) => `line ${line}`).join('\n');
    const changes = diffLines(before, before.replace('line 10', 'other'));
    expect(changes.filter(({ kind }) => kind !== 'same')).toEqual([
      { kind: 'removed', text: 'line 10' },
      { kind: 'added', text: 'other' },
    ]);
    expect(changes.length).toBe(10);
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        const isSame = diffLines(a, b).every(({ kind }) => kind === 'same');
        expect(isSame).toBe(a.replace(/\n$/, '') === b.replace(/\n$/, ''));
      }),
    );
  });
});
