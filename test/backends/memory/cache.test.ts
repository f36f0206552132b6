import { describe, expect, it } from 'vitest';
import { createMemoryCache } from '../../../src/backends/memory/cache.ts';
import { createTestClock } from '../../../src/testing/index.ts';

const value = 'x'.repeat(88);

async function present(cache: ReturnType<typeof createMemoryCache>, count: number): Promise<readonly number[]> {
  const found: number[] = [];
  for (let n = 0; n < count; n++) if ((await cache.get(`key${n}`)) !== undefined) found.push(n);
  return found;
}

describe('memory cache', () => {
  it('evicts the oldest values down to four fifths of its size', async () => {
    const cache = createMemoryCache({ clock: createTestClock(), maxSizeBytes: 1000 });
    // Each takes 94 bytes: 4 of the key, 90 of the quoted value.
    for (let n = 0; n < 10; n++) await cache.set(`key${n}`, value, 60);
    expect(await present(cache, 10)).toHaveLength(10);
    await cache.set('keyA', value, 60);
    expect(await present(cache, 10)).toEqual([3, 4, 5, 6, 7, 8, 9]);
    expect(await cache.get('keyA')).toBe(value);
  });

  it('evicts expired values first', async () => {
    const clock = createTestClock();
    const cache = createMemoryCache({ clock, maxSizeBytes: 1000 });
    for (let n = 0; n < 10; n++) await cache.set(`key${n}`, value, n < 5 ? 60 : 1);
    clock.advance(2000);
    await cache.set('keyA', value, 60);
    expect(await present(cache, 10)).toEqual([0, 1, 2, 3, 4]);
  });

  it('counts a replaced value once, and as new', async () => {
    const cache = createMemoryCache({ clock: createTestClock(), maxSizeBytes: 1000 });
    for (let n = 0; n < 10; n++) await cache.set(`key${n}`, value, 60);
    for (let n = 0; n < 5; n++) await cache.set(`key${n}`, value, 60);
    await cache.set('keyA', value, 60);
    expect(await present(cache, 10)).toEqual([0, 1, 2, 3, 4, 8, 9]);
  });

  it('does not store a value that would evict all others', async () => {
    const cache = createMemoryCache({ clock: createTestClock(), maxSizeBytes: 1000 });
    await cache.set('key0', value, 60);
    await cache.set('key1', 'old', 60);
    await cache.set('key1', 'x'.repeat(5000), 60);
    expect(await present(cache, 2)).toEqual([0]);
  });

  it('frees the room of taken values', async () => {
    const cache = createMemoryCache({ clock: createTestClock(), maxSizeBytes: 1000 });
    for (let n = 0; n < 50; n++) {
      await cache.set(`key${n}`, value, 60);
      if (n > 0) await cache.delete(`key${n}`);
    }
    expect(await cache.get('key0')).toBe(value);
    await cache.flush();
    for (let n = 0; n < 10; n++) await cache.set(`key${n}`, value, 60);
    expect(await present(cache, 10)).toHaveLength(10);
  });

  it('distinguishes keys that differ only in the end of the prefix', async () => {
    const clock = createTestClock();
    const cache = createMemoryCache({ clock, prefix: 'coffer:' });
    await cache.set('a', 1, 60);
    expect(await cache.get('coffer:a')).toBeUndefined();
    expect(await cache.get('a')).toBe(1);
  });
});
