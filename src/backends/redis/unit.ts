// A unit of work: what it has read under its turns, what it will write, and nothing on the server before the commit. The
// commit verifies that the lists it took turns on are unchanged, so that no other process can come in between.
import type { Clock } from '../../base/clock.ts';
import type { Transaction } from '../../contracts/database.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { ListDraft } from './list-draft.ts';
import type { Leases } from './leases.ts';
import { PermissionLog } from './permission-log.ts';
import type { Turns } from './turns.ts';

/** Everything a unit wants written, and what it relies on. */
export interface UnitContents {
  readonly drafts: readonly ListDraft[];
  /** Objects that were read without a turn and must still be there. */
  readonly seen: readonly { readonly list: ListKey; readonly id: string }[];
  /** URIs below which all lists are emptied, those of the drafts apart. */
  readonly cascades: readonly string[];
  /** Whether all lists are dropped before the drafts are written. */
  readonly isFlushed: boolean;
  readonly permissions: PermissionLog;
}

/** What units of one database share. */
export interface UnitHost {
  readonly clock: Clock;
  readonly turns: Turns;
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
  readonly #seen = new Map<string, { readonly list: ListKey; readonly id: string }>();
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
      opening = this.#open(name, list, ids);
      this.#drafts.set(name, opening);
      opening.catch(() => this.#drafts.delete(name));
    }
    return opening;
  }

  /** Notes an object that was read without a turn: the commit will fail when it has gone. */
  note(list: ListKey, id: string): void {
    this.#seen.set(`${nameOf(list)}\0${id}`, { list, id });
  }

  /** Empties all lists whose parent is the URI or below it. */
  cascade(uri: string): void {
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
    this.#seen.clear();
  }

  async commit(): Promise<void> {
    this.requireOpen();
    this.#isOpen = false;
    const drafts = this.drafts;
    const { permissions } = this;
    const writes =
      this.#isFlushed || this.#cascades.length > 0 || !permissions.isEmpty || drafts.some(({ isDirty }) => isDirty);
    const seen = [...this.#seen].flatMap(([, each]) => (this.#ready.has(nameOf(each.list)) ? [] : [each]));
    try {
      if (!writes) {
        this.#host.release(drafts);
        return;
      }
      const answer = this.#host.commit({
        drafts,
        seen,
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
    await this.#host.turns.take(name, this);
    this.#turns.add(name);
    if (!this.#isOpen) {
      this.#releaseTurns();
      this.requireOpen();
    }
    let draft: ListDraft;
    if (this.#isFlushed) {
      draft = new ListDraft(list, { clock: undefined, version: '' }, 0);
      draft.empty(this.now);
    } else {
      const { head, isLeased } = await this.#host.leases.lock(list, ids, this.#ready.size > 0);
      draft = new ListDraft(list, head, head.liveCount, isLeased);
      for (const [index, id] of ids.entries()) draft.learn(id, head.entries[index]);
      if (this.#isBelowCascade(list)) draft.empty(this.now);
    }
    this.#ready.set(name, draft);
    return draft;
  }

  #isBelowCascade({ parent }: ListKey): boolean {
    return this.#cascades.some((uri) => isBelow(parent, uri));
  }

  #releaseTurns(): void {
    for (const name of this.#turns) this.#host.turns.release(name, this);
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
