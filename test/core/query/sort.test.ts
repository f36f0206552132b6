// The order of lists, and pages that visit each object once.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runAtOnce } from '../../../src/base/steps.ts';
import { StoredObject, entryValue } from '../../../src/core/objects/stored.ts';
import type { SortKey } from '../../../src/core/query/ast.ts';
import { formatToken, parseToken } from '../../../src/core/query/page-token.ts';
import {
  compareEntries,
  comparePositions,
  filterValues,
  positionOf,
  positionOfValue,
  selectValues,
} from '../../../src/core/query/sort.ts';
import { fieldOf, storedList, totalSort } from './arbitraries.ts';

const by = (name: string, direction: SortKey['direction'] = 'ascending'): SortKey => ({
  field: fieldOf(name),
  direction,
});

describe('the order of a list', () => {
  const texts = ['{"n":1}', '{"n":2}', '{"n":10}', '{"n":"2"}', '{"n":null}', '{}', '{"n":1.5}', '{"n":[1]}'];
  const records = [...texts, '{"n":{"a":1}}'].map(
    (text, index) => new StoredObject(`r${index + 1}`, 100 + index, text),
  );
  const sorted = (...sort: SortKey[]): string =>
    records
      .toSorted(compareEntries(sort))
      .map(({ id }) => id)
      .join(' ');

  it('is by type, then value, with missing values last', () => {
    expect(sorted(by('n'), by('last_modified', 'descending'))).toBe('r5 r4 r1 r7 r2 r3 r8 r9 r6');
  });

  it('is reversed as a whole descending, missing values first', () => {
    expect(sorted(by('n', 'descending'), by('last_modified', 'descending'))).toBe('r6 r9 r8 r3 r2 r7 r1 r4 r5');
  });

  it('falls back on the next key among equals', () => {
    expect(sorted(by('n.a'), by('last_modified', 'descending'))).toBe('r9 r8 r7 r6 r5 r4 r3 r2 r1');
    expect(sorted(by('x'), by('id'))).toBe('r1 r2 r3 r4 r5 r6 r7 r8 r9');
  });

  it('is by timestamp or id alone when requested', () => {
    expect(sorted(by('last_modified', 'descending'))).toBe('r9 r8 r7 r6 r5 r4 r3 r2 r1');
    expect(sorted(by('id', 'descending'))).toBe('r9 r8 r7 r6 r5 r4 r3 r2 r1');
  });

  it('has an empty array first among arrays and orders arrays of mixed types', () => {
    const arrays = ['[1,"a"]', '[]', '["a",1]', '[null]', 'true', '{}'].map(
      (n, index) => new StoredObject(`a${index}`, index, `{"n":${n}}`),
    );
    const ids = arrays.toSorted(compareEntries([by('n'), by('id')])).map(({ id }) => id);
    expect(ids).toEqual(['a4', 'a1', 'a3', 'a2', 'a0', 'a5']);
  });
});

describe('a position', () => {
  it('orders like the entries, and is the same for the entry as a value', () => {
    fc.assert(
      fc.property(storedList, totalSort, (entries, sort) => {
        const compare = compareEntries(sort);
        for (const a of entries) {
          expect(positionOfValue(entryValue(a), sort)).toEqual(positionOf(a, sort));
          for (const b of entries) {
            const sign = Math.sign(compare(a, b)) + 0;
            expect(Math.sign(comparePositions(positionOf(a, sort), positionOf(b, sort), sort)) + 0).toBe(sign);
            expect(sign === 0).toBe(a === b);
          }
        }
      }),
    );
  });
});

describe('paging', () => {
  it('visits each object once and in order, whatever the values and the sort', () => {
    fc.assert(
      fc.property(storedList, totalSort, fc.integer({ min: 1, max: 5 }), (entries, sort, limit) => {
        const values = entries.map(entryValue);
        const seen: unknown[] = [];
        let token: string | undefined;
        for (let more = true; more;) {
          const parsed =
            token === undefined ? undefined : parseToken(token, sort, { requiredFields: ['id', 'last_modified'] });
          if (token !== undefined) expect(parsed).toBeDefined();
          const page = runAtOnce(selectValues(values, { filters: [], sort, limit, after: parsed?.position }));
          expect(page.values.length).toBeLessThanOrEqual(limit);
          seen.push(...page.values.map(({ id }) => id));
          more = page.more;
          const last = page.values.at(-1);
          if (last !== undefined)
            token = formatToken(positionOfValue(last, sort), sort, { nonce: 'x', offset: seen.length });
        }
        expect(seen).toEqual(entries.toSorted(compareEntries(sort)).map(({ id }) => id));
      }),
      { numRuns: 300 },
    );
  });

  it('continues after a deleted object', () => {
    const values = [{ id: 'a' }, { id: 'c' }, { id: 'd' }];
    const page = runAtOnce(selectValues(values, { filters: [], sort: [by('id')], limit: 1, after: ['b'] }));
    expect(page).toEqual({ values: [{ id: 'c' }], more: true });
  });
});

describe('a list of plain values', () => {
  const values = [
    { id: 'a', n: 1 },
    { id: 'b', n: 2 },
    { id: 'c', n: 3 },
  ];

  it('is filtered, restricted to ids, sorted and cut', () => {
    const filters = [{ field: fieldOf('n'), operator: 'min', value: 2 }] as const;
    const sort = [by('n', 'descending')];
    expect(runAtOnce(selectValues(values, { filters, sort, limit: 1 }))).toEqual({ values: [values[2]], more: true });
    expect(runAtOnce(selectValues(values, { filters, sort, limit: 2 }))).toEqual({
      values: [values[2], values[1]],
      more: false,
    });
    expect(runAtOnce(selectValues(values, { filters, ids: ['a', 'b'], sort, limit: 9 }))).toEqual({
      values: [values[1]],
      more: false,
    });
    expect(runAtOnce(filterValues(values, { filters }))).toHaveLength(2);
    expect(runAtOnce(filterValues(values, { filters: [], ids: [] }))).toEqual([]);
  });
});
