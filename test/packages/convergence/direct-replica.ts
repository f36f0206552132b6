// A copy that an application keeps with `@coffer/client` alone: it follows the list, and sends its edits from a queue.
import { CofferError, isRemoval, type Change, type Stored } from '@coffer/client';
import { decide, type Content, type Field, type Item, type Replica, type Setting } from './replica.ts';

interface Edit {
  readonly id: string;
  /** The attribute that changes; absent for a deletion. */
  readonly change: Partial<Item> | undefined;
  /** The record before the edit. */
  readonly base: Item | undefined;
  /** Its timestamp; absent when an earlier edit of the queue will change it. */
  readonly revision: number | undefined;
  readonly isFirst: boolean;
  /** Whether it was sent before. */
  repeated: boolean;
}

export class DirectReplica implements Replica {
  readonly #setting: Setting;
  readonly #queue: Edit[] = [];
  /** The latest known states by id, with tombstones. */
  readonly #states = new Map<string, Change<Item>>();
  #cursor: string | undefined;
  #following = new AbortController();
  #sending: Promise<void> | undefined;

  constructor(setting: Setting) {
    this.#setting = setting;
    void this.#follow();
  }

  async set(id: string, field: Field, value: number): Promise<boolean> {
    this.#add(id, { [field]: value });
    return true;
  }

  async remove(id: string): Promise<boolean> {
    const exists = this.#shown(id) !== undefined;
    if (exists) this.#add(id, undefined);
    return exists;
  }

  async online(isOnline: boolean): Promise<void> {
    this.#setting.network.isOnline = isOnline;
    if (isOnline) void this.#send();
  }

  /** The copy and the queue survive, as in a store of the application. */
  async restart(): Promise<void> {
    this.#following.abort();
    this.#following = new AbortController();
    void this.#follow();
  }

  async settle(): Promise<boolean> {
    await this.#send();
    return this.#queue.length === 0;
  }

  async content(): Promise<Content> {
    return new Map([...this.#states.values()].flatMap((state) => (isRemoval(state) ? [] : [[state.id, state]])));
  }

  async close(): Promise<void> {
    this.#following.abort();
    await this.#sending;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#following;
    const begin = this.#cursor === undefined ? { signal } : { signal, since: this.#cursor };
    for await (const { changes, cursor, resync } of this.#setting.list.live(begin)) {
      if (signal.aborted) return;
      if (resync !== undefined) this.#states.clear();
      for (const change of changes) this.#receive(change);
      this.#cursor = cursor;
    }
  }

  #receive(state: Change<Item>): void {
    if ((this.#states.get(state.id)?.last_modified ?? 0) <= state.last_modified) this.#states.set(state.id, state);
  }

  #stored(id: string): Stored<Item> | undefined {
    const state = this.#states.get(id);
    return state === undefined || isRemoval(state) ? undefined : state;
  }

  #shown(id: string): Item | undefined {
    let shown: Item | undefined = this.#stored(id);
    for (const { change } of this.#queue.filter((edit) => edit.id === id)) shown = apply(shown, id, change);
    return shown;
  }

  #add(id: string, change: Partial<Item> | undefined): void {
    const isFirst = this.#queue.every((edit) => edit.id !== id);
    const revision = this.#stored(id)?.last_modified;
    this.#queue.push({ id, change, base: this.#shown(id), revision, isFirst, repeated: false });
    void this.#send();
  }

  /** Sends the queue until a request fails. */
  async #send(): Promise<void> {
    await (this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    }));
  }

  async #sendAll(): Promise<void> {
    for (let edit = this.#queue[0]; edit !== undefined; edit = this.#queue[0]) {
      try {
        const stored = await this.#begin(edit);
        if (stored !== undefined) this.#receive(stored);
        if (stored !== undefined && !isRemoval(stored)) this.#setting.confirmed(stored);
      } catch (error) {
        if (!(error instanceof CofferError) || (error.kind === 'http' && error.status < 500)) throw error;
        edit.repeated = true;
        return;
      }
      this.#queue.shift();
    }
  }

  /** Returns the state after the edit, or after a conflict; `undefined` if there is no record. */
  async #begin(edit: Edit): Promise<Change<Item> | undefined> {
    const { id, isFirst, change, base } = edit;
    if (isFirst) return this.#write(edit, apply(base, id, change), edit.revision);
    // The earlier edits may have ended in conflicts.
    const stored = this.#stored(id);
    if (base === undefined || stored !== undefined)
      return this.#write(edit, apply(stored, id, change), stored?.last_modified);
    const resolved = this.#resolve(edit, apply(base, id, change), undefined);
    return resolved === 'server' ? undefined : this.#write(edit, resolved, undefined);
  }

  async #write(edit: Edit, next: Item | undefined, revision: number | undefined): Promise<Change<Item> | undefined> {
    const { list } = this.#setting;
    const { id, repeated } = edit;
    const condition = revision === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: revision };
    try {
      if (next !== undefined) return await list.put(id, next, { ...condition, repeated });
      return revision === undefined ? undefined : await list.delete(id, { ifMatch: revision, repeated });
    } catch (error) {
      if (!(error instanceof CofferError) || (error.status !== 412 && error.errno !== 110)) throw error;
      const existing = error.existing as Stored<Item> | undefined;
      const resolved = this.#resolve(edit, next, existing);
      // Others may have been faster again.
      if (resolved === 'server') return existing;
      return this.#write({ ...edit, repeated: false }, resolved, existing?.last_modified);
    }
  }

  #resolve({ id, change }: Edit, next: Item | undefined, existing: Item | undefined): Item | undefined | 'server' {
    const { strategy } = this.#setting;
    if (strategy === 'merge') return existing && change ? apply(existing, id, change) : 'server';
    const chosen = strategy === 'manual' ? decide(next ?? existing ?? { a: 0, b: 0 }) : strategy;
    return chosen === 'client' ? next : 'server';
  }
}

function apply(item: Item | undefined, id: string, change: Partial<Item> | undefined): Item | undefined {
  if (change === undefined) return undefined;
  const { a, b } = { a: 0, b: 0, ...item, ...change };
  return { id, a, b };
}
