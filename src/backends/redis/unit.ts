// A unit of work: what it has read under its turns, what it will write, and nothing on the server before the commit. The
// commit verifies that the lists it took turns on are unchanged, so that no other process can come in between.
import type { Clock } from '../../base/clock.ts';
import { InOrder } from '../../base/in-order.ts';
import type { Transaction } from '../../contracts/database.ts';
import { TransactionConflict } from '../../contracts/errors.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { SharedLocks } from './shared-locks.ts';
import { ListDraft } from './list-draft.ts';
import type { Leases } from './leases.ts';
import { PermissionLog } from './permission-log.ts';
import type { ListQueue } from './list-queue.ts';

/** Everything a unit wants written, and what it relies on. */
export interface UnitContents {
  readonly drafts: readonly ListDraft[];
  /** Objects that must still be there. */
  readonly held: readonly { readonly list: ListKey; readonly id: string }[];
  /** URIs below which all lists are emptied, those of the drafts apart. */
  readonly cascades: readonly string[];
  /** Whether all lists are dropped before the drafts are written. */
  readonly isFlushed: boolean;
  readonly permissions: PermissionLog;
}

/** What units of one database share. */
export interface UnitHost {
  readonly clock: Clock;
  readonly queue: ListQueue;
  readonly sharedLocks: SharedLocks;
  readonly leases: Leases;
  /** Whether `commit` has sent everything when it returns, so that what is sent later sees it. */
  readonly sendsAtOnce: boolean;
  /** Makes the writes of a unit happen; resolves when they are known to. */
  commit(contents: UnitContents): Promise<void>;
  /** Lets go of what a unit held that writes nothing. */
  release(drafts: readonly ListDraft[]): void;
  /** Called once when the unit has ended. */
  ended(unit: RedisUnit): void;
}

export class RedisUnit implements Transaction {
  readonly permissions = new PermissionLog();
  readonly #host: UnitHost;
  readonly #drafts = new Map<string, Promise<ListDraft>>();
  readonly #ready = new Map<string, ListDraft>();
  readonly #turns = new Set<string>();
  readonly #inOrder = new InOrder();
  readonly #held = new Map<string, { readonly list: ListKey; readonly id: string }>();
  #cascades: string[] = [];
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

  /** The drafts there are, in the order they began. */
  get drafts(): readonly ListDraft[] {
    return [...this.#ready.values()];
  }

  get now(): number {
    return this.#host.clock.now();
  }

  requireOpen(): void {
    if (!this.#isOpen) throw new Error('the transaction has ended already');
  }

  /** The draft of a list, when there is one, or when the list cannot be read without. */
  async findDraft(list: ListKey): Promise<ListDraft | undefined> {
    this.requireOpen();
    const known = this.#drafts.get(nameOf(list));
    if (known !== undefined || this.#isFlushed || this.#isBelowCascade(list)) return this.draft(list);
    return undefined;
  }

  /** Takes the turn on a list, and reads its clock and some of its entries. */
  async draft(list: ListKey, ids: readonly string[] = []): Promise<ListDraft> {
    this.requireOpen();
    const name = nameOf(list);
    let opening = this.#drafts.get(name);
    if (opening === undefined) {
      // Turns are taken in the order in which they are asked for, or units that ask in one order could wait in a circle.
      opening = this.#inOrder.run(Promise.resolve(), () => this.#open(name, list, ids));
      this.#drafts.set(name, opening);
      opening.catch(() => this.#drafts.delete(name));
    }
    return opening;
  }

  /** Resolves when the turns asked for so far have been taken, or refused. */
  async turnsTaken(): Promise<void> {
    if (this.#drafts.size > this.#ready.size) await Promise.allSettled(this.#drafts.values());
  }

  /** Keeps an object from being deleted by other units of this process, which wait. */
  async lockShared(list: ListKey, id: string): Promise<void> {
    this.requireOpen();
    await this.#naming(list, this.#host.sharedLocks.take({ kind: 'hold', list, id }, this));
  }

  /** The lost race over a list that another process has changed meanwhile; the next attempt keeps it out. */
  loseOver(list: ListKey): TransactionConflict {
    this.#host.leases.expectContention(list);
    const lists = this.drafts.map((draft) => draft.list);
    return new TransactionConflict('another process has changed the list', { lists });
  }

  /** Lets the commit fail when another process has deleted the object. */
  relyOn(list: ListKey, id: string): void {
    this.#held.set(`${nameOf(list)}\0${id}`, { list, id });
  }

  /** Waits for the units of this process that hold an object which is to be deleted. */
  async outlive(list: ListKey, id: string): Promise<void> {
    await this.#naming(list, this.#host.sharedLocks.take({ kind: 'delete', list, id }, this));
    this.requireOpen();
  }

  /** Empties all lists whose parent is the URI or below it. */
  async cascade(uri: string): Promise<void> {
    this.requireOpen();
    await this.#naming(undefined, this.#host.sharedLocks.take({ kind: 'cascade', uri }, this));
    this.requireOpen();
    for (const draft of this.#ready.values()) if (isBelow(draft.list.parent, uri)) draft.empty(this.now);
    if (!this.#isFlushed) this.#cascades.push(uri);
  }

  /** Forgets all lists. */
  flush(): void {
    this.requireOpen();
    this.#isFlushed = true;
    this.#cascades = [];
    this.#drafts.clear();
    this.#ready.clear();
    this.#held.clear();
  }

  async commit(): Promise<void> {
    this.requireOpen();
    this.#isOpen = false;
    const drafts = this.drafts;
    const { permissions } = this;
    const writes =
      this.#isFlushed || this.#cascades.length > 0 || !permissions.isEmpty || drafts.some(({ isDirty }) => isDirty);
    // Those of lists that have a draft are the unit's own to change, or unchanged as their list is.
    const held = [...this.#held.values()].filter(({ list }) => !this.#ready.has(nameOf(list)));
    try {
      if (!writes) {
        this.#host.release(drafts);
        return;
      }
      const answer = this.#host.commit({
        drafts,
        held,
        cascades: this.#cascades,
        isFlushed: this.#isFlushed,
        permissions,
      });
      if (this.#host.sendsAtOnce) this.#releaseTurns();
      await answer;
    } finally {
      this.#end();
    }
  }

  async rollback(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#host.release(this.drafts);
    this.#end();
  }

  async #open(name: string, list: ListKey, ids: readonly string[]): Promise<ListDraft> {
    await this.#naming(list, this.#host.queue.take(name, this));
    this.#turns.add(name);
    if (!this.#isOpen) {
      this.#releaseTurns();
      this.requireOpen();
    }
    let draft: ListDraft;
    if (this.#isFlushed) {
      draft = new ListDraft(list, { clock: undefined, version: '', horizon: 0, liveCount: 0, deadCount: 0 });
      draft.empty(this.now);
    } else {
      const { head, isLeased } = await this.#naming(list, this.#host.leases.lock(list, ids, this.#ready.size > 0));
      draft = new ListDraft(list, head, isLeased);
      for (const [index, id] of ids.entries()) draft.learn(id, head.entries[index]);
      if (this.#isBelowCascade(list)) draft.empty(this.now);
    }
    this.#ready.set(name, draft);
    return draft;
  }

  #isBelowCascade({ parent }: ListKey): boolean {
    return this.#cascades.some((uri) => isBelow(parent, uri));
  }

  /** Lets a lost race say over which lists, so that the next attempt takes them in order. */
  async #naming<T>(list: ListKey | undefined, waiting: Promise<T>): Promise<T> {
    try {
      return await waiting;
    } catch (error) {
      if (!(error instanceof TransactionConflict)) throw error;
      const lists = this.drafts.map((draft) => draft.list);
      throw new TransactionConflict(error.message, {
        cause: error,
        lists: list === undefined ? lists : [...lists, list],
      });
    }
  }

  #releaseTurns(): void {
    this.#host.sharedLocks.release(this);
    for (const name of this.#turns) this.#host.queue.release(name, this);
    this.#turns.clear();
  }

  #end(): void {
    this.#releaseTurns();
    this.#host.ended(this);
  }
}

function isBelow(parent: string, uri: string): boolean {
  return parent === uri || parent.startsWith(`${uri}/`);
}

function nameOf({ kind, parent }: ListKey): string {
  return `${kind}\0${parent}`;
}
