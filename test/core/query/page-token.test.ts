// Tokens come back as they went out, and nothing else is taken for one.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExactNumber } from '../../../src/base/json.ts';
import type { SortKey } from '../../../src/core/query/ast.ts';
import { formatToken, noncePrefix, parseToken } from '../../../src/core/query/page-token.ts';
import { fieldOf, jsonOrMissing } from './arbitraries.ts';

const by = (...names: string[]): readonly SortKey[] =>
  names.map((name) => ({ field: fieldOf(name), direction: 'descending' }));
const stored = { requiredFields: ['last_modified', 'id'] };
const nonce = `${noncePrefix}0e1f`;
const encode = (text: string): string => Buffer.from(text).toString('base64');
const newest = by('last_modified');

describe('a page token', () => {
  it('is base64 of the last object, the offset and the nonce, without fields the object lacks', () => {
    const token = formatToken([3, undefined, 1795238215992], by('n', 'o.k', 'last_modified'), { nonce, offset: 2 });
    expect(JSON.parse(Buffer.from(token, 'base64').toString())).toEqual({
      last_object: { n: 3, last_modified: 1795238215992 },
      offset: 2,
      nonce,
    });
  });

  it('restores every position, including missing values, exact numbers and odd keys', () => {
    const sort = by('n', '__proto__', 'o.k', 'constructor', 'last_modified');
    const position = fc.tuple(jsonOrMissing, jsonOrMissing, jsonOrMissing, jsonOrMissing, fc.maxSafeNat());
    const key = fc.constantFrom(undefined, Buffer.from('secret'));
    fc.assert(
      fc.property(position, fc.nat(), key, (values, offset, tokenKey) => {
        const token = formatToken(values, sort, { nonce, offset, key: tokenKey });
        expect(parseToken(token, sort, { ...stored, key: tokenKey })).toEqual({ position: values, offset, nonce });
      }),
    );
  });

  it('keeps all digits of numbers', () => {
    const position = [new ExactNumber('12345678901234567890.10'), 7];
    const token = formatToken(position, by('n', 'last_modified'), { nonce, offset: 1 });
    expect(Buffer.from(token, 'base64').toString()).toContain('"n":12345678901234567890.10,');
    expect(parseToken(token, by('n', 'last_modified'), stored)?.position).toEqual(position);
  });

  it('may be in the alphabet for URLs and without padding', () => {
    const text = formatToken(['>>>???', 7], by('s', 'last_modified'), { nonce, offset: 1 });
    const forUrls = Buffer.from(text, 'base64').toString('base64url');
    expect(forUrls).not.toBe(text);
    expect(parseToken(forUrls, by('s', 'last_modified'), stored)?.position).toEqual(['>>>???', 7]);
  });

  it('may lack values of sort fields that objects may lack', () => {
    const token = encode(`{"last_object":{"last_modified":5},"offset":2,"nonce":"x"}`);
    expect(parseToken(token, by('n', 'last_modified'), stored)?.position).toEqual([undefined, 5]);
    expect(parseToken(token, by('uri', 'last_modified'), stored)?.position).toEqual([undefined, 5]);
  });
});

describe('what is refused', () => {
  const good = '{"last_object":{"last_modified":5},"offset":2,"nonce":"x"}';
  const refused: readonly (readonly [string, string])[] = [
    ['blanks', '  '],
    ['what is not base64', '<<<>>>'],
    ['a number', '1'],
    ['what is not JSON', encode('abc')],
    ['what is not UTF-8', Buffer.from([0x22, 0xff, 0x22]).toString('base64')],
    ['what is no object', encode('[]')],
    ['null', encode('null')],
    ['an object without members', encode('{}')],
    ['no last object', encode('{"offset":2,"nonce":"x"}')],
    ['no offset', encode('{"last_object":{"last_modified":5},"nonce":"x"}')],
    ['no nonce', encode('{"last_object":{"last_modified":5},"offset":2}')],
    ['a last object that is none', encode('{"last_object":5,"offset":2,"nonce":"x"}')],
    ['a last object that is an array', encode('{"last_object":[5],"offset":2,"nonce":"x"}')],
    ['an offset that is text', encode('{"last_object":{"last_modified":5},"offset":"2","nonce":"x"}')],
    ['an offset below zero', encode('{"last_object":{"last_modified":5},"offset":-2,"nonce":"x"}')],
    ['an offset that is no integer', encode('{"last_object":{"last_modified":5},"offset":1.5,"nonce":"x"}')],
    ['a nonce that is no text', encode('{"last_object":{"last_modified":5},"offset":2,"nonce":3}')],
    ['a nonce without end', encode(`{"last_object":{"last_modified":5},"offset":2,"nonce":"${'x'.repeat(300)}"}`)],
    ['no timestamp', encode('{"last_object":{},"offset":2,"nonce":"x"}')],
    ['a timestamp that is text', encode('{"last_object":{"last_modified":"5"},"offset":2,"nonce":"x"}')],
    ['a timestamp that is no integer', encode('{"last_object":{"last_modified":5.5},"offset":2,"nonce":"x"}')],
    ['a timestamp beyond all', encode('{"last_object":{"last_modified":99999999999999999999},"offset":2,"nonce":"x"}')],
    ['an inherited member', encode('{"__proto__":{"last_object":{"last_modified":5},"offset":2,"nonce":"x"}}')],
    ['null characters', encode('{"last_object":{"last_modified":5},"offset":2,"nonce":"\\u0000"}')],
    ['deep nesting', encode(`{"last_object":${'['.repeat(5000)}${']'.repeat(5000)},"offset":2,"nonce":"x"}`)],
    ['a token without end', encode(good + ' '.repeat(70_000))],
    ['a token with an unexpected signature', `${encode(good)}.AAAA`],
  ];

  it('is not the token that these vary', () => {
    expect(parseToken(encode(good), newest, stored)).toEqual({ position: [5], offset: 2, nonce: 'x' });
  });

  it.each(refused)('is %s', (_what, token) => {
    expect(parseToken(token, newest, stored)).toBeUndefined();
  });

  it('is a missing or wrong value of a field that every object has', () => {
    const token = encode('{"last_object":{"id":5,"uri":"/a","last_modified":5},"offset":2,"nonce":"x"}');
    expect(parseToken(token, by('id'), stored)).toBeUndefined();
    expect(parseToken(token, by('uri'), { requiredFields: ['uri'] })?.position).toEqual(['/a']);
    expect(parseToken(encode(good), by('uri'), { requiredFields: ['uri'] })).toBeUndefined();
  });

  it('is random text', () => {
    fc.assert(fc.property(fc.string(), (text) => parseToken(text, newest, stored) === undefined));
    fc.assert(fc.property(fc.string(), (text) => parseToken(encode(text), newest, stored) === undefined));
  });
});

describe('an authenticated token', () => {
  const key = Buffer.from('one secret');
  const signed = formatToken([5], newest, { nonce, offset: 2, key });

  it('is accepted with its key only', () => {
    expect(parseToken(signed, newest, { ...stored, key })?.position).toEqual([5]);
    expect(parseToken(signed, newest, { ...stored, key: Buffer.from('another secret') })).toBeUndefined();
    expect(parseToken(signed, newest, stored)).toBeUndefined();
  });

  it('is refused when it was changed, cut or never signed', () => {
    const [payload, signature] = signed.split('.');
    const other = formatToken([6], newest, { nonce, offset: 2 });
    for (const token of [
      payload!,
      `${other}.${signature}`,
      `${payload}.`,
      signed.slice(0, -2),
      `.${signature}`,
      other,
    ]) {
      expect(parseToken(token, newest, { ...stored, key }), token).toBeUndefined();
    }
  });
});
