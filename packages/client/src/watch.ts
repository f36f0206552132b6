// One followed list: how far it is, and the updates that wait for its consumer.
import { formatQuery } from './listing.ts';
import type { Gone, LiveOptions, LiveUpdate, ResyncReason, Stored, Tombstone } from './types.ts';
import { bareOf } from './values.ts';

type Item = Stored<object> | Tombstone | Gone;
type Update = LiveUpdate<Stored<object>>;

export class Watch {
  readonly path: string;
  /** Where the next connection continues. */
  cursor: string;
  /** Whether updates were left out, because the consumer takes none. */
  isStalled = false;
  isClosed = false;
  /** Number of refusals since something arrived. */
  refusals = 0;
  /** Whether everything up to the cursor was received. */
  isCurrent = false;
  /** Whether the consumer has a part of a copy that cannot be resumed. */
  #hasPart: boolean;
  #error: Error | undefined;
  #waiting: Update[] = [];
  readonly #query: Parameters<typeof formatQuery>[0];
  readonly #limit: number;
  /** Called when something has arrived, or was taken. */
  #wake: (() => void)[] = [];

  constructor(path: string, { since = 0, filter, fields, buffer = 1000 }: LiveOptions<never>) {
    this.path = path;
    this.cursor = bareOf(since);
    this.#hasPart = /^0./.test(this.cursor);
    this.#limit = buffer;
    this.#query = { filter, fields };
  }

  get isFull(): boolean {
    const size = this.#waiting.reduce((sum, { changes }) => sum + changes.length + 1, 0);
    return size > this.#limit;
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Returns the query of the list from the cursor on; of a stream without parameters of a poll. */
  query(poll?: Readonly<Record<string, string>>): string {
    const gone = Boolean(poll && this.#query.filter);
    return formatQuery({ ...this.#query, since: this.#hasPart ? 0 : this.cursor, gone, params: poll });
  }

  /**
   * Adds an update.
   *
   * @param cursor absent: the update is no place to resume from
   */
  push(changes: readonly Item[], current: boolean, cursor = this.cursor): void {
    if (this.isStalled || this.isClosed) return;
    this.refusals = 0;
    const hasNews = changes.length > 0 || (current && !(this.isCurrent && cursor === this.cursor));
    this.cursor = cursor;
    this.isCurrent = current;
    this.#hasPart = /^0./.test(cursor) || (cursor === '0' && (this.#hasPart || changes.length > 0));
    if (!hasNews) return;
    const last = this.#waiting.at(-1);
    if (changes.length === 0 && last !== undefined && !last.resync) {
      this.#waiting[this.#waiting.length - 1] = { ...last, cursor, current };
      return;
    }
    this.#add({ changes, cursor, current });
  }

  /**
   * Prepares for a new connection. Deletions since an interrupted first copy may be unknown, so it begins anew. So does a copy of
   * single objects, whose cursor begins with a zero.
   */
  begin(): void {
    if (this.#hasPart) this.restart('horizon');
  }

  /** Begins anew with a complete copy. */
  restart(resync: ResyncReason): void {
    this.clear();
    this.cursor = '0';
    this.isCurrent = false;
    this.#hasPart = false;
    this.#add({ changes: [], cursor: '0', current: false, resync });
  }

  /** Ends the iteration, after what waits, with an error if one is given. */
  close(error?: Error): void {
    this.isClosed = true;
    this.#error ??= error;
    this.#notify();
  }

  /** Returns the next update; `undefined` at the end. @throws what the list was closed with */
  async next(): Promise<Update | undefined> {
    for (;;) {
      const update = this.#waiting.shift();
      if (update !== undefined) {
        this.#notify();
        return update;
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.isClosed) return undefined;
      await this.changed();
    }
  }

  /** Leaves out what arrives from now on. */
  stall(): void {
    this.isStalled = true;
    this.#notify();
  }

  /** Drops what waits, and the error that follows it. */
  clear(): void {
    this.#waiting = [];
    this.#error = undefined;
  }

  /** Resolves when something was added or taken, or the list was closed. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake.push(resolve);
    });
  }

  #add(update: Update): void {
    this.#waiting.push(update);
    this.#notify();
  }

  #notify(): void {
    const tasks = this.#wake;
    this.#wake = [];
    for (const task of tasks) task();
  }
}
