// Texts on which regular expressions take quadratic time: of ten megabytes each, they would take hours.
import { describe, expect, it, onTestFinished } from 'vitest';
import { findJsonbText } from '../../src/backends/postgresql/jsonb-text.ts';
import { ExactNumber } from '../../src/base/json.ts';
import { withoutSlashesAtEnd } from '../../src/base/slashes-at-end.ts';
import { runAtOnce, type Steps } from '../../src/base/steps.ts';
import { formatAttributes, StoredObject } from '../../src/core/objects/stored.ts';
import type { Filter } from '../../src/core/query/ast.ts';
import { matchesInSteps } from '../../src/core/query/evaluate-steps.ts';
import { findText } from '../../src/core/query/find-text.ts';
import { parseSelector, defaultSelectorLimits } from '../../src/core/query/selector.ts';
import { validateAgainst } from '../../src/core/schema/validate.ts';
import { wordsOf } from '../../src/core/text/words.ts';
import { hashWithScrypt, matchesScrypt } from '../../src/plugins/accounts/scrypt-hash.ts';
import { cleanFilename, storedName } from '../../src/plugins/attachments/file-name.ts';
import { startTestService } from '../../src/testing/index.ts';

describe('long texts', () => {
  it('cannot slow down the search for numbers that jsonb cannot hold', () => {
    const digits = '1'.repeat(11_999);
    const text = `{"a":"${`${digits}x`.repeat(800)}","n":1.50}`;
    expect(findJsonbText(text)).toBeUndefined();
    const long = `{"a":"${'x'.repeat(9_000_000)}","n":1e-20000}`;
    expect(findJsonbText(long)).toBe(long.replace('1e-20000', '1e-16383'));
  });

  it('cannot slow down the comparison of items', () => {
    const items = [new ExactNumber(`1${'0'.repeat(9_000_000)}1`), new ExactNumber(`1${'0'.repeat(9_000_000)}2`)];
    const schema = { properties: { a: { uniqueItems: true } } };
    const small = items.map(({ text }) => new ExactNumber(`0.${text}`));
    expect(runAtOnce(validateAgainst(schema, { a: small }, { internalFields: [] }))).toBeUndefined();
    expect(runAtOnce(validateAgainst(schema, { a: [small[0]!, small[0]!] }, { internalFields: [] }))?.name).toBe('a');
  });

  it('cannot slow down the removal of slashes from paths', () => {
    const slashes = '/'.repeat(5_000_000);
    for (const encoded of [false, true]) {
      expect(withoutSlashesAtEnd(`${slashes}a`, { encoded })).toBe(`${slashes}a`);
      expect(withoutSlashesAtEnd(`/a${slashes}`, { encoded })).toBe('/a');
      expect(withoutSlashesAtEnd(slashes, { encoded })).toBe('');
    }
    expect(withoutSlashesAtEnd(`/a${slashes}%2F%2f/`, { encoded: true })).toBe('/a');
    expect(withoutSlashesAtEnd('/a%2F/')).toBe('/a%2F');
  });

  it('cannot slow down the search for words', () => {
    // Normalization sorts runs of marks. Some letters become marks only then.
    for (const marks of ['\u0301\u0316', '\uff9e\u0334', '\u0345\u0301', '\u093c\u0334']) {
      expect(wordsOf(`a${marks.repeat(500_000)}b`)).toHaveLength(1);
    }
    expect(wordsOf('\ufdfa'.repeat(100_000))).toHaveLength(33_334);
  });

  it('cannot slow down the normalization of passwords', async () => {
    const password = `b${'\u0301'.repeat(250_000)}${'\u0323'.repeat(250_000)}`;
    const hash = await hashWithScrypt(password, 10);
    expect(await matchesScrypt(password, hash)).toBe(true);
    expect(await matchesScrypt(password.slice(1), hash)).toBe(false);
    expect(await matchesScrypt(password.slice(0, -1), hash)).toBe(false);
  });

  it('cannot slow down the cleaning of file names', () => {
    const given = `b${'\u0301'.repeat(250_000)}${'\u0323'.repeat(250_000)}.txt`;
    const filename = cleanFilename(given);
    expect(filename).toBe(`b${'\u0301'.repeat(30)}.txt`);
    const rules = { folder: '', randomizes: false, pattern: '{filename}', keepsOldFiles: false, maxSizeBytes: 0 };
    const parts = { filename: given, recordId: 'r', ids: { bucket: 'b', collection: 'c' }, now: 0 };
    expect(storedName(rules, parts)).toBe('b.txt');
  });

  it('cannot slow down references of schemas', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $dynamicRef: `${'#a'.repeat(1_000_000)}\n`,
    };
    expect(runAtOnce(validateAgainst(schema, {}, { internalFields: [] }))?.description).toContain('cannot be resolved');
  });

  it('cannot be tried on patterns beyond a length', () => {
    const schema = { properties: { a: { pattern: '^x+$' } } };
    const validate = (chars: number): unknown =>
      runAtOnce(validateAgainst(schema, { a: 'x'.repeat(chars) }, { internalFields: [] }));
    expect(validate(1_000_000)).toBeUndefined();
    expect(validate(1_000_001)).toEqual({ name: 'schema', description: 'validation takes too much work' });
  });
});

/** Runs all steps; returns the result and their number. */
function countSteps<T>(steps: Steps<T>): readonly [result: T, count: number] {
  for (let count = 1; ; count++) {
    const step = steps.next();
    if (step.done === true) return [step.value, count];
  }
}

function filtersOf(selector: object): readonly Filter[] {
  const filters = parseSelector(JSON.stringify(selector), { limits: { ...defaultSelectorLimits, maxValues: 20_000 } });
  if ('location' in filters) throw new Error(filters.description);
  return filters;
}

describe('selectors on long values', () => {
  const numbers = new StoredObject('a', 1, formatAttributes({ n: Array.from({ length: 99_000 }, (_, n) => n) }));
  const objects = new StoredObject(
    'a',
    1,
    formatAttributes({ n: Array.from({ length: 9000 }, (_, n) => ({ n: [n] })) }),
  );
  const text = new StoredObject('a', 1, formatAttributes({ s: 'a'.repeat(900_000) }));
  const missing = (from: number, length: number): readonly number[] => Array.from({ length }, (_, n) => -from - n - 1);

  it.each([
    [
      'many lists of values',
      numbers,
      { $or: Array.from({ length: 10 }, (_, n) => ({ n: { $containsAny: missing(n * 1000, 1000) } })) },
      200,
    ],
    ['elements with one of many values', numbers, { n: { $elemMatch: { $in: missing(0, 1000) } } }, 40],
    [
      'elements with many conditions',
      numbers,
      { n: { $elemMatch: { $and: [{ $or: missing(0, 60).map((value) => ({ n: value })) }] } } },
      1000,
    ],
    ['many objects', objects, { n: { $containsAny: missing(0, 40).map((value) => ({ n: [value] })) } }, 200],
    ['many texts', text, { $or: missing(0, 50).map((n) => ({ s: { $like: `${'a'.repeat(500)}${n}` } })) }, 50],
  ])('are tested in steps: %s', (_name, object, selector, least) => {
    const [isMatch, count] = countSteps(matchesInSteps(object, filtersOf(selector)));
    expect(isMatch).toBe(false);
    expect(count).toBeGreaterThan(least);
  });

  it('cannot slow down the search for a text', () => {
    const long = 'a'.repeat(9_000_000);
    const half = 'a'.repeat(25_000);
    expect(findText(long, `${half}b${half}`, 0, long.length)).toBe(-1);
    expect(findText(long, `b${half}`, 0, long.length)).toBe(-1);
    expect(findText(`${long}b${half}`, `${half}b${half}`, 0, long.length + half.length + 1)).toBe(9_000_000 - 25_000);
  });

  it('compare objects of different sizes without sorting their keys', () => {
    const large = Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`k${n}`, n]));
    const object = new StoredObject('a', 1, formatAttributes({ o: large }));
    const selector = { $or: missing(0, 190).map((n) => ({ o: { $lt: { n } } })) };
    expect(countSteps(matchesInSteps(object, filtersOf(selector)))[0]).toBe(false);
  });
});

describe('Authorization headers of batch entries, with a high limit of headers', () => {
  const encode = (text: string): string => Buffer.from(text).toString('base64url');
  const many = (text: string): string => text.repeat(Math.floor(600_000 / text.length));

  it.each([
    ['an issuer full of slashes', `Bearer ${encode('{"alg":"ES256"}')}.${encode(`{"iss":"${many('/')}x"}`)}.aa`],
    ['many parts', `Bearer ${many('a.')}`],
    ['many blanks', `Bearer ${many(' ')}x ${many(' ')}x`],
    ['a long scheme', many('Bearer')],
    ['blanks in credentials', `Basic ${many(' ')}x${many(' ')}x`],
    ['padding in credentials', `Basic ${many('=')}x`],
    ['colons in credentials', `Basic ${Buffer.from(many(':')).toString('base64')}`],
    ['a long name', `Basic ${Buffer.from(`${many('a')} :x`).toString('base64')}`],
    ['a long password', `Basic ${Buffer.from(`zoe:${many('y')}`).toString('base64')}`],
    ['marks in a password', `Basic ${Buffer.from(`zoe:b${many('\u0301\u0323')}`).toString('base64')}`],
  ])('cannot slow down a service with all policies: %s', async (_name, authorization) => {
    const policies = { one: 'OpenIDConnectPolicy', two: 'OpenIDConnectPolicy', account: 'AccountsPolicy' };
    const service = await startTestService({
      settings: {
        includes: 'openid accounts',
        max_header_size: '2000000',
        'multiauth.policies': Object.keys(policies).join(' '),
        ...Object.fromEntries(Object.entries(policies).map(([name, use]) => [`multiauth.policy.${name}.use`, use])),
        // Nothing listens there. Tokens are refused before the provider is needed.
        'multiauth.policy.one.issuer': 'http://127.0.0.1:9/one',
        'multiauth.policy.two.issuer': 'http://127.0.0.1:9/two',
        'multiauth.policy.one.client_id': 'x',
        'multiauth.policy.two.client_id': 'x',
      },
    });
    onTestFinished(() => service.close());
    const entry = { method: 'POST', path: '/buckets', headers: { Authorization: authorization } };
    const { status, body } = await service.request('POST', '/v1/batch', { body: { requests: [entry] } });
    expect([status, body]).toMatchObject([200, { responses: [{ status: 401 }] }]);
  });
});
