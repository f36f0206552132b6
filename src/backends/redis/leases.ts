// Leases on lists between processes. Usually no other process writes the list at the same time, and the version check of the
// commit is enough. After it has failed, writers take a short lease and others wait, so that no writer is retried for ever.
import { setTimeout as wait } from 'node:timers/promises';
import { TransactionConflict } from '../../contracts/errors.ts';
import { keyOfList, type ListName } from '../../core/lists/list-key.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { ListHead, ListReads } from './list-reads.ts';

export interface LockedHead {
  readonly head: ListHead;
  /** Whether a lease keeps other processes from the list until the commit or rollback. */
  readonly isLeased: boolean;
}

/** Time after a conflict during which writers take a lease. */
const contentionMs = 5000;
/** Longest wait for another process, after which the unit is retried. */
const patienceMs = 10_000;
/** Longest wait of a unit that has other lists itself, because the wait may be a deadlock. */
const patienceOfHoldersMs = 30;
/** Maximum number of lists remembered as contended; the oldest are forgotten first. */
const maxContended = 10_000;

export class Leases {
  readonly #reads: ListReads;
  /** Mark of this process, whose units take turns among themselves already. */
  readonly #mark: string;
  /** List → when its contention is forgotten, by the monotonic clock. */
  readonly #contended = new Map<ListName, number>();

  constructor(reads: ListReads, mark: string) {
    this.#reads = reads;
    this.#mark = mark;
  }

  /**
   * Reads the head of a list once no other process has a lease on it.
   *
   * @param holdsOthers whether the unit has other lists already
   * @throws TransactionConflict when the lease does not end in time
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

  /** Notes that another process writes the list at the same time. */
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
