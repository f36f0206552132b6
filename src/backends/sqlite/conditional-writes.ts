// Writes that are a unit of work of their own. Those that wait at the same time share one turn of the writer, in which
// everything that they have in common is done once: the savepoint, looking up and storing the rows of their lists.
import type { Clock } from '../../base/clock.ts';
import { runAtOnce } from '../../base/steps.ts';
import type { ConditionalWrite } from '../../contracts/database.ts';
import { BackendError, TransactionConflict, UnstorableText } from '../../contracts/errors.ts';
import type { ObjectEntries } from '../../contracts/permission.ts';
import { isSameObject, StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { Connection } from './connection.ts';
import { countPrincipals, deleteEntries, Folders, replaceEntries } from './entry-rows.ts';
import { grantAll } from './grant-all.ts';
import { Drafts } from './list-drafts.ts';
import { keyOfObject, type Changes } from './read-cache.ts';
import { findObject, insertObjects, putObject, removeObject, type Found, type NewRow } from './object-rows.ts';
import type { WriterQueue, WriterUnit } from './writer-queue.ts';

/** Writes that are done in one go, while nobody else is served: about a millisecond. A longer text is written by itself. */
const maxTogether = 100;
const maxCharsTogether = 100_000;

/** Who gives an object more entries does it as a unit of work, which pauses for others. */
const mostPrincipals = 100;

/** Nobody's id: all of these count as one user. */
const alone = '';

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

  /** Does what `writeConditionally` of the contracts promises. */
  write(write: ConditionalWrite): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject });
      if (this.#waiting.length === 1) void this.#takeTurn();
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

  /** Waits for the turn, and does what is waiting by then. Never fails. */
  async #takeTurn(): Promise<void> {
    let unit: WriterUnit;
    try {
      unit = await this.#queue.begin({ userId: alone });
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
      return;
    }
    const together = this.#waiting.splice(0, this.#countTogether());
    if (this.#waiting.length > 0) void this.#takeTurn();
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
      // Each of them is done again by itself, so that none fails for the fault of another.
      const told =
        error instanceof BackendError && (together.length === 1 || !(error instanceof UnstorableText))
          ? error
          : new TransactionConflict('SQLite: the write has failed', { cause: error });
      for (const { reject } of together) reject(told);
    }
  }
}

/** Writes that are done one after the other without a pause. */
class Round {
  readonly #connection: Connection;
  readonly #changes: Changes;
  readonly #drafts: Drafts;
  readonly #folders = new Folders();
  /** Objects above lists that are there. */
  readonly #holders = new Set<string>();
  /** New objects that are still to be stored. */
  #rows: NewRow[] = [];
  /** Entries of objects that nobody has referred to yet. */
  readonly #entries: ObjectEntries[] = [];

  constructor(connection: Connection, changes: Changes, now: number) {
    this.#connection = connection;
    this.#changes = changes;
    this.#drafts = new Drafts(connection, now);
  }

  /** Returns the timestamp of each; `undefined` for those that found something else than they expected. */
  run(writes: readonly ConditionalWrite[]): readonly (number | undefined)[] {
    const stamps = writes.map((write) => this.#do(write));
    this.#insertRows();
    this.#drafts.store();
    if (this.#entries.length > 0) runAtOnce(grantAll(this.#connection, this.#entries, this.#folders));
    return stamps;
  }

  #do(write: ConditionalWrite): number | undefined {
    const { list, id, isFresh = false, expected, text, uri, entries } = write;
    const connection = this.#connection;
    if (countPrincipals(entries) > mostPrincipals || !this.#isHeld(write.holder)) return undefined;
    const found = isFresh ? undefined : this.#find(list, id);
    if (!isSameObject(found?.object, expected)) return undefined;
    if (text === undefined && found?.object === undefined) return undefined;
    const draft = this.#drafts.of(list);
    const lastModified = draft.nextTimestamp(write.lastModified);
    if (lastModified === undefined) return undefined;
    const number = draft.advance(lastModified);
    if (text === undefined) {
      this.#changes.ofObject(list, id);
      this.#holders.clear();
      removeObject(connection, number, id, lastModified);
      draft.count({ live: -1, dead: 1 });
      if (uri !== undefined) {
        this.#changes.ofEntries(uri);
        deleteEntries(connection, uri);
      }
      return lastModified;
    }
    const object = new StoredObject(id, lastModified, text);
    if (found === undefined) {
      // Nobody can have read, and remembered, anything of it.
      this.#changes.ofList(list);
      this.#rows.push({ list: number, object });
      draft.count({ live: 1 });
      if (uri !== undefined) this.#entries.push({ objectId: uri, permissions: entries });
      return lastModified;
    }
    this.#changes.ofObject(list, id);
    const isLive = found.object !== undefined;
    const isDead = found.tombstone !== undefined;
    putObject(connection, number, object, { isLive, isDead });
    draft.count({ live: isLive ? 0 : 1, dead: isDead ? -1 : 0 });
    if (uri !== undefined) {
      this.#changes.ofEntries(uri);
      runAtOnce(replaceEntries(connection, uri, entries, this.#folders));
    }
    return lastModified;
  }

  /** Whether the object is there that the list belongs to. */
  #isHeld(holder: ConditionalWrite['holder']): boolean {
    if (holder === undefined) return true;
    const key = keyOfObject(holder.list, holder.id);
    if (this.#holders.has(key)) return true;
    if (this.#find(holder.list, holder.id).object === undefined) return false;
    this.#holders.add(key);
    return true;
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
