import { expect, it } from 'vitest';
import { GenerationCache } from '../../src/base/generation-cache.ts';

it('keeps values that are used again, however many others are cached.', () => {
  const shelf = new GenerationCache<number>(1000);
  shelf.set('kept', -1, 10);
  for (let n = 0; n < 1000; n++) {
    shelf.set(`n${n}`, n, 50);
    expect(shelf.get('kept')).toBe(-1);
  }
  expect(shelf.get('n0')).toBeUndefined();
  expect(shelf.get('n999')).toBe(999);
});

it('keeps at least half of its bytes, and never more than its limit.', () => {
  const shelf = new GenerationCache<number>(1000);
  for (let n = 0; n < 1000; n++) shelf.set(`n${n}`, n, 10);
  const kept = Array.from({ length: 1000 }, (_, n) => `n${n}`).filter((key) => shelf.get(key) !== undefined);
  expect(kept.length).toBeGreaterThanOrEqual(50);
  expect(kept.length).toBeLessThanOrEqual(100);
});

it('drops values that are deleted, cleared, or replaced by a value that is too large.', () => {
  const shelf = new GenerationCache<number>(1000);
  for (const key of ['a', 'b', 'c']) shelf.set(key, 1, 10);
  for (let n = 0; n < 50; n++) shelf.set(`n${n}`, n, 10);
  // Now both generations have it.
  expect(shelf.get('a')).toBe(1);
  shelf.delete('a');
  shelf.set('b', 2, 500);
  expect([shelf.get('a'), shelf.get('b'), shelf.get('c')]).toEqual([undefined, undefined, 1]);
  shelf.clear();
  expect(shelf.get('c')).toBeUndefined();
});

it('caches nothing with a limit of 0 bytes.', () => {
  const shelf = new GenerationCache<number>(0);
  shelf.set('a', 1, 1);
  expect(shelf.get('a')).toBeUndefined();
});
