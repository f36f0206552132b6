// Ages and dates on the command line.
import { expect, test } from 'vitest';
import { parseAgeOrDate } from '../../src/cli/commands/purge-deleted.ts';

const now = Date.UTC(2026, 6, 1, 12);
const hour = 3_600_000;

test.each<[string, number | undefined]>([
  ['30d', now - 30 * 24 * hour],
  ['12h', now - 12 * hour],
  ['90m', now - 1.5 * hour],
  ['1.5d', now - 36 * hour],
  ['0s', now],
  ['2026-01-31', Date.UTC(2026, 0, 31)],
  ['2026-01-31T06:30:00Z', Date.UTC(2026, 0, 31, 6, 30)],
  ['2026-01-31T06:30+01:00', Date.UTC(2026, 0, 31, 5, 30)],
  ['30', undefined],
  ['-3d', undefined],
  ['d', undefined],
  ['yesterday', undefined],
  ['2026-02-30', undefined],
  ['', undefined],
])('%j is read as the moment that it means.', (given, expected) => {
  expect(parseAgeOrDate(given, now)).toBe(expected);
});
