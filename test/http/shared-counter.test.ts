// How processes count together: how far they may go beyond a limit, and what that costs in calls to the cache.
import { setImmediate as immediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryCache } from '../../src/backends/memory/cache.ts';
import type { Logger } from '../../src/contracts/logger.ts';
import { Counting, SharedCounter, type SumKeeper } from '../../src/http/rate-limits/shared-counter.ts';

const clock = { now: () => 1_700_000_000_000 };

function ignore(): void {
  // Only some tests want the log.
}
const silent: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** The memory cache, with what has to be known about its use; calls are answered some turns later. */
function slowCache(delay: () => number = () => 0): SumKeeper & { calls: number } {
  const cache = createMemoryCache({ clock });
  return {
    calls: 0,
    async increment(...given) {
      this.calls++;
      await turns(delay());
      const sum = await cache.increment(...given);
      await turns(delay());
      return sum;
    },
  };
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await immediate();
}

function processes(count: number, cache: SumKeeper, limit: number): readonly SharedCounter[] {
  const window = { key: 'calls\nuser ann', limit, seconds: 60, number: 28_333_333 };
  return Array.from({ length: count }, () => new SharedCounter(new Counting({ cache, clock, logger: silent }), window));
}

describe('A count that processes share', () => {
  it('goes at most a share of each process beyond the limit, however requests come and the cache answers.', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 60 }),
        fc.array(fc.tuple(fc.nat(4), fc.nat(12), fc.nat(2)), { minLength: 1, maxLength: 60 }),
        fc.infiniteStream(fc.nat(4)),
        async (count, limit, bursts, delays) => {
          const cache = slowCache(() => delays.next().value ?? 0);
          const counters = processes(count, cache, limit);
          const asked: Promise<boolean>[] = [];
          for (const [process, size, pause] of bursts) {
            for (let i = 0; i < size; i++) asked.push(Promise.resolve(counters[process % count]!.take(true)));
            await turns(pause);
          }
          const allowed = (await Promise.all(asked)).filter(Boolean).length;
          const share = Math.max(1, Math.ceil(limit / 10));
          if (count === 1) expect(allowed).toBe(Math.min(asked.length, limit));
          expect(allowed).toBeGreaterThanOrEqual(Math.min(asked.length, limit));
          expect(allowed).toBeLessThan(limit + count * share);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('costs no call to the cache while it is below half a share, and few after that.', async () => {
    const cache = slowCache();
    const [counter] = processes(1, cache, 1000);
    for (let i = 0; i < 49; i++) expect(await counter!.take(true)).toBe(true);
    expect(cache.calls).toBe(0);
    for (let i = 0; i < 951; i++) expect(await counter!.take(true)).toBe(true);
    expect(cache.calls).toBeLessThanOrEqual(20);
    expect(await counter!.take(true)).toBe(false);
  });

  it('makes all processes refuse once the limit is reached.', async () => {
    const counters = processes(3, slowCache(), 30);
    for (const counter of counters) for (let i = 0; i < 40; i++) await counter.take(true);
    for (const counter of counters) {
      // A process that has not asked for a while finds out with its next share.
      for (let i = 0; i < 4; i++) await counter.take(true);
      expect(await counter.take(true)).toBe(false);
    }
  });

  it('does not shrink in a process when the cache evicts the sum', async () => {
    const cache = createMemoryCache({ clock });
    const [counter] = processes(1, cache, 10);
    let allowed = 0;
    for (let n = 0; n < 30; n++) {
      if (await counter!.take(true)) allowed++;
      await cache.flush();
    }
    expect(allowed).toBe(10);
  });

  it('is what each process has counted while the cache fails, which is said once.', async () => {
    const cache: SumKeeper = { increment: () => Promise.reject(new Error('the cache is away')) };
    const lines: unknown[] = [];
    const logger: Logger = { ...silent, warn: (...given: unknown[]) => void lines.push(given) };
    const counting = new Counting({ cache, clock, logger });
    const counter = new SharedCounter(counting, { key: 'x', limit: 20, seconds: 60, number: 28_333_333 });
    const answers: boolean[] = [];
    for (let i = 0; i < 25; i++) answers.push(await counter.take(true));
    expect(answers.filter(Boolean)).toHaveLength(20);
    expect(lines).toHaveLength(1);
  });
});
