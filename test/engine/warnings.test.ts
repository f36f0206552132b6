// The `Warning` header as text: whatever clients send, it is a list of quoted strings of visible ASCII.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ResponseHeaders } from '../../src/engine/exchange.ts';
import { warnOfEmptyBody, warnOfFilters, warnOfIgnored, warnOfIgnoredFields } from '../../src/engine/warnings.ts';

const warning = String.raw`299 coffer "(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"`;
const header = new RegExp(`^${warning}(?:, ${warning}){0,5}$`);

describe('the header Warning', () => {
  it('is well-formed for names of any characters', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 30 }).map((text) => `gte_${text}`),
      fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => `${text}__lte`),
      fc.constantFrom('_order', '_search', '_limt', 'limit', 'q', '_'),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.string()), { maxLength: 10 }), (query) => {
        const headers: ResponseHeaders = { ...warnOfIgnored(query) };
        warnOfFilters(headers, query);
        const value = headers['Warning'];
        if (value !== undefined) expect(value).toMatch(header);
        if (value !== undefined) expect(value.length).toBeLessThan(2000);
      }),
    );
    expect(warnOfEmptyBody('record')['Warning']).toMatch(header);
  });

  it('reports a limited number of parameters', () => {
    const many = Array.from({ length: 2000 }, (_, index) => [`_zz${index}`, ''] as const);
    expect(warnOfIgnored([['_limt', '1'], ...many])).toHaveProperty('Warning');
    expect(warnOfIgnored([...many, ['_limt', '1']])).toBeUndefined();
    const headers: ResponseHeaders = {};
    warnOfFilters(headers, [...many, ['gte_age', '1']]);
    expect(headers).toEqual({});
  });

  it('is absent when no name looks misspelt', () => {
    const query = [
      ['_since', '1'],
      ['_cb', '2'],
      ['title', 'x'],
      ['min_age', '3'],
    ] as const;
    const headers: ResponseHeaders = {};
    warnOfFilters(headers, query);
    expect([headers, warnOfIgnored(query), warnOfIgnoredFields(query)]).toEqual([{}, undefined, undefined]);
  });
});
