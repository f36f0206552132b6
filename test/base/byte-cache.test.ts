import { expect, it } from 'vitest';
import { ByteCache } from '../../src/base/byte-cache.ts';

it('keeps values that are used again, however many others are cached.', () => {
  const cache = new ByteCache<number>(1000);
  cache.set('kept', -1, 10);
  for (let n = 0; n < 1000; n++) {
    cache.set(`n${n}`, n, 50);
    expect(cache.get('kept')).toBe(-1);
  }
  expect(cache.get('n0')).toBeUndefined();
  expect(cache.get('n999')).toBe(999);
});

it('keeps as many values as its limit allows.', () => {
  const cache = new ByteCache<number>(1000);
  for (let n = 0; n < 1000; n++) cache.set(`n${n}`, n, 10);
  const kept = Array.from({ length: 1000 }, (_, n) => `n${n}`).filter((key) => cache.get(key) !== undefined);
  expect(kept.length).toBe(100);
});

it('drops values that are deleted, cleared, or replaced by a value that is too large.', () => {
  const cache = new ByteCache<number>(1000);
  for (const key of ['a', 'b', 'c']) cache.set(key, 1, 10);
  for (let n = 0; n < 50; n++) cache.set(`n${n}`, n, 10);
  expect(cache.get('a')).toBe(1);
  cache.delete('a');
  cache.set('b', 2, 500);
  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([undefined, undefined, 1]);
  cache.clear();
  expect(cache.get('c')).toBeUndefined();
});

it('caches nothing with a limit of 0 bytes.', () => {
  const cache = new ByteCache<number>(0);
  cache.set('a', 1, 1);
  expect(cache.get('a')).toBeUndefined();
});
