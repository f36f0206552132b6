// Reads that scan long lists take turns, and delay no other reads.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Result } from '../../../src/backends/postgresql/connection.ts';
import { charsOf, LongReads } from '../../../src/backends/postgresql/long-reads.ts';

let time = 0;
beforeEach(() => {
  time = 0;
});

/** A read that ends when the test says so, with a given duration. */
class Read {
  isUnderWay = false;
  #finish: (result: Result | Error) => void = () => {};
  readonly #end = new Promise<Result>((resolve, reject) => {
    this.#finish = (result): void => {
      if (result instanceof Error) reject(result);
      else resolve(result);
    };
  });

  readonly run = (): Promise<Result> => {
    this.isUnderWay = true;
    return this.#end;
  };

  end(milliseconds: number, text = 'row'): void {
    time += milliseconds;
    this.#finish({ rows: [[null, text]], count: 1, command: 'SELECT' });
  }

  fail(milliseconds: number): void {
    time += milliseconds;
    this.#finish(new Error('no rows'));
  }
}

function begin(
  reads: LongReads,
  list: string,
  count: number,
  { party, isSmall }: { readonly party?: string; readonly isSmall?: () => Promise<boolean> } = {},
): { read: Read; answer: Promise<Result> }[] {
  return Array.from({ length: count }, () => {
    const read = new Read();
    return { read, answer: reads.run({ list, requester: { party }, isSmall }, read.run, charsOf) };
  });
}

/** Makes a list known as long. */
async function takeLong(reads: LongReads, list: string): Promise<void> {
  const [only] = begin(reads, list, 1);
  await settle();
  only!.read.end(50);
  await only!.answer;
}

const underWay = (begun: { read: Read }[]): readonly boolean[] => begun.map(({ read }) => read.isUnderWay);

/** Lets all pending microtasks and timers run. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

describe('reads of long lists', () => {
  it('run at the same time when the list is known as short', async () => {
    const reads = new LongReads({ atOnce: 2, longMs: 50, now: () => time });
    const [only] = begin(reads, 'a', 1);
    await settle();
    only!.read.end(49);
    await only!.answer;
    const begun = begin(reads, 'a', 4);
    await settle();
    expect(underWay(begun)).toEqual([true, true, true, true]);
  });

  it('are few at the same time when the list was short, and take turns once one of them was long', async () => {
    const reads = new LongReads({ atOnce: 1, longMs: 50, now: () => time });
    const [only] = begin(reads, 'a', 1);
    await settle();
    only!.read.end(1);
    await only!.answer;
    const begun = begin(reads, 'a', 20);
    await settle();
    expect(underWay(begun).filter(Boolean)).toHaveLength(8);
    for (const { read } of begun.slice(0, 8)) read.end(1, 'x'.repeat(300_000));
    await settle();
    await settle();
    expect(underWay(begun).filter(Boolean)).toHaveLength(9);
  });

  it('of unknown lists take turns of their own', async () => {
    const reads = new LongReads({ atOnce: 2, longMs: 50, now: () => time });
    await takeLong(reads, 'a');
    begin(reads, 'a', 4);
    const begun = [...begin(reads, 'b', 1), ...begin(reads, 'c', 1), ...begin(reads, 'd', 1)];
    await settle();
    expect(underWay(begun)).toEqual([true, true, false]);
    begun[0]!.read.end(5);
    await begun[0]!.answer;
    await settle();
    expect(underWay(begun)).toEqual([true, true, true]);
  });

  it('join the reads of long lists when one of them was long', async () => {
    const reads = new LongReads({ atOnce: 1, longMs: 50, now: () => time });
    const begun = begin(reads, 'a', 3);
    await settle();
    begun[0]!.read.end(50);
    await begun[0]!.answer;
    const [other] = begin(reads, 'b', 1);
    await settle();
    expect(underWay(begun)).toEqual([true, true, false]);
    expect(other!.read.isUnderWay).toBe(true);
    const [later] = begin(reads, 'a', 1);
    await settle();
    expect(later!.read.isUnderWay).toBe(false);
  });

  it('take turns in the order of the calls, once the list is known as long', async () => {
    const reads = new LongReads({ atOnce: 2, longMs: 50, now: () => time });
    await takeLong(reads, 'a');
    const begun = begin(reads, 'a', 4);
    await settle();
    expect(underWay(begun)).toEqual([true, true, false, false]);
    begun[1]!.read.end(60);
    expect(await begun[1]!.answer).toMatchObject({ rows: [[null, 'row']] });
    await settle();
    expect(underWay(begun)).toEqual([true, true, true, false]);
    for (const { read } of begun) read.end(60);
    await settle();
    expect(underWay(begun)).toEqual([true, true, true, true]);
    expect(await Promise.all(begun.map(({ answer }) => answer))).toHaveLength(4);
  });

  it('stop taking turns when the list has become short', async () => {
    const reads = new LongReads({ atOnce: 1, longMs: 50, now: () => time });
    await takeLong(reads, 'a');
    const [last] = begin(reads, 'a', 1);
    await settle();
    last!.read.end(5);
    await last!.answer;
    const begun = begin(reads, 'a', 3);
    await settle();
    expect(underWay(begun)).toEqual([true, true, true]);
  });

  it('go on taking turns when that is what makes them faster', async () => {
    const reads = new LongReads({ atOnce: 1, longMs: 50, now: () => time });
    await takeLong(reads, 'a');
    const [last] = begin(reads, 'a', 1);
    await settle();
    last!.read.end(40);
    await last!.answer;
    const begun = begin(reads, 'a', 3);
    await settle();
    expect(underWay(begun)).toEqual([true, false, false]);
  });

  it('of small lists take no turns, however long they wait for the server', async () => {
    const reads = new LongReads({ atOnce: 1, longMs: 50, now: () => time });
    const asked: string[] = [];
    const sizes = (list: string, isSmall: boolean) => ({
      isSmall: () => {
        asked.push(list);
        return Promise.resolve(isSmall);
      },
    });
    for (const [list, isSmall] of [
      ['small', true],
      ['large', false],
    ] as const) {
      const [only] = begin(reads, list, 1, sizes(list, isSmall));
      await settle();
      only!.read.end(5000);
      await only!.answer;
      await settle();
      const begun = begin(reads, list, 3, sizes(list, isSmall));
      await settle();
      expect([list, ...underWay(begun)]).toEqual([list, true, isSmall, isSmall]);
      for (const { read, answer } of begun) {
        await settle();
        read.end(1);
        await answer;
      }
    }
    expect(asked).toEqual(['small', 'large']);
  });

  it('of small lists take turns when their size cannot be asked', async () => {
    const reads = new LongReads({ atOnce: 1, longMs: 50, now: () => time });
    const isSmall = (): Promise<boolean> => Promise.reject(new Error('no answer'));
    const [only] = begin(reads, 'a', 1, { isSmall });
    await settle();
    only!.read.end(5000);
    await only!.answer;
    await settle();
    const begun = begin(reads, 'a', 2, { isSmall });
    await settle();
    expect(underWay(begun)).toEqual([true, false]);
  });

  it('take turns when their results are long, however fast they were', async () => {
    const reads = new LongReads({ atOnce: 1, longMs: 50, now: () => time });
    const [only] = begin(reads, 'a', 1);
    await settle();
    only!.read.end(1, 'x'.repeat(300_000));
    await only!.answer;
    const begun = begin(reads, 'a', 3);
    await settle();
    expect(underWay(begun)).toEqual([true, false, false]);
  });

  it('pass their turn on when they fail', async () => {
    const reads = new LongReads({ atOnce: 1, longMs: 50, now: () => time });
    await takeLong(reads, 'a');
    const [first, second] = begin(reads, 'a', 2);
    first!.read.fail(60);
    await expect(first!.answer).rejects.toThrow('no rows');
    await settle();
    expect(second!.read.isUnderWay).toBe(true);
    second!.read.end(60);
    expect(await second!.answer).toMatchObject({ rows: [[null, 'row']] });
    // The failed read has released its turn.
    const [third] = begin(reads, 'a', 1);
    await settle();
    expect(third!.read.isUnderWay).toBe(true);
  });

  it('take no turns when the number is unlimited', async () => {
    const reads = new LongReads({ atOnce: 0, longMs: 50, now: () => time });
    await takeLong(reads, 'a');
    const begun = begin(reads, 'a', 5);
    await settle();
    expect(underWay(begun)).toEqual([true, true, true, true, true]);
  });
});
