// The second look at a query string: what it means for a list.
import { describe, expect, it } from 'vitest';
import { ExactNumber } from '../../../src/base/json.ts';
import { ServiceError, type Issue } from '../../../src/core/errors.ts';
import { formatToken } from '../../../src/core/query/page-token.ts';
import { parseParameters } from '../../../src/core/query/parameters.ts';
import { parseField } from '../../../src/core/query/fields.ts';
import {
  resolveQuery,
  type ListQuery,
  type ListTraits,
  type QueryLimits,
  type QueryOptions,
} from '../../../src/core/query/resolve.ts';

const now = 1_795_235_546_771;
const tooLate = String(now + 24 * 60 * 60 * 1000);
type Options = Partial<ListTraits & QueryLimits & Pick<QueryOptions, 'tokenKey'>>;
const pairsOf = (query: string): [string, string][] => [...new URLSearchParams(query)];

function resolve(query: string | [string, string][], options: Options = {}): ListQuery {
  const pairs = typeof query === 'string' ? pairsOf(query) : query;
  const limits = { maxFetchSize: 10_000, ...options };
  const { tokenKey } = options;
  return resolveQuery(parseParameters(pairs, { now, use: 'list' }), { traits: options, limits, now, tokenKey });
}

/** The filters of a query string, as `field operator value`. */
function filtersOf(query: string | [string, string][], options: Options = {}): readonly (readonly unknown[])[] {
  return resolve(query, options).filters.map((filter) => {
    const { field, operator, ...rest } = filter;
    return [field?.name, operator, ...Object.values(rest)];
  });
}

/** What a query string is refused for. */
function issuesOf(query: string | [string, string][], options: Options = {}): readonly Issue[] {
  try {
    resolve(query, options);
  } catch (error) {
    if (error instanceof ServiceError && error.key === 'invalidParameters') return error.details as readonly Issue[];
    throw error;
  }
  return [];
}

const namesOf = (query: string | [string, string][], options: Options = {}): Issue['name'][] =>
  issuesOf(query, options).map(({ name }) => name);

const sortOf = (query: string, options: Options = {}): string =>
  resolve(query, options)
    .sort.map(({ field, direction }) => (direction === 'descending' ? '-' : '') + field.name)
    .join(',');

describe('values', () => {
  it.each([
    ['n=2', 2],
    ['n="2"', '2'],
    ['n=1.5', 1.5],
    ['n=1.0', new ExactNumber('1.0')],
    ['n=12345678901234567890', new ExactNumber('12345678901234567890')],
    ['b=true', true],
    ['b=True', 'True'],
    ['b=yes', 'yes'],
    ['n=null', null],
    ['n=', ''],
    ['s=Apple', 'Apple'],
    ['s="Apple"', 'Apple'],
    ['n=[1]', [1]],
    ['n={"a":1}', { a: 1 }],
    ['n={"a":', '{"a":'],
    ['n=1e400a', '1e400a'],
    ['n=truely', 'truely'],
    ['n=-', '-'],
    ['n=a+b%C3%A9', 'a bé'],
  ])('%s is read as JSON, else as text', (query, value) => {
    expect(filtersOf(query)[0]?.[2]).toEqual(value);
  });

  it('that are nested too deep or out of range are refused, unless they are no JSON', () => {
    expect(filtersOf([['n', '['.repeat(90_000)]])).toEqual([['n', 'eq', '['.repeat(90_000)]]);
    expect(namesOf([['n', `${'['.repeat(2000)}${']'.repeat(2000)}`]])).toEqual(['n']);
    expect(namesOf([['n', '-1e400']])).toEqual(['n']);
    // Such as the beginning of a hash.
    for (const name of ['id', 'in_id', 'like_n', '_fields']) expect(namesOf([[name, '1234e567']])).toEqual([]);
  });

  it('that spell a null character or half a character in JSON are refused', () => {
    for (const name of ['n', 'in_n', 'like_n', 'contains_n', 'id', 'in_id']) {
      expect(namesOf([[name, '"\\u0000"']])).toEqual([name]);
      expect(namesOf([[name, '"\\ud800"']])).toEqual([name]);
    }
  });
});

describe('names', () => {
  it.each([
    ['lt_n=1', 'n', 'lt'],
    ['min_n=1', 'n', 'min'],
    ['max_n=1', 'n', 'max'],
    ['not_n=1', 'n', 'not'],
    ['eq_n=1', 'n', 'eq'],
    ['gt_n=1', 'n', 'gt'],
    ['n=1', 'n', 'eq'],
    ['eq_min_age=3', 'min_age', 'eq'],
    ['min_age=3', 'age', 'min'],
    ['contains_any=3', 'any', 'contains'],
    ['contains_any_n=3', 'n', 'contains_any'],
    ['contains_n=3', 'n', 'contains'],
    ['MIN_n=3', 'MIN_n', 'eq'],
    ['min_a-b=3', 'min_a-b', 'eq'],
    ['min_=3', 'min_', 'eq'],
    ['min_größe=3', 'größe', 'min'],
    ['not__hidden=3', '_hidden', 'not'],
    ['constructor=1', 'constructor', 'eq'],
    ['eq___proto__=1', '__proto__', 'eq'],
    ['gt_target.data.last_modified=3', 'target.data.last_modified', 'gt'],
  ])('%s filters %s by %s', (query, name, operator) => {
    const [filter] = resolve(query).filters;
    expect(filter).toMatchObject({ field: { name, path: name.split('.') }, operator });
    expect(resolve(query).includeDeleted).toBe(false);
  });

  it('given twice are two filters', () => {
    expect(filtersOf('n=1&n=2')).toEqual([
      ['n', 'eq', 1],
      ['n', 'eq', 2],
    ]);
  });
});

describe('in_ and exclude_', () => {
  it('split on commas first, then read each part', () => {
    expect(filtersOf('in_n=1,"2",c,')).toEqual([['n', 'in', [1, '2', 'c', '']]]);
    expect(filtersOf('exclude_n=[1,2]')).toEqual([['n', 'exclude', ['[1', '2]']]]);
    expect(filtersOf('in_n=')).toEqual([['n', 'in', ['']]]);
  });

  it('require strings for ids', () => {
    expect(filtersOf('in_id="1","2",a')).toEqual([['id', 'in', ['1', '2', 'a']]]);
    expect(filtersOf('in_id=')).toEqual([['id', 'in', ['']]]);
    for (const query of ['in_id=1', 'in_id=1,2', 'in_id=a,true', 'exclude_id=null']) {
      expect(namesOf(query)).toEqual([query.split('=')[0]]);
    }
  });

  it('require timestamps for last_modified', () => {
    expect(filtersOf('in_last_modified=1,"2"')).toEqual([['last_modified', 'in', [1, 2]]]);
    expect(resolve('exclude_last_modified=1').includeDeleted).toBe(true);
    for (const value of ['', 'a', '1,', '1.5', '-1', 'true', tooLate]) {
      expect(namesOf([['in_last_modified', value]])).toEqual(['in_last_modified']);
    }
  });
});

describe('like_', () => {
  it.each([
    ['like_s=ABC', ['', 'abc', '']],
    ['like_s="ABC"', ['', 'abc', '']],
    ['like_s=10', ['', '10', '']],
    ['like_s="10"', ['', '10', '']],
    ['like_s=Nov*3', ['nov', '3']],
    ['like_s=*a*', ['', 'a', '']],
    ['like_s=*', ['', '']],
    ['like_s=**a***b', ['', 'a', 'b']],
    ['like_s=***', ['', '']],
    ['like_s=', ['', '', '']],
    ['like_s=.%2B%25_%5C', ['', '.+%_\\', '']],
    ['like_id=R', ['', 'r', '']],
  ])('%s has the parts %j', (query, parts) => {
    expect(filtersOf(query)[0]?.[2]).toEqual(parts);
  });

  it('does not work on timestamps', () => {
    expect(namesOf('like_last_modified=1')).toEqual(['like_last_modified']);
  });
});

describe('has_', () => {
  it.each([
    ...['true', '1', 'yes', 'True', '"true"', 'YES'].map((value) => [value, true] as const),
    ...['false', '0', 'no', 'False', '"no"'].map((value) => [value, false] as const),
  ])('%s means %s', (value, present) => {
    expect(resolve([['has_n', value]]).filters).toMatchObject([{ operator: 'has', present }]);
  });

  it('accepts no other value', () => {
    for (const value of ['', 'null', '2', 'maybe', '[true]', '{}'])
      expect(namesOf([['has_n', value]])).toEqual(['has_n']);
  });
});

describe('contains_ and contains_any_', () => {
  it('wrap a value that is not an array, and do not split on commas', () => {
    expect(filtersOf('contains_t=a,b')).toEqual([['t', 'contains', ['a,b']]]);
    expect(filtersOf('contains_t=["a",1]')).toEqual([['t', 'contains', ['a', 1]]]);
    expect(filtersOf('contains_any_t={"x":1}')).toEqual([['t', 'contains_any', [{ x: 1 }]]]);
    expect(filtersOf('contains_any_t=[]')).toEqual([['t', 'contains_any', []]]);
    expect(filtersOf('contains_t=')).toEqual([['t', 'contains', ['']]]);
  });

  it('do not work on ids and timestamps', () => {
    for (const name of ['contains_id', 'contains_any_id', 'contains_last_modified', 'contains_any_last_modified']) {
      expect(namesOf(`${name}=1`)).toEqual([name]);
    }
  });
});

describe('filters on ids', () => {
  it('compare bare numbers, and all other JSON, as text', () => {
    for (const operator of ['', 'not_', 'lt_', 'max_', 'gt_', 'min_', 'eq_']) {
      expect(filtersOf(`${operator}id=1`)[0]?.[2]).toBe('1');
      expect(filtersOf(`${operator}id="1"`)[0]?.[2]).toBe('1');
    }
    expect(filtersOf('id=true')).toEqual([['id', 'eq', 'true']]);
    expect(filtersOf('id=r1')).toEqual([['id', 'eq', 'r1']]);
  });

  it('can be extended to other fields, whose lists accept any value', () => {
    const textFields = ['id', 'record_id', 'target.data.id'];
    expect(filtersOf('record_id=1&in_record_id=1,"2"&target.data.id=7&n=1', { textFields })).toEqual([
      ['record_id', 'eq', '1'],
      ['record_id', 'in', ['1', '2']],
      ['target.data.id', 'eq', '7'],
      ['n', 'eq', 1],
    ]);
    expect(namesOf('in_id=1', { textFields })).toEqual(['in_id']);
  });
});

describe('filters on last_modified', () => {
  it('require a timestamp, bare or in quotes, and include tombstones', () => {
    for (const operator of ['', 'not_', 'lt_', 'max_', 'gt_', 'min_', 'eq_']) {
      expect(filtersOf(`${operator}last_modified="12"`)[0]?.[2]).toBe(12);
      expect(resolve(`${operator}last_modified=12`).includeDeleted).toBe(true);
      for (const value of ['', 'abc', '-1', '1.5', 'null', '"x"', tooLate]) {
        expect(namesOf([[`${operator}last_modified`, value]])).toEqual([`${operator}last_modified`]);
      }
    }
    expect(resolve('has_last_modified=true').includeDeleted).toBe(true);
    expect(resolve('o.last_modified=true').includeDeleted).toBe(false);
  });

  it('come from _since, _before and _to too', () => {
    expect(filtersOf('_since=5&_before="9"&_to=8')).toEqual([
      ['last_modified', 'gt', 5],
      ['last_modified', 'lt', 9],
      ['last_modified', 'lt', 8],
    ]);
    for (const query of ['_since=0', '_before=1', '_to=1']) expect(resolve(query).includeDeleted).toBe(true);
    expect(resolve('deleted=true').includeDeleted).toBe(false);
  });
});

describe('_sort', () => {
  it.each([
    ['', '-last_modified'],
    ['_sort=n', 'n,-last_modified'],
    ['_sort=-n,%2Bm', '-n,m,-last_modified'],
    ['_sort=+n', 'n,-last_modified'],
    ['_sort=o.k', 'o.k,-last_modified'],
    ['_sort=last_modified', 'last_modified'],
    ['_sort=-last_modified', '-last_modified'],
    ['_sort=n,last_modified,m', 'n,last_modified'],
    ['_sort=n,-id,m', 'n,-id'],
    ['_sort=n,-n,m,n', 'n,m,-last_modified'],
    ['_sort=--n,n$,,m,%2B,-', 'm,-last_modified'],
    ['_sort=größe', 'größe,-last_modified'],
  ])('%s means %s', (query, sort) => {
    expect(sortOf(query)).toBe(sort);
  });

  it('finds nested fields', () => {
    expect(resolve('_sort=o.k').sort[0]?.field).toEqual({ name: 'o.k', path: ['o', 'k'] });
  });
});

describe('_limit', () => {
  it.each([
    ['', undefined, 10_000],
    ['', 5, 5],
    ['_limit=3', 5, 3],
    ['_limit=7', 5, 5],
    ['_limit=7', undefined, 7],
    ['_limit=99999', undefined, 10_000],
    ['_limit=9223372036854775808', undefined, 10_000],
    ['', 99_999, 10_000],
    ['_limit=0', 5, 5],
    ['_limit=0', undefined, 10_000],
    ['_limit=', 5, 5],
  ])('%j with pages of %s gives %s', (query, paginateBy, limit) => {
    expect(resolve(query, { paginateBy }).limit).toBe(limit);
  });
});

describe('_token', () => {
  const sort = resolve('_sort=-n').sort;
  const token = formatToken([3, 77], sort, { nonce: 'x', offset: 2 });

  it('yields the position where the page begins', () => {
    const query = resolve([
      ['_sort', '-n'],
      ['_token', token],
    ]);
    expect(query.after).toEqual([3, 77]);
    expect(query.token).toEqual({ position: [3, 77], offset: 2, nonce: 'x' });
    expect(resolve('_token=')).toMatchObject({ after: undefined, token: undefined });
  });

  it('is reported without a name', () => {
    for (const text of ['abc', '1', ' ', 'e30=']) expect(namesOf([['_token', text]])).toEqual([null]);
    const key = Buffer.from('k');
    const signed = formatToken([77], resolve('').sort, { nonce: 'x', offset: 2, key });
    expect(resolve([['_token', signed]], { tokenKey: key }).after).toEqual([77]);
    expect(namesOf([['_token', signed]])).toEqual([null]);
    expect(
      namesOf([['_token', formatToken([77], resolve('').sort, { nonce: 'x', offset: 2 })]], { tokenKey: key }),
    ).toEqual([null]);
  });
});

describe('_fields', () => {
  it('are a projection', () => {
    expect([...(resolve('_fields=a,b.c').projection?.keys() ?? [])]).toEqual(['a', 'b']);
    expect(resolve('_fields=').projection).toBeUndefined();
  });
});

describe('a list with known fields', () => {
  const options = { knownFields: ['id', 'last_modified', 'uri', 'target'] };

  it('is filtered and sorted by these and their parts', () => {
    expect(filtersOf('uri=/a&min_target.data.n=1&id=a&_since=3', options)).toHaveLength(4);
    expect(sortOf('_sort=uri,target.data.n', options)).toBe('uri,target.data.n,-last_modified');
  });

  it('refuses other filters with the parameter as name', () => {
    expect(namesOf('min_foo=1', options)).toEqual(['min_foo']);
    expect(namesOf('foo=1&in_bar.x=2', options)).toEqual(['foo', 'in_bar.x']);
    expect(namesOf('constructor=1', options)).toEqual(['constructor']);
  });

  it('refuses other sort keys without a name', () => {
    expect(namesOf('_sort=uri,foo', options)).toEqual([null]);
  });

  it('refuses other projections under a name of their own', () => {
    expect(namesOf('_fields=uri,foo', options)).toEqual(['Invalid _fields parameter']);
    expect(namesOf('_fields=uri,target.data.x,id,last_modified,deleted', options)).toEqual([]);
  });
});

describe('a list without timestamps', () => {
  const uri = parseField('uri');
  const options: Options = {
    knownFields: ['uri', 'id', 'bucket_id'],
    arrayFields: ['permissions'],
    uniqueFields: ['uri'],
    tieBreakers: [{ field: uri, direction: 'descending' }],
    ignoreTimestamps: true,
  };

  it('is sorted by its own unique field', () => {
    expect(sortOf('', options)).toBe('-uri');
    expect(sortOf('_sort=uri', options)).toBe('uri');
    expect(sortOf('_sort=id', options)).toBe('id,-uri');
    expect(sortOf('_sort=last_modified,id', options)).toBe('id,-uri');
  });

  it('ignores filters on timestamps that are well-formed', () => {
    expect(resolve('_since=3&last_modified=5&id=a', options)).toMatchObject({
      filters: [{ field: { name: 'id' } }],
      includeDeleted: false,
    });
    expect(namesOf('_since=x&gt_last_modified=y', options)).toEqual(['_since', 'gt_last_modified']);
  });

  it('accepts only filters on elements for array fields', () => {
    expect(filtersOf('contains_permissions=write&contains_any_permissions=["read"]', options)).toHaveLength(2);
    expect(namesOf('permissions=write', options)).toEqual(['permissions']);
    expect(namesOf('_sort=permissions', options)).toEqual([null]);
    expect(namesOf('_fields=permissions,uri', options)).toEqual([]);
  });

  it('requires its unique field in tokens', () => {
    const { sort } = resolve('_sort=id', options);
    const sorted: [string, string] = ['_sort', 'id'];
    const token = formatToken([undefined, '/'], sort, { nonce: 'x', offset: 1 });
    expect(resolve([sorted, ['_token', token]], options).after).toEqual([undefined, '/']);
    const incomplete = formatToken(['a', undefined], sort, { nonce: 'x', offset: 1 });
    expect(namesOf([sorted, ['_token', incomplete]], options)).toEqual([null]);
  });
});

describe('limits', () => {
  const times = (count: number): [string, string][] => Array.from({ length: count }, (_, n) => ['n', String(n)]);

  it('hold for the number of filters', () => {
    expect(filtersOf(times(100))).toHaveLength(100);
    expect(namesOf(times(101))).toEqual([null]);
    expect(namesOf(times(4), { maxFilters: 3 })).toEqual([null]);
  });

  it('hold for the number of sort keys', () => {
    const sort = (count: number): string => `_sort=${Array.from({ length: count }, (_, n) => `k${n}`).join(',')}`;
    expect(resolve(sort(20)).sort).toHaveLength(21);
    expect(namesOf(sort(21))).toEqual([null]);
  });
});

describe('all faults', () => {
  it('are reported in one error, sorted by name', () => {
    expect(namesOf('has_n=maybe&_limit=-1&in_id=1&_token=x')).toEqual([null, '_limit', 'has_n', 'in_id']);
    expect(issuesOf('has_n=maybe')[0]).toMatchObject({ location: 'querystring', name: 'has_n' });
  });
});
