// Conditional writes. Those that wait at the same time share one unit of the writer, which does their common work once: the
// savepoint, and reading and storing the rows of their lists.
import type { Clock } from '../../base/clock.ts';
import { runAtOnce } from '../../base/steps.ts';
import type { ConditionalWrite } from '../../contracts/database.ts';
import { BackendError, TransactionConflict, UnstorableText } from '../../contracts/errors.ts';
import type { ObjectEntries } from '../../contracts/permission.ts';
import { keyOfObject } from '../../core/lists/list-key.ts';
import { conditionalTimestamp, putChange, removalChange, unwritten } from '../../core/lists/list-state.ts';
import { isSameObject, StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { Connection } from './connection.ts';
import { countPrincipals, deleteEntries, Folders, grantAll, replaceEntries } from './entry-rows.ts';
import { ListRows } from './list-rows.ts';
import type { Changes } from './read-cache.ts';
import { findObject, insertObjects, putObject, removeObject, type Found, type NewRow } from './object-rows.ts';
import type { WriterQueue, WriterUnit } from './writer-queue.ts';

/** Limits of the writes that are done without a pause, in about a millisecond. A longer text is written by itself. */
const maxTogether = 100;
const maxCharsTogether = 100_000;

/** Maximum number of principals that a write grants. A unit of work grants more, in steps. */
const maxPrincipals = 100;

/** User id under which all conditional writes wait in the queue. */
const sharedParty = '';

interface Waiting {
  readonly write: ConditionalWrite;
  readonly resolve: (timestamp: number | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class ConditionalWrites {
  readonly #queue: WriterQueue;
  readonly #clock: Clock;
  readonly #waiting: Waiting[] = [];

  constructor(queue: WriterQueue, clock: Clock) {
    this.#queue = queue;
    this.#clock = clock;
  }

  /** Does what `Database.writeConditionally` promises. */
  write(write: ConditionalWrite): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject });
      if (this.#waiting.length === 1) void this.#runNext();
    });
  }

  #countTogether(): number {
    let chars = 0;
    const end = this.#waiting.findIndex(({ write: { text = '' } }, index) => {
      chars += text.length;
      return index === maxTogether || (index > 0 && chars > maxCharsTogether);
    });
    return end === -1 ? this.#waiting.length : end;
  }

  /** Waits for the writer, and does the writes that wait by then. Never fails. */
  async #runNext(): Promise<void> {
    let unit: WriterUnit;
    try {
      unit = await this.#queue.begin({ party: sharedParty });
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
      return;
    }
    const together = this.#waiting.splice(0, this.#countTogether());
    if (this.#waiting.length > 0) void this.#runNext();
    try {
      const now = this.#clock.now();
      const stamps = unit.run('storage', (connection) => {
        const round = new Round(connection, unit.changes, now);
        return round.run(together.map(({ write }) => write));
      });
      await unit.commit();
      for (const [index, { resolve }] of together.entries()) resolve(stamps[index]);
    } catch (error) {
      await unit.rollback();
      // Each write is retried by itself, so that none fails because of another.
      const reported =
        error instanceof BackendError && (together.length === 1 || !(error instanceof UnstorableText))
          ? error
          : new TransactionConflict('SQLite: the write has failed', { cause: error });
      for (const { reject } of together) reject(reported);
    }
  }
}

/** Writes that are done one after another without a pause. */
class Round {
  readonly #connection: Connection;
  readonly #changes: Changes;
  readonly #now: number;
  readonly #lists = new ListRows();
  readonly #folders = new Folders();
  /** Timestamps of objects above lists that are known to exist. */
  readonly #holders = new Map<string, number>();
  /** New objects that are not stored yet. */
  #rows: NewRow[] = [];
  /** Permission entries of new objects, which are granted together. */
  readonly #entries: ObjectEntries[] = [];

  constructor(connection: Connection, changes: Changes, now: number) {
    this.#connection = connection;
    this.#changes = changes;
    this.#now = now;
  }

  /** Returns the timestamp of each write; `undefined` for those whose expected state differs. */
  run(writes: readonly ConditionalWrite[]): readonly (number | undefined)[] {
    const stamps = writes.map((write) => this.#do(write));
    this.#insertRows();
    this.#lists.store(this.#connection);
    if (this.#entries.length > 0) runAtOnce(grantAll(this.#connection, this.#entries, this.#folders));
    return stamps;
  }

  #do(write: ConditionalWrite): number | undefined {
    const { list, id, isFresh = false, expected, text, uri, entries } = write;
    const connection = this.#connection;
    if (countPrincipals(entries) > maxPrincipals || !this.#isHeld(write.holder)) return undefined;
    const found = isFresh ? undefined : this.#find(list, id);
    if (!isSameObject(found?.object, expected)) return undefined;
    if (text === undefined && found?.object === undefined) return undefined;
    const state = this.#lists.find(connection, list) ?? unwritten;
    const lastModified = conditionalTimestamp(state, this.#now, write.lastModified);
    if (lastModified === undefined) return undefined;
    const { list: number } = this.#lists.ensure(connection, list, lastModified);
    if (text === undefined) {
      this.#changes.ofObject(list, id);
      this.#holders.clear();
      removeObject(connection, number, id, lastModified);
      this.#lists.change(connection, list, removalChange(lastModified, true));
      if (uri !== undefined) {
        this.#changes.ofEntries(uri);
        deleteEntries(connection, uri);
      }
      return lastModified;
    }
    const object = new StoredObject(id, lastModified, text, undefined, write.keys);
    if (found === undefined) {
      // A new id is in no cache of objects.
      this.#changes.ofList(list);
      this.#rows.push({ list: number, object });
      this.#lists.change(connection, list, { clock: lastModified, live: 1 });
      if (uri !== undefined) this.#entries.push({ objectId: uri, permissions: entries });
      return lastModified;
    }
    this.#changes.ofObject(list, id);
    this.#holders.delete(keyOfObject(list, id));
    putObject(connection, number, object, found);
    this.#lists.change(connection, list, putChange(lastModified, found));
    if (uri !== undefined) {
      this.#changes.ofEntries(uri);
      runAtOnce(replaceEntries(connection, uri, entries, this.#folders));
    }
    return lastModified;
  }

  /** Whether the object that the list belongs to exists. */
  #isHeld(holder: ConditionalWrite['holder']): boolean {
    if (holder === undefined) return true;
    const key = keyOfObject(holder.list, holder.id);
    const known = this.#holders.get(key) ?? this.#find(holder.list, holder.id).object?.lastModified;
    if (known === undefined) return false;
    this.#holders.set(key, known);
    return holder.lastModified === undefined || holder.lastModified === known;
  }

  #find(list: ListKey, id: string): Found {
    this.#insertRows();
    return findObject(this.#connection, list, id);
  }

  #insertRows(): void {
    const rows = this.#rows;
    this.#rows = [];
    insertObjects(this.#connection, rows);
  }
}
