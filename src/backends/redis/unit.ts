// A unit of work: the lists that it has read and locked, and its writes. The server receives nothing before the commit,
// which verifies that no other process has changed the lists of the unit meanwhile.
import type { Clock } from '../../base/clock.ts';
import { InOrder } from '../../base/in-order.ts';
import type { Transaction } from '../../contracts/database.ts';
import { TransactionConflict } from '../../contracts/errors.ts';
import { keyOfList, keyOfObject, type ListName } from '../../core/lists/list-key.ts';
import { unwritten } from '../../core/lists/list-state.ts';
import type { ListKey, StoredObject } from '../../core/objects/stored.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Claim, SharedLocks } from './shared-locks.ts';
import { ListOverlay } from './list-overlay.ts';
import type { Leases } from './leases.ts';
import { compareLocks } from './lock-order.ts';
import { PermissionLog } from './permission-log.ts';
import type { ListQueue } from './list-queue.ts';

/** An object above a list that the unit writes to. */
export interface RequiredObject {
  readonly list: ListKey;
  readonly id: string;
  /** Timestamp that it must have; `undefined`: any. */
  readonly lastModified: number | undefined;
}

/** The writes of a unit, and the conditions of its commit. */
export interface UnitContents {
  readonly overlays: readonly ListOverlay[];
  /** Objects that must exist at the commit, or be as they were read. */
  readonly required: readonly RequiredObject[];
  /** URIs below which all lists are emptied, except those of the overlays. */
  readonly cascades: readonly ObjectUri[];
  /** Whether all lists are deleted before the overlays are written. */
  readonly isFlushed: boolean;
  readonly permissions: PermissionLog;
}

/** The parts that units of one database share. */
export interface UnitHost {
  readonly clock: Clock;
  readonly queue: ListQueue;
  readonly sharedLocks: SharedLocks;
  readonly leases: Leases;
  /** Whether `commit` has sent everything when it returns, so that commands sent later see it. */
  readonly sendsAtOnce: boolean;
  /** Writes the contents of a unit. Resolves when they are known to be written. */
  commit(contents: UnitContents): Promise<void>;
  /** Releases the leases of a unit that writes nothing. */
  release(overlays: readonly ListOverlay[]): void;
  /** Called once when the unit has ended. */
  ended(unit: RedisUnit): void;
}

export class RedisUnit implements Transaction {
  readonly permissions = new PermissionLog();
  readonly #host: UnitHost;
  readonly #overlays = new Map<ListName, Promise<ListOverlay>>();
  readonly #ready = new Map<ListName, ListOverlay>();
  readonly #queued = new Set<ListName>();
  readonly #inOrder = new InOrder();
  /** Turns in the queues of lists, so that two calls for one list wait once. */
  readonly #turns = new Map<ListName, Promise<void>>();
  readonly #required = new Map<string, RequiredObject>();
  #cascades: ObjectUri[] = [];
  #isFlushed = false;
  #isOpen = true;

  constructor(host: UnitHost) {
    this.#host = host;
  }

  belongsTo(host: UnitHost): boolean {
    return this.#host === host;
  }

  get isFlushed(): boolean {
    return this.#isFlushed;
  }

  /** The overlays of the unit, in the order in which they began. */
  get overlays(): readonly ListOverlay[] {
    return [...this.#ready.values()];
  }

  /** Number of overlays. */
  get size(): number {
    return this.#ready.size;
  }

  get now(): number {
    return this.#host.clock.now();
  }

  requireOpen(): void {
    if (!this.#isOpen) throw new Error('the transaction has ended already');
  }

  /** Returns the overlay of a list when it has one, or when committed state would be wrong for the unit. */
  async findOverlay(list: ListKey): Promise<ListOverlay | undefined> {
    this.requireOpen();
    const known = this.#overlays.get(keyOfList(list));
    if (known !== undefined || this.#isFlushed || this.#isBelowCascade(list)) return this.overlay(list);
    return undefined;
  }

  /** Returns the overlay of a list. Waits for the list first, and reads its state and some of its entries. */
  async overlay(list: ListKey, ids: readonly string[] = []): Promise<ListOverlay> {
    this.requireOpen();
    const name = keyOfList(list);
    let opening = this.#overlays.get(name);
    if (opening === undefined) {
      // Lists are queued for in the order of the calls. Otherwise units with the same order of calls could deadlock.
      opening = this.#inOrder.run(Promise.resolve(), () => this.#open(name, list, ids));
      this.#overlays.set(name, opening);
      opening.catch(() => this.#overlays.delete(name));
    }
    return opening;
  }

  /** Resolves when the unit has got or been refused each list requested so far. */
  async listsReady(): Promise<void> {
    if (this.#overlays.size > this.#ready.size) await Promise.allSettled(this.#overlays.values());
  }

  /**
   * Locks an object, so that other units of this process wait before they delete it.
   *
   * @param below a list whose turn the unit waits for too, so that the object seldom changes between its read and the commit
   */
  async lockShared(list: ListKey, id: string, below: ListKey | undefined): Promise<void> {
    this.requireOpen();
    const locking = this.#claim(list, { kind: 'share', list, id });
    if (below === undefined) return locking;
    const turn = this.#inOrder.run(Promise.resolve(), () => this.#takeTurn(keyOfList(below), below));
    await Promise.all([locking, turn]);
  }

  /** Returns the conflict with a process that has changed a list meanwhile. The retry takes a lease on the list. */
  loseOver(list: ListKey): TransactionConflict {
    this.#host.leases.expectContention(list);
    const lists = this.overlays.map((overlay) => overlay.list);
    return new TransactionConflict('another process has changed the list', { lists });
  }

  /**
   * Makes the commit fail when another unit has deleted the object.
   *
   * @param isExact whether it fails also when another unit has changed the object
   */
  relyOn(list: ListKey, { id, lastModified }: StoredObject, isExact: boolean): void {
    const name = keyOfObject(list, id);
    const known = this.#required.get(name)?.lastModified;
    this.#required.set(name, { list, id, lastModified: isExact ? lastModified : known });
  }

  /** Waits for other units of this process that have locked an object, before its deletion. */
  async outlive(list: ListKey, id: string): Promise<void> {
    await this.#claim(list, { kind: 'delete', list, id });
  }

  /** Empties all lists whose parent is the URI or below it. */
  async cascade(uri: ObjectUri): Promise<void> {
    this.requireOpen();
    await this.#claim(undefined, { kind: 'cascade', uri });
    for (const overlay of this.#ready.values()) if (isBelow(overlay.list.parent, uri)) overlay.empty(this.now);
    if (!this.#isFlushed) this.#cascades.push(uri);
  }

  /** Deletes all lists. */
  flush(): void {
    this.requireOpen();
    this.#isFlushed = true;
    this.#cascades = [];
    this.#overlays.clear();
    this.#ready.clear();
    this.#required.clear();
  }

  async commit(): Promise<void> {
    this.requireOpen();
    this.#isOpen = false;
    const overlays = this.overlays;
    const { permissions } = this;
    const writes =
      this.#isFlushed || this.#cascades.length > 0 || !permissions.isEmpty || overlays.some(({ isDirty }) => isDirty);
    try {
      if (!writes) {
        this.#host.release(overlays);
        return;
      }
      this.#passLeasesOn();
      const answer = this.#host.commit({
        overlays,
        required: [...this.#required.values()],
        cascades: this.#cascades,
        isFlushed: this.#isFlushed,
        permissions,
      });
      if (this.#host.sendsAtOnce) this.#releaseLists();
      await answer;
    } finally {
      this.#end();
    }
  }

  async rollback(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#host.release(this.overlays);
    this.#end();
  }

  /** Takes a claim on objects. One that is granted after the end of the unit is released, as nothing else would do it. */
  async #claim(list: ListKey | undefined, claim: Claim): Promise<void> {
    await this.#naming(list, this.#host.sharedLocks.take(claim, this));
    if (this.#isOpen) return;
    this.#host.sharedLocks.release(this);
    this.requireOpen();
  }

  #takeTurn(name: ListName, list: ListKey): Promise<void> {
    let turn = this.#turns.get(name);
    if (turn === undefined) {
      turn = this.#waitForTurn(name, list);
      this.#turns.set(name, turn);
      turn.catch(() => this.#turns.delete(name));
    }
    return turn;
  }

  async #waitForTurn(name: ListName, list: ListKey): Promise<void> {
    const mayWait = this.#isNext(list) || !this.#isContended(list);
    await this.#naming(list, this.#host.queue.take(name, this, mayWait));
    this.#queued.add(name);
    if (this.#isOpen) return;
    this.#releaseLists();
    this.requireOpen();
  }

  async #open(name: ListName, list: ListKey, ids: readonly string[]): Promise<ListOverlay> {
    await this.#takeTurn(name, list);
    // The unit may end meanwhile. The list stays taken until then, so that no unit behind it loses the lease.
    this.#queued.delete(name);
    try {
      this.requireOpen();
      const overlay = await this.#read(list, ids, this.#isNext(list));
      if (!this.#isOpen) this.#host.release([overlay]);
      this.requireOpen();
      this.#ready.set(name, overlay);
      return overlay;
    } finally {
      if (this.#isOpen) this.#queued.add(name);
      else this.#host.queue.release(name, this);
    }
  }

  async #read(list: ListKey, ids: readonly string[], mayWait: boolean): Promise<ListOverlay> {
    if (this.#isFlushed) {
      const overlay = new ListOverlay(list, { ...unwritten, version: '' });
      overlay.empty(this.now);
      return overlay;
    }
    // A deletion in this process that waits for this unit may have the leases that the other process waits for.
    const isWanted = (): boolean => this.#isOpen && !this.#host.sharedLocks.isInTheWay(this);
    const wait = { mayWait, isWanted };
    const { head, isLeased } = await this.#naming(list, this.#host.leases.lock(list, ids, wait));
    const overlay = new ListOverlay(list, head, isLeased);
    for (const [index, id] of ids.entries()) overlay.learn(id, head.entries[index]);
    if (this.#isBelowCascade(list)) overlay.empty(this.now);
    return overlay;
  }

  /** Whether waiting for the list keeps to the order of all units, in which they never wait for each other. */
  #isNext(list: ListKey): boolean {
    for (const overlay of this.#ready.values()) if (compareLocks(overlay.list, list) > 0) return false;
    return true;
  }

  /** Whether other processes may wait for the unit, or make it wait for the list. Their waits are not known here. */
  #isContended(list: ListKey): boolean {
    if (this.#host.leases.isContended(list)) return true;
    for (const { isLeased } of this.#ready.values()) if (isLeased) return true;
    return false;
  }

  #isBelowCascade({ parent }: ListKey): boolean {
    return this.#cascades.some((uri) => isBelow(parent, uri));
  }

  /** Adds the lists of the unit to a conflict, so that the retry locks them in order. */
  async #naming<T>(list: ListKey | undefined, waiting: Promise<T>): Promise<T> {
    try {
      return await waiting;
    } catch (error) {
      if (!(error instanceof TransactionConflict)) throw error;
      const lists = this.overlays.map((overlay) => overlay.list);
      throw new TransactionConflict(error.message, {
        cause: error,
        lists: list === undefined ? lists : [...lists, list],
      });
    }
  }

  /** Keeps leases on lists for which units of this process wait, so that not each of them takes a lease of its own. */
  #passLeasesOn(): void {
    const { leases, queue } = this.#host;
    for (const overlay of this.#ready.values()) {
      if (!overlay.isLeased) continue;
      if (queue.isAwaited(keyOfList(overlay.list)) && leases.isPassedOn(overlay.list)) overlay.isLeased = false;
      else leases.ended(overlay.list);
    }
  }

  #releaseLists(): void {
    this.#host.sharedLocks.release(this);
    for (const name of this.#queued) this.#host.queue.release(name, this);
    this.#queued.clear();
  }

  #end(): void {
    this.#releaseLists();
    this.#host.ended(this);
  }
}

function isBelow(parent: string, uri: ObjectUri): boolean {
  return parent === uri || parent.startsWith(`${uri}/`);
}
