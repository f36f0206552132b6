// Reads of lists with long texts. The length of a reply is not known before it arrives, and the replies of many reads may
// arrive together. So a read takes a limited length at once. One that needs more starts again when its turn comes.
import { FairTurns } from '../../base/fair-turns.ts';
import type { Requester } from '../../contracts/requester.ts';
import { charsOf, type StoredEntry } from '../../core/objects/stored.ts';

/** Number of bytes that a read takes without a turn. */
const shortBytes = 1_000_000;
/**
 * Maximum length of the texts of a reply in bytes, except for a single text. The reader asks again for the rest. A page of the
 * default maximum size comes in one reply, so that it needs no second one if the list is written all the time.
 */
const maxReplyBytes = 12_000_000;
/**
 * Turns at the same time: one reads while the other one prepares what it has read. Parties share the turns, and a read that takes
 * long makes room for others.
 */
const longReads = { atOnce: 2, ofParty: 2, ofGroup: 3, lateMs: 500, maxLate: 2 };

/** The limit of the next reply. */
export interface ReplyLimit {
  readonly bytes: number;
  /** Whether the first text comes even if it is longer. */
  readonly isFirstKept: boolean;
}

/** The length of the texts that a read may take. */
export interface Allowance {
  /**
   * Returns the limit of the next reply.
   *
   * @throws ReadIsLong
   */
  next(): ReplyLimit;
  /** Counts what a reply has brought, given whether it left texts out. */
  take(entries: readonly StoredEntry[], isCut: boolean): void;
}

/** The read needs a turn. */
export class ReadIsLong extends Error {}

const ofTurn: ReplyLimit = { bytes: maxReplyBytes, isFirstKept: true };

/** The allowance of reads that have a turn, or read what their request has reserved memory for. */
export const unlimited: Allowance = { next: () => ofTurn, take: () => {} };

class ShortAllowance implements Allowance {
  #bytes = shortBytes;

  next(): ReplyLimit {
    if (this.#bytes <= 0) throw new ReadIsLong();
    return { bytes: this.#bytes, isFirstKept: false };
  }

  take(entries: readonly StoredEntry[], isCut: boolean): void {
    if (isCut) this.#bytes = 0;
    for (const entry of entries) this.#bytes -= charsOf(entry);
  }
}

export class LongReads {
  readonly #turns = new FairTurns(longReads);

  /** Runs a read, and again in a turn when it is long. */
  async run<T>(requester: Requester, read: (allowance: Allowance) => Promise<T>): Promise<T> {
    try {
      return await read(new ShortAllowance());
    } catch (error) {
      if (!(error instanceof ReadIsLong)) throw error;
      return this.#turns.run(requester, () => read(unlimited));
    }
  }
}
