// Token buckets: how many requests they let pass in any time, how far several processes may go beyond a limit, and what
// that costs in calls to the cache.
import { setImmediate as immediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryCache } from '../../src/backends/memory/cache.ts';
import { silentLogger, type Logger } from '../../src/contracts/logger.ts';
import { BucketStore, TokenBucket, type MomentKeeper } from '../../src/http/rate-limits/token-bucket.ts';

const clock = { now: () => 1_700_000_000_000 };

function movingClock(): { now(): number; advance(seconds: number): void } {
  let now = clock.now();
  return { now: () => now, advance: (seconds) => void (now += seconds * 1000) };
}

/** The memory cache, with what has to be known about its use; calls are answered some turns later. */
function slowCache(delay: () => number = () => 0): MomentKeeper & { calls: number } {
  const cache = createMemoryCache({ clock });
  return {
    calls: 0,
    async advance(...given) {
      this.calls++;
      await turns(delay());
      const moment = await cache.advance(...given);
      await turns(delay());
      return moment;
    },
  };
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await immediate();
}

const seconds = 60;

function processes(
  count: number,
  cache: MomentKeeper | undefined,
  limit: number,
  time: { now(): number } = clock,
): readonly TokenBucket[] {
  const options = { key: 'calls\nuser ann', limit, seconds };
  const store = (): BucketStore => new BucketStore({ cache, clock: time, logger: silentLogger });
  return Array.from({ length: count }, () => new TokenBucket(store(), options));
}

describe('A bucket of one process', () => {
  it('allows in any interval its capacity plus the refill of that interval', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.tuple(fc.nat(30), fc.nat(15)), { minLength: 1, maxLength: 40 }),
        (limit, bursts) => {
          const time = movingClock();
          const [bucket] = processes(1, undefined, limit, time);
          const passed: number[] = [];
          for (const [size, pause] of bursts) {
            for (let i = 0; i < size; i++) if (bucket!.take(true) === true) passed.push(time.now());
            time.advance(pause);
          }
          const excess = passed.map((from, first) =>
            Math.max(...passed.slice(first).map((at, more) => more + 1 - ((at - from) / 1000 / seconds) * limit)),
          );
          expect(Math.max(0, ...excess)).toBeLessThanOrEqual(limit + 0.001);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('refills at its rate after the clock was set back', () => {
    const time = movingClock();
    const [bucket] = processes(1, undefined, 6, time);
    for (let i = 0; i < 6; i++) expect(bucket!.take(true)).toBe(true);
    time.advance(-3600);
    expect([bucket!.remaining, bucket!.secondsUntilToken]).toEqual([0, 10]);
    time.advance(10);
    expect(bucket!.remaining).toBe(1);
    time.advance(50);
    expect(bucket!.remaining).toBe(6);
  });

  it('returns the remaining requests, the time of the next one, and the time when it is full', () => {
    const time = movingClock();
    const [bucket] = processes(1, undefined, 6, time);
    const state = (): readonly number[] => [bucket!.remaining, bucket!.secondsUntilToken, bucket!.secondsUntilFull];
    for (let i = 0; i < 6; i++) expect(bucket!.take(true)).toBe(true);
    expect(state()).toEqual([0, 10, 60]);
    expect(bucket!.take(true)).toBe(false);
    time.advance(9);
    expect(state()).toEqual([0, 1, 51]);
    time.advance(1);
    expect(state()).toEqual([1, 1, 50]);
    bucket!.giveBack();
    expect(state()).toEqual([2, 1, 40]);
    time.advance(1000);
    expect(state()).toEqual([6, 1, 1]);
  });
});

describe('A bucket that processes share', () => {
  it('exceeds the limit by at most a share per process, however requests arrive and the cache responds.', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 60 }),
        fc.array(fc.tuple(fc.nat(4), fc.nat(12), fc.nat(2)), { minLength: 1, maxLength: 60 }),
        fc.infiniteStream(fc.nat(4)),
        async (count, limit, bursts, delays) => {
          const cache = slowCache(() => delays.next().value ?? 0);
          const buckets = processes(count, cache, limit);
          const asked: Promise<boolean>[] = [];
          for (const [process, size, pause] of bursts) {
            for (let i = 0; i < size; i++) asked.push(Promise.resolve(buckets[process % count]!.take(true)));
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
    const [bucket] = processes(1, cache, 1000);
    for (let i = 0; i < 49; i++) expect(await bucket!.take(true)).toBe(true);
    expect(cache.calls).toBe(0);
    for (let i = 0; i < 951; i++) expect(await bucket!.take(true)).toBe(true);
    expect(cache.calls).toBeLessThanOrEqual(20);
    expect(await bucket!.take(true)).toBe(false);
  });

  it('lets all processes refuse once the limit is reached.', async () => {
    const buckets = processes(3, slowCache(), 30);
    for (const bucket of buckets) for (let i = 0; i < 40; i++) await bucket.take(true);
    for (const bucket of buckets) {
      // A process that has not asked for a while finds out with its next share.
      for (let i = 0; i < 4; i++) await bucket.take(true);
      expect(await bucket.take(true)).toBe(false);
    }
  });

  it('keeps the rate of the limit however long requests are distributed over the processes', async () => {
    const time = movingClock();
    const cache = createMemoryCache({ clock: time });
    const limit = 30;
    const buckets = processes(3, cache, limit, time);
    const minutes = 20;
    let allowed = 0;
    for (let second = 0; second < minutes * 60; second++) {
      for (const bucket of buckets) if (await bucket.take(true)) allowed++;
      time.advance(1);
    }
    expect(allowed).toBeGreaterThanOrEqual(limit * minutes);
    expect(allowed).toBeLessThanOrEqual(limit * (minutes + 1) + 3 * 3);
  });

  it('stays full for a client with few requests, although the cache is updated later', async () => {
    const time = movingClock();
    const [bucket] = processes(1, createMemoryCache({ clock: time }), 100, time);
    for (let minute = 0; minute < 4; minute++) {
      expect(await bucket!.take(true)).toBe(true);
      time.advance(60);
    }
    let allowed = 0;
    for (let i = 0; i < 120; i++) if (await bucket!.take(true)) allowed++;
    expect(allowed).toBe(100);
  });

  it('does not lock a client out of a process that starts after the clocks were set back', async () => {
    const time = movingClock();
    const cache = slowCache();
    const [before] = processes(1, cache, 10, time);
    for (let i = 0; i < 10; i++) await before!.take(true);
    await turns(5);
    time.advance(-86_400);
    const [after] = processes(1, cache, 10, time);
    expect(await after!.take(true)).toBe(true);
    await turns(5);
    expect(await after!.take(true)).toBe(true);
  });

  it('does not refill in a process when the cache evicts the timestamp', async () => {
    const cache = createMemoryCache({ clock });
    const [bucket] = processes(1, cache, 10);
    let allowed = 0;
    for (let n = 0; n < 30; n++) {
      if (await bucket!.take(true)) allowed++;
      await cache.flush();
    }
    expect(allowed).toBe(10);
  });

  it('is counted by each process while the cache fails, which is logged once.', async () => {
    const cache: MomentKeeper = { advance: () => Promise.reject(new Error('the cache is away')) };
    const lines: unknown[] = [];
    const logger: Logger = { ...silentLogger, warn: (...given: unknown[]) => void lines.push(given) };
    const store = new BucketStore({ cache, clock, logger });
    const bucket = new TokenBucket(store, { key: 'x', limit: 20, seconds });
    const answers: boolean[] = [];
    for (let i = 0; i < 25; i++) answers.push(await bucket.take(true));
    expect(answers.filter(Boolean)).toHaveLength(20);
    expect(lines).toHaveLength(1);
  });
});
