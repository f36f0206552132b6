// Leases on lists between processes. Usually no other process writes the list at the same time, and the version check of the
// commit is enough. After it has failed, writers take a short lease and others wait, so that no writer is retried for ever. Units
// wait for each other in the order of lists only (decision 30), so that no wait is a deadlock.
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
/** Longest wait for other processes, after which the unit is retried. */
const patienceMs = 10_000;
/** Longest pause between two questions for a list. The pauses grow, because a busy server answers no question sooner. */
const maxPauseMs = 5;
/** Time for which the units of a process that wait for a list pass its lease on, before another process gets it. */
const turnMs = 20;
/** Maximum number of lists remembered as contended; the oldest are forgotten first. */
const maxContended = 10_000;

/** The wait of a unit for a list. */
export interface LeaseWait {
  /** Whether the unit waits for another process. A wait against the order of lists could be a deadlock. */
  readonly mayWait: boolean;
  /** Whether the unit still needs the list. */
  readonly isWanted: () => boolean;
}

export class Leases {
  readonly #reads: ListReads;
  /** Mark of this process, whose units take turns among themselves already. */
  readonly #mark: string;
  /** List → when its contention is forgotten, by the monotonic clock. */
  readonly #contended = new Map<ListName, number>();
  /** List → since when this process has the lease, by the monotonic clock. */
  readonly #since = new Map<ListName, number>();

  constructor(reads: ListReads, mark: string) {
    this.#reads = reads;
    this.#mark = mark;
  }

  /**
   * Reads the head of a list once no other process has a lease on it.
   *
   * @throws TransactionConflict when the unit may not wait, no longer needs the list, or the lease does not end in time
   */
  async lock(list: ListKey, ids: readonly string[], { mayWait, isWanted }: LeaseWait): Promise<LockedHead> {
    const name = keyOfList(list);
    const deadline = mayWait ? performance.now() + patienceMs : 0;
    for (let refusals = 1; ; refusals++) {
      const isLeased = this.isContended(list) || this.#since.has(name);
      const head = await this.#reads.lock(list, ids, { mark: this.#mark, takes: isLeased, reserves: mayWait });
      if (head !== undefined) {
        if (isLeased && !this.#since.has(name)) this.#since.set(name, performance.now());
        return { head, isLeased };
      }
      this.expectContention(list);
      if (performance.now() > deadline || !isWanted()) throw new TransactionConflict('another process holds the list');
      await wait(Math.min(refusals, maxPauseMs));
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

  /** Returns whether the next unit of this process gets the lease before other processes. */
  isPassedOn(list: ListKey): boolean {
    const since = this.#since.get(keyOfList(list));
    return since !== undefined && performance.now() - since < turnMs;
  }

  /** Notes that this process gives up its lease. */
  ended(list: ListKey): void {
    this.#since.delete(keyOfList(list));
  }

  /** Whether another process wrote the list lately, so that units take leases on it. */
  isContended(list: ListKey): boolean {
    if (this.#contended.size === 0) return false;
    const name = keyOfList(list);
    const until = this.#contended.get(name);
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    this.#contended.delete(name);
    return false;
  }
}
