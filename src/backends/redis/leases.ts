// Turns between processes. Usually nobody else writes the same list at the same time and the version check of the commit is
// enough. Where it has failed, writers take the list for a moment and others wait, so that every attempt gets somewhere.
import { setTimeout as wait } from 'node:timers/promises';
import { TransactionConflict } from '../../contracts/errors.ts';
import { keyOfList } from '../../core/lists/list-key.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { ListHead, ListReads } from './list-reads.ts';

export interface LockedHead {
  readonly head: ListHead;
  /** Whether others are kept away until the commit, or the rollback. */
  readonly isLeased: boolean;
}

/** For how long writers keep asking for a lease after a conflict. */
const contentionMs = 5000;
/** Longest wait for others, after which the unit may start anew. */
const patienceMs = 10_000;
/** Longest wait of a unit that keeps others waiting itself: they may be waiting for each other. */
const patienceOfHoldersMs = 30;
/** Most lists remembered as contended; the oldest are forgotten first. */
const maxContended = 10_000;

export class Leases {
  readonly #reads: ListReads;
  /** Of this process: its units take turns among themselves already. */
  readonly #mark: string;
  /** List → when its contention is forgotten, by the monotonic clock. */
  readonly #contended = new Map<string, number>();

  constructor(reads: ListReads, mark: string) {
    this.#reads = reads;
    this.#mark = mark;
  }

  /**
   * Reads the head of a list once no other process holds it.
   *
   * @param holdsOthers whether the unit has taken other lists before
   * @throws TransactionConflict when others do not let go of it
   */
  async lock(list: ListKey, ids: readonly string[], holdsOthers: boolean): Promise<LockedHead> {
    const deadline = performance.now() + (holdsOthers ? patienceOfHoldersMs * (0.5 + Math.random()) : patienceMs);
    for (;;) {
      const isLeased = this.#isContended(list);
      const head = await this.#reads.lock(list, ids, this.#mark, isLeased);
      if (head !== undefined) return { head, isLeased };
      this.expectContention(list);
      if (performance.now() > deadline) throw new TransactionConflict('another process holds the list');
      await wait(1 + Math.random() * 2);
    }
  }

  /** Says that another process writes the list at the same time. */
  expectContention(list: ListKey): void {
    const name = keyOfList(list);
    this.#contended.delete(name);
    this.#contended.set(name, performance.now() + contentionMs);
    if (this.#contended.size <= maxContended) return;
    for (const oldest of this.#contended.keys()) {
      this.#contended.delete(oldest);
      return;
    }
  }

  #isContended(list: ListKey): boolean {
    if (this.#contended.size === 0) return false;
    const name = keyOfList(list);
    const until = this.#contended.get(name);
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    this.#contended.delete(name);
    return false;
  }
}
