// Limits reads for which the server scans a whole list, and reads of long pages. Each of them keeps a connection and some of
// the processors of both sides busy, so a few clients could leave nothing to others. Such reads take turns. Reads of lists
// whose length is not known yet take turns of their own. Parties share the turns.
import { FairTurns } from '../../base/fair-turns.ts';
import type { Requester } from '../../contracts/requester.ts';
import type { Result } from './connection.ts';

/**
 * Maximum number of reads of short lists at the same time. A list that was short may have become long: then so many reads find
 * out together, and each of them holds a page.
 */
const shortAtOnce = 8;
/**
 * Milliseconds from which a read makes room for those of other parties: the server stops it only after
 * `postgresql_statement_timeout_seconds`.
 */
const lateMs = 500;
/**
 * Maximum number of reads that have made room. Each of them keeps a connection. A party has one more read in progress than there
 * are places, so that its own next read is not stopped by a single slow one.
 */
const maxLate = 4;
/** Maximum number of reads of one network in progress, so that those of another one begin after `lateMs` at the latest. */
const ofGroup = 3;
/** Maximum number of lists whose length is remembered. */
const maxKnown = 10_000;
/**
 * Part of `longMs` below which a list that was long is short. Reads that take turns are faster than those at the same time, so
 * with one limit a list would be long and short by turns.
 */
const shortPart = 1 / 4;
/** Length of a result, in characters, from which a read is long however fast it was. */
const longChars = 262_144;

export interface LongReadsOptions {
  /** Maximum number of reads at the same time; 0 means unlimited. */
  readonly atOnce: number;
  /** Duration from which a read is long, in milliseconds, unless it was long before. */
  readonly longMs: number;
  /** Returns the milliseconds since a fixed moment. */
  readonly now?: () => number;
}

export interface ReadOfList {
  /** Unique name of the list. */
  readonly list: string;
  readonly requester: Requester;
  /** Whether the list is so small that its reads are short whatever they took; absent: it is never asked. */
  readonly isSmall?: (() => Promise<boolean>) | undefined;
}

export class LongReads {
  readonly #now: () => number;
  readonly #longMs: number;
  /** Whether a list is long, by name; lists that were read last stand at the end. */
  readonly #known = new Map<string, boolean>();
  /** Lists whose size is being asked. */
  readonly #asking = new Set<string>();
  readonly #ofLong: FairTurns;
  readonly #ofUnknown: FairTurns;
  readonly #ofShort: FairTurns;

  constructor({ atOnce, longMs, now = (): number => performance.now() }: LongReadsOptions) {
    this.#now = now;
    this.#longMs = longMs;
    const limit = {
      atOnce: atOnce === 0 ? Infinity : atOnce,
      ofParty: atOnce === 0 ? Infinity : atOnce + 1,
      ofGroup: atOnce === 0 ? Infinity : Math.max(ofGroup, atOnce + 1),
      lateMs,
      maxLate,
      now,
    };
    this.#ofLong = new FairTurns(limit);
    this.#ofUnknown = new FairTurns(limit);
    this.#ofShort = new FairTurns({
      ...limit,
      atOnce: Math.max(limit.atOnce, shortAtOnce),
      ofParty: Infinity,
      ofGroup: Infinity,
    });
  }

  /**
   * Runs a read of the list when its turn comes.
   *
   * @param sizeOf returns the length of a result in characters
   */
  async run<T extends object>(of: ReadOfList, read: () => Promise<T>, sizeOf: (result: T) => number): Promise<T> {
    const { list, requester } = of;
    const isLong = this.#known.get(list);
    const turns = isLong === undefined ? this.#ofUnknown : isLong ? this.#ofLong : this.#ofShort;
    // While this read waited, one before it may have found out that the list is short, or long.
    const isStill = (): boolean => isLong === true || this.#known.get(list) === isLong;
    const result = await turns.run(requester, async () => (isStill() ? this.#measure(of, read, sizeOf) : undefined));
    return result ?? this.run(of, read, sizeOf);
  }

  async #measure<T>(of: ReadOfList, read: () => Promise<T>, sizeOf: (result: T) => number): Promise<T> {
    const began = this.#now();
    // A list whose read failed counts as long until another read shows the opposite.
    let isShort = false;
    try {
      const result = await read();
      isShort = sizeOf(result) < longChars;
      return result;
    } finally {
      const ms = this.#now() - began;
      const fromMs = this.#known.get(of.list) === true ? this.#longMs * shortPart : this.#longMs;
      if (ms < fromMs || !isShort || of.isSmall === undefined) this.#note(of.list, ms >= fromMs || !isShort);
      else void this.#askSize(of.list, of.isSmall);
    }
  }

  /** Finds out why a read with a short result took long: it had to read much, or waited for others at the server or here. */
  async #askSize(list: string, isSmall: () => Promise<boolean>): Promise<void> {
    if (this.#asking.has(list)) return;
    this.#asking.add(list);
    try {
      this.#note(list, !(await isSmall()));
    } catch {
      this.#note(list, true);
    } finally {
      this.#asking.delete(list);
    }
  }

  #note(list: string, isLong: boolean): void {
    this.#known.delete(list);
    this.#known.set(list, isLong);
    if (this.#known.size <= maxKnown) return;
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest!);
  }
}

/** Returns the length of all texts of a result. */
export function charsOf({ rows }: Result): number {
  let chars = 0;
  for (const row of rows) for (const value of row) chars += value?.length ?? 0;
  return chars;
}
