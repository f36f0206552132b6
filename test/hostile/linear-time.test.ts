// Texts on which regular expressions take quadratic time: of ten megabytes each, they would take hours.
import { describe, expect, it } from 'vitest';
import { findJsonbText } from '../../src/backends/postgresql/jsonb-text.ts';
import { ExactNumber } from '../../src/base/json.ts';
import { runAtOnce } from '../../src/base/steps.ts';
import { validateAgainst } from '../../src/core/schema/validate.ts';
import { wordsOf } from '../../src/core/text/words.ts';
import { withoutSlashesAtEnd } from '../../src/http/target.ts';

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
    expect(withoutSlashesAtEnd(`${slashes}a`)).toBe(`${slashes}a`);
    expect(withoutSlashesAtEnd(`/a${slashes}%2F%2f/`)).toBe('/a');
    expect(withoutSlashesAtEnd(slashes)).toBe('');
  });

  it('cannot slow down the search for words', () => {
    // Normalization sorts runs of marks. Some letters become marks only then.
    for (const marks of ['\u0301\u0316', '\uff9e\u0334', '\u0345\u0301', '\u093c\u0334']) {
      expect(wordsOf(`a${marks.repeat(500_000)}b`)).toHaveLength(1);
    }
    expect(wordsOf('\ufdfa'.repeat(100_000))).toHaveLength(33_334);
  });

  it('cannot be tried on patterns beyond a length', () => {
    const schema = { properties: { a: { pattern: '^x+$' } } };
    const validate = (chars: number): unknown =>
      runAtOnce(validateAgainst(schema, { a: 'x'.repeat(chars) }, { internalFields: [] }));
    expect(validate(1_000_000)).toBeUndefined();
    expect(validate(1_000_001)).toEqual({ name: 'schema', description: 'validation takes too much work' });
  });
});
