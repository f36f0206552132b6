// What a long command shows of its progress.
import { expect, test } from 'vitest';
import { formatSeconds, Progress } from '../../src/cli/progress.ts';

function show(
  isTTY: boolean,
  updates: readonly (readonly [atMs: number, label: string, done: number, total?: number])[],
): string {
  let text = '';
  let now = 0;
  const progress = new Progress({ isTTY, columns: 90, write: (part) => (text += part) }, () => now);
  for (const [atMs, label, done, total] of updates) {
    now = atMs;
    progress.update(label, done, total);
  }
  progress.finish();
  return text;
}

test('A terminal has one line that is overwritten, with bar, percentage, rate and remaining time.', () => {
  const text = show(true, [
    [0, 'objects', 0, 20_000],
    [50, 'objects', 100, 20_000],
    [5000, 'objects', 5000, 20_000],
    [20_000, 'objects', 20_000, 20_000],
  ]);
  expect(text.split('\r\u001B[K')).toEqual([
    '',
    'objects [######..................] 25 % 5,000 of 20,000, 1,000/s - about 15 s left',
    'objects [########################] 100 % 20,000 of 20,000, 1,000/s',
    'objects: 20,000 in 20 s\n',
  ]);
});

test('Other output has a plain line from time to time, and one at the end of each part.', () => {
  const text = show(false, [
    [0, 'objects', 0, 100],
    [9000, 'objects', 45, 100],
    [11_000, 'objects', 55, 100],
    [12_000, 'permissions', 7],
    [13_000, 'permissions', 8],
  ]);
  expect(text.trimEnd().split('\n')).toEqual([
    'objects [#############...........] 55 % 55 of 100, 5/s - about 9.0 s left',
    'objects: 55 in 12 s',
    'permissions: 8 in 1.0 s',
  ]);
});

test('Work that never began prints nothing.', () => {
  expect(show(true, [])).toBe('');
});

test.each([
  [0.04, '0.0 s'],
  [9.96, '10.0 s'],
  [59.4, '59 s'],
  [61, '1 min 1 s'],
  [7260, '2 h 1 min'],
])('%d seconds are formatted for people.', (seconds, expected) => {
  expect(formatSeconds(seconds)).toBe(expected);
});
