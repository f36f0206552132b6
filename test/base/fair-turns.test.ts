// The limit on tasks at the same time, of which each party gets its share.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FairTurns, type FairTurnsOptions } from '../../src/base/fair-turns.ts';

const lateMs = 100;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Turns with tasks that run until the test ends them. */
class Work {
  readonly started: string[] = [];
  readonly #turns: FairTurns;
  readonly #ends = new Map<string, (error?: Error) => void>();
  readonly #runs = new Map<string, Promise<void>>();
  readonly #abandons = new Map<string, (error: Error, isCertain: boolean) => void>();
  #time = 0;

  constructor(options: FairTurnsOptions) {
    this.#turns = new FairTurns({ ...options, now: () => this.#time });
  }

  /** Adds tasks. The first letter of a name is the party, after its group if that is given. */
  async add(...names: readonly string[]): Promise<void> {
    for (const name of names)
      this.#runs.set(
        name,
        this.#turns.run({ party: name.replace(/\d+$/, ''), whenGone: this.#whenGone(name) }, () => this.#task(name)),
      );
    await vi.advanceTimersByTimeAsync(0);
  }

  /** Ends a task after some time, from which other tasks do not become late. */
  async end(name: string, { took = 0, error }: { took?: number; error?: Error } = {}): Promise<void> {
    this.#time += took;
    this.#ends.get(name)!(error);
    const outcome = this.#runs.get(name)!.catch((caught: unknown) => caught);
    expect(await outcome).toBe(error);
    await vi.advanceTimersByTimeAsync(0);
  }

  /** Nothing waits for the task any longer. */
  async abandon(name: string): Promise<void> {
    const error = new Error('gone');
    const abandon = this.#abandons.get(name);
    if (abandon === undefined) return;
    abandon(error, true);
    await expect(this.#runs.get(name)).rejects.toBe(error);
  }

  /** Perhaps nothing waits for the task any longer. Returns whether it still waits. */
  async doubt(name: string): Promise<boolean> {
    let waits = true;
    this.#runs.get(name)!.catch(() => {
      waits = false;
    });
    this.#abandons.get(name)!(new Error('gone'), false);
    await vi.advanceTimersByTimeAsync(0);
    return waits;
  }

  #whenGone(name: string): (abandon: (error: Error, isCertain: boolean) => void) => () => void {
    return (abandon) => {
      this.#abandons.set(name, abandon);
      return () => void this.#abandons.delete(name);
    };
  }

  async wait(milliseconds: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(milliseconds);
  }

  #task(name: string): Promise<void> {
    this.started.push(name);
    return new Promise((resolve, reject) => {
      this.#ends.set(name, (error) => (error === undefined ? resolve() : reject(error)));
    });
  }
}

describe('turns of several parties', () => {
  it('are so many at the same time, and the others follow in the order of arrival.', async () => {
    const work = new Work({ atOnce: 2 });
    await work.add('a1', 'a2', 'a3', 'a4');
    expect(work.started).toEqual(['a1', 'a2']);
    await work.end('a2');
    await work.end('a1', { error: new Error('failed') });
    expect(work.started).toEqual(['a1', 'a2', 'a3', 'a4']);
  });

  it('go to the party that has used the least time.', async () => {
    const work = new Work({ atOnce: 1 });
    await work.add('a1', 'a2', 'a3', 'b1', 'b2', 'c1');
    for (const [name, took] of [
      ['a1', 30],
      ['b1', 10],
      ['c1', 50],
      ['b2', 10],
    ] as const)
      await work.end(name, { took });
    expect(work.started).toEqual(['a1', 'b1', 'c1', 'b2', 'a2']);
  });

  it('last as long as their tasks when no time is set.', async () => {
    const work = new Work({ atOnce: 1 });
    await work.add('a1', 'b1');
    await work.wait(1_000_000);
    expect(work.started).toEqual(['a1']);
  });

  it('that are late make room for other parties, up to the limit of their own.', async () => {
    const work = new Work({ atOnce: 1, ofParty: 1, lateMs });
    await work.add('a1', 'a2', 'b1', 'c1');
    await work.wait(lateMs - 1);
    expect(work.started).toEqual(['a1']);
    await work.wait(1);
    expect(work.started).toEqual(['a1', 'b1']);
    await work.end('b1');
    await work.end('c1');
    expect(work.started).toEqual(['a1', 'b1', 'c1']);
    await work.add('a3', 'b2');
    expect(work.started).toEqual(['a1', 'b1', 'c1', 'b2']);
    await work.end('b2');
    await work.end('a1');
    expect(work.started).toEqual(['a1', 'b1', 'c1', 'b2', 'a2']);
  });

  it('that are late count among those of their party.', async () => {
    const work = new Work({ atOnce: 2, ofParty: 2, lateMs });
    await work.add('a1');
    await work.wait(lateMs);
    await work.add('a2', 'a3', 'b1');
    expect(work.started).toEqual(['a1', 'a2', 'b1']);
  });

  it('make room so many times at most, and again when one of them has ended.', async () => {
    const work = new Work({ atOnce: 1, lateMs, maxLate: 2 });
    await work.add('a1', 'b1', 'c1', 'd1', 'e1');
    await work.wait(lateMs * 10);
    expect(work.started).toEqual(['a1', 'b1', 'c1']);
    await work.end('b1');
    expect(work.started).toEqual(['a1', 'b1', 'c1', 'd1']);
    await work.end('d1');
    expect(work.started).toEqual(['a1', 'b1', 'c1', 'd1', 'e1']);
  });

  it('leave places to other parties when one has as many as it may.', async () => {
    const work = new Work({ atOnce: 3, ofParty: 2 });
    await work.add('a1', 'a2', 'a3', 'b1', 'b2');
    expect(work.started).toEqual(['a1', 'a2', 'b1']);
    await work.end('b1');
    await work.end('a1');
    expect(work.started).toEqual(['a1', 'a2', 'b1', 'b2', 'a3']);
  });

  it('leave places to other groups, however many parties one has.', async () => {
    const work = new Work({ atOnce: 1, ofParty: 2, ofGroup: 3, lateMs, maxLate: 4 });
    await work.add('one a1', 'one b1', 'one c1', 'one d1', 'one e1');
    await work.wait(lateMs * 10);
    expect(work.started).toEqual(['one a1', 'one b1', 'one c1']);
    await work.add('two a1');
    expect(work.started).toEqual(['one a1', 'one b1', 'one c1', 'two a1']);
    await work.end('one b1');
    await work.wait(lateMs);
    expect(work.started).toEqual(['one a1', 'one b1', 'one c1', 'two a1', 'one d1']);
  });

  it('that are abandoned before they begin are skipped, and later ones are not.', async () => {
    const work = new Work({ atOnce: 1 });
    await work.add('a1', 'a2', 'b1');
    await work.abandon('b1');
    await work.abandon('a1');
    await work.end('a1');
    expect(work.started).toEqual(['a1', 'a2']);
    await work.add('b2');
    await work.end('a2');
    expect(work.started).toEqual(['a1', 'a2', 'b2']);
  });

  it('wait on when they are perhaps awaited and few wait.', async () => {
    const work = new Work({ atOnce: 1 });
    const names = Array.from({ length: 25 }, (_, n) => `a${n}`);
    await work.add(...names);
    const waiting = [];
    for (const name of names.slice(1)) waiting.push(await work.doubt(name));
    expect(waiting.filter((waits) => waits)).toHaveLength(20);
    expect(waiting.slice(0, 4)).toEqual([false, false, false, false]);
  });

  it('that have ended in time are not late afterwards.', async () => {
    const work = new Work({ atOnce: 1, lateMs });
    await work.add('a1', 'b1', 'c1');
    await work.end('a1');
    await work.wait(lateMs - 1);
    expect(work.started).toEqual(['a1', 'b1']);
  });
});
