// Rows of lists while several writes are done to them in one go: what they come to is stored once.
import type { ListKey } from '../../core/objects/stored.ts';
import type { Connection } from './connection.ts';
import { findList, insertList, updateList, type CountChange, type ListRow } from './lists.ts';
import { keyOfList } from './read-cache.ts';

export class Drafts {
  readonly #connection: Connection;
  readonly #now: number;
  readonly #drafts = new Map<string, Draft>();

  constructor(connection: Connection, now: number) {
    this.#connection = connection;
    this.#now = now;
  }

  /** The list as the writes so far have left it. */
  of(list: ListKey): Draft {
    const key = keyOfList(list);
    let draft = this.#drafts.get(key);
    if (draft === undefined) {
      draft = new Draft(this.#connection, list, this.#now);
      this.#drafts.set(key, draft);
    }
    return draft;
  }

  /** Stores what has become of the lists. */
  store(): void {
    for (const draft of this.#drafts.values()) draft.store();
  }
}

class Draft {
  readonly #connection: Connection;
  readonly #key: ListKey;
  readonly #now: number;
  #row: ListRow | undefined;
  /** The highest timestamp given by now. */
  #clock: number | undefined;
  #live = 0;
  #dead = 0;

  constructor(connection: Connection, key: ListKey, now: number) {
    this.#connection = connection;
    this.#key = key;
    this.#now = now;
    this.#row = findList(connection, key);
    this.#clock = this.#row?.clock;
  }

  /** The timestamp of the next write; `undefined` where the one asked for is not newer, or none is left. */
  nextTimestamp(asked: number | undefined): number | undefined {
    if (asked !== undefined) return asked > (this.#clock ?? 0) ? asked : undefined;
    const next = this.#clock === undefined ? this.#now : Math.max(this.#now, this.#clock + 1);
    return Number.isSafeInteger(next) ? next : undefined;
  }

  /** Gives the timestamp away; returns the number of the list. */
  advance(timestamp: number): number {
    this.#row ??= insertList(this.#connection, this.#key, timestamp);
    this.#clock = timestamp;
    return this.#row.list;
  }

  /** Notes what a write has done to the counts. */
  count({ live = 0, dead = 0 }: CountChange): void {
    this.#live += live;
    this.#dead += dead;
  }

  store(): void {
    if (this.#row === undefined || this.#clock === undefined) return;
    if (this.#clock === this.#row.clock && this.#live === 0 && this.#dead === 0) return;
    updateList(this.#connection, this.#row.list, this.#clock, { live: this.#live, dead: this.#dead });
  }
}
