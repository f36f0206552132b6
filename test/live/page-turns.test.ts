// How many pages are in memory for streams and polls at the same time.
import { describe, expect, it } from 'vitest';
import type { Page } from '../../src/contracts/storage.ts';
import { StoredObject } from '../../src/core/objects/stored.ts';
import { PageTurns } from '../../src/live/page-turns.ts';

function pageOf(chars: number): Page {
  const entry = new StoredObject('x', 1, 'x'.repeat(chars));
  return { entries: [entry], more: false, timestamp: 1, horizon: 0 };
}

/** Runs 20 feeds at once. Returns the maximum number of pages that were read and not yet used, and that were in use. */
async function run(chars: number): Promise<{ readonly held: number; readonly used: number }> {
  const turns = new PageTurns(20);
  let [held, maxHeld, used, maxUsed] = [0, 0, 0, 0];
  const read = async (): Promise<Page> => {
    held += 1;
    maxHeld = Math.max(maxHeld, held);
    await new Promise(setImmediate);
    return pageOf(chars);
  };
  const use = async (): Promise<void> => {
    used += 1;
    maxUsed = Math.max(maxUsed, used);
    await new Promise(setImmediate);
    used -= 1;
    held -= 1;
  };
  await Promise.all(Array.from({ length: 20 }, () => turns.take(read, use)));
  return { held: maxHeld, used: maxUsed };
}

describe('the turns of pages', () => {
  it('use large pages one at a time, and read four', async () => {
    expect(await run(70_000)).toEqual({ held: 4, used: 1 });
  });

  it('let others read while a small page is used', async () => {
    const { held } = await run(100);
    expect(held).toBeGreaterThan(4);
  });

  it('go on after a failure', async () => {
    const turns = new PageTurns(20);
    const broken = (): Promise<Page> => Promise.reject(new Error('broken'));
    await Promise.allSettled(Array.from({ length: 10 }, () => turns.take(broken, async () => undefined)));
    expect(await turns.read(async () => 'read')).toBe('read');
  });
});
