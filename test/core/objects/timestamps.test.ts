import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../src/base/json.ts';
import { formatEtag, formatHttpDate, parseEtag } from '../../../src/core/objects/etag.ts';
import { parsePrecondition } from '../../../src/core/objects/etag.ts';
import { honouredTimestamp } from '../../../src/core/objects/timestamps.ts';

describe('timestamps sent by clients', () => {
  it.each([
    ['1000', undefined, 1000],
    ['0', undefined, 0],
    ['-0', undefined, 0],
    ['1000', 999, 1000],
    ['1000', 1000, undefined],
    ['1000', 2000, undefined],
    ['0', 0, undefined],
    ['4503599627370496', 5, 4503599627370496],
    ['4503599627370497', undefined, 'out of range'],
    ['9007199254740992', undefined, 'out of range'],
    ['9007199254740993', 5, 'out of range'],
    ['12345678901234567890', undefined, 'out of range'],
    ['-5', undefined, undefined],
    ['-12345678901234567890', undefined, undefined],
    ['1000.0', undefined, undefined],
    ['1000.5', undefined, undefined],
    ['1e3', undefined, undefined],
    ['1e+21', undefined, undefined],
    ['"1000"', undefined, undefined],
    ['true', undefined, undefined],
    ['null', undefined, undefined],
    ['[1]', undefined, undefined],
    ['{}', undefined, undefined],
  ])('%s over %s yields %s', (sent, current, result) => {
    expect(honouredTimestamp(parseJson(sent), current)).toBe(result);
  });

  it('are assigned by the storage when none is sent', () => {
    expect(honouredTimestamp(undefined, undefined)).toBeUndefined();
  });
});

describe('entity tags', () => {
  it('are parsed back to their timestamp', () => {
    fc.assert(fc.property(fc.maxSafeNat(), (timestamp) => parseEtag(formatEtag(timestamp)) === timestamp));
  });

  it('are digits between double quotes and nothing else', () => {
    for (const text of ['', '""', '1', '"1', '"-1"', 'W/"1"', '"1", "2"', '"1.0"', '"1"\n', '"a"', '"١"']) {
      expect(parseEtag(text)).toBeUndefined();
    }
  });

  it('beyond the range of timestamps equal none', () => {
    expect(parseEtag('"99999999999999999999"')).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
    expect(parseEtag(`"${'9'.repeat(1000)}"`)).toBe(Infinity);
  });
});

describe('HTTP dates', () => {
  it('are whole seconds, rounded down', () => {
    expect(formatHttpDate(1795233629899)).toBe('Sat, 21 Nov 2026 04:00:29 GMT');
    expect(formatHttpDate(0)).toBe('Thu, 01 Jan 1970 00:00:00 GMT');
  });

  it('stay dates for timestamps beyond their range', () => {
    expect(formatHttpDate(Number.MAX_SAFE_INTEGER)).toBe('Fri, 31 Dec 9999 23:59:59 GMT');
  });
});

describe('preconditions', () => {
  it('are `*` or one timestamp', () => {
    expect(parsePrecondition('If-Match', '*')).toEqual({ precondition: { any: true } });
    expect(parsePrecondition('If-None-Match', ' "12" ')).toEqual({ precondition: { any: false, timestamp: 12 } });
  });

  it('of any other form are reported under the name of the header', () => {
    for (const value of ['12', 'W/"12"', '"1", "2"', '""', 'abc', '"-1"', '*x', '**', '', '"12"x']) {
      const result = parsePrecondition('If-None-Match', value);
      expect(result).toMatchObject({ issue: { location: 'header', name: 'If-None-Match' } });
    }
  });
});
