// Work that lost a race in the database is run again from its start. This remembers over which lists it did, so that the
// next attempt takes these in order before all others and cannot lose over them again, and knows when to give up.
import { setTimeout as wait } from 'node:timers/promises';
import { TransactionConflict } from '../contracts/errors.ts';
import type { ListKey } from '../core/objects/stored.ts';

const maxAttempts = 8;

export class Retry {
  #attempt = 1;
  #isFirst = true;
  #contended: readonly ListKey[] = [];

  /** The attempt that is under way, from 1. One that only learned of another list is not counted. */
  get attempt(): number {
    return this.#attempt;
  }

  /** Whether nothing was lost so far. */
  get isFirst(): boolean {
    return this.#isFirst;
  }

  /** What the next session is to lock before all others. */
  get contended(): readonly ListKey[] {
    return this.#contended;
  }

  /** Takes note of how an attempt failed; answers whether there is to be another one. */
  isLost(error: unknown): boolean {
    if (!(error instanceof TransactionConflict) || this.#attempt === maxAttempts) return false;
    this.#isFirst = false;
    const known = this.#contended.length;
    this.#contended = union(this.#contended, error.lists);
    // A unit of work can only touch so many lists, so this comes to an end.
    if (this.#contended.length === known) this.#attempt++;
    return true;
  }

  /** Waits, longer and more random each time, so that the parties to a race do not meet again. */
  pause(): Promise<void> {
    return wait(Math.random() * 2 ** this.#attempt);
  }
}

/** What an attempt lost over may be the first of many lists that an earlier one has learned about. */
function union(known: readonly ListKey[], added: readonly ListKey[]): readonly ListKey[] {
  return [...known, ...added.filter((a) => !known.some((b) => a.parent === b.parent && a.kind === b.kind))];
}
