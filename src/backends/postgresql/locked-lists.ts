// The lists that a unit of work has locked. While it holds the row of a list nobody else changes the list, so what it
// has read there stays true; the unit keeps it, counts its own writes on, and writes the row once.
import type { ListKey, StoredObject, Tombstone } from '../../core/objects/stored.ts';
import { StoredObject as Stored } from '../../core/objects/stored.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import { prepared, type Result, type Row, type SqlValue, type Statement } from './connection.ts';
import type { Inheritance } from './shared-transaction.ts';
import type { ListsOfUnit, PostgresUnit } from './unit.ts';

/** What is stored under an id. */
export interface Entry {
  readonly object: StoredObject | undefined;
  readonly tombstone: Tombstone | undefined;
}

export class LockedList {
  readonly key: ListKey;
  /** Internal number, under which objects and tombstones are kept. */
  readonly list: string;
  readonly entries = new Map<string, Entry>();
  /** `undefined` when the list was never read nor written. */
  clock: number | undefined;
  live: number;
  dead: number;
  isChanged = false;

  constructor(key: ListKey, [list, clock, live, dead]: Row) {
    this.key = key;
    this.list = list!;
    this.clock = typeof clock === 'string' ? Number(clock) : undefined;
    this.live = Number(live);
    this.dead = Number(dead);
  }

  /** As the table has it, or will have it. */
  get row(): Row {
    return [this.list, this.clock === undefined ? null : String(this.clock), String(this.live), String(this.dead)];
  }

  /** Moves the clock forward, never back, and changes the counts. */
  change(clock: number, counts: { readonly live?: number; readonly dead?: number } = {}): void {
    this.clock = Math.max(this.clock ?? clock, clock);
    this.live += counts.live ?? 0;
    this.dead += counts.dead ?? 0;
    this.isChanged = true;
  }
}

/** Nothing under an id. */
export const absent: Entry = { object: undefined, tombstone: undefined };

// Locking and reading are two statements on purpose: the second one sees what was committed while the first one waited.
const selectRow = 'SELECT list, clock, live, dead FROM coffer_lists WHERE parent = $1 AND kind = $2 FOR NO KEY UPDATE';
const lockRow = prepared('lock-list', selectRow);
// Units wait for each other in the order of their lists only, so never in a circle. Who holds a later list asks without
// waiting, and, if refused, starts again with all its lists in order; that costs less than a deadlock found by the server.
const lockEarlierRow: Statement = { ...prepared('lock-earlier-list', `${selectRow} NOWAIT`), failsOnLock: true };
const readEntry = prepared(
  'read-entry',
  `SELECT o.last_modified, o.data, t.last_modified FROM coffer_lists l
  LEFT JOIN coffer_objects o ON o.parent = l.parent AND o.list = l.list AND o.id = $3
  LEFT JOIN coffer_tombstones t ON t.parent = l.parent AND t.list = l.list AND t.id = $3
  WHERE l.parent = $1 AND l.kind = $2`,
);
const insertRow = prepared(
  'insert-list',
  'INSERT INTO coffer_lists (parent, kind) VALUES ($1, $2) ON CONFLICT (parent, kind) DO NOTHING',
);
const updateRow = prepared(
  'update-list',
  'UPDATE coffer_lists SET clock = $3, live = $4, dead = $5 WHERE parent = $1 AND kind = $2',
);

export class LockedLists implements ListsOfUnit {
  readonly #unit: PostgresUnit;
  readonly #lists = new Map<string, LockedList>();
  /** Everything that was ever asked for. */
  readonly #wanted = new Map<string, ListKey>();
  /** Locks that are being waited for, so that nobody asks for the same again. */
  readonly #asked = new Map<string, Promise<Result>>();
  /** Lists that came into being with this unit: nobody else finds their rows before it ends. */
  readonly #added = new Set<string>();
  /** Names of objects that stay as long as the unit has its lists. */
  readonly #kept = new Set<string>();
  /** What has to be settled before new lists are made. */
  #holding: Promise<unknown> = Promise.resolve();

  constructor(unit: PostgresUnit) {
    this.#unit = unit;
    unit.beforeCommit(() => this.settleAll());
    unit.reportLists(this);
  }

  contended(): readonly ListKey[] {
    return [...this.#wanted.values()];
  }

  leave(): Inheritance {
    const lists = Array.from(this.#lists.values(), ({ key, row, isChanged }) => ({ key, row, isChanged }));
    return { lists, wanted: this.contended(), added: [...this.#added], kept: [...this.#kept] };
  }

  inherit({ lists, wanted, added, kept }: Inheritance): void {
    for (const { key, row, isChanged } of lists) {
      const list = new LockedList(key, row);
      list.isChanged = isChanged;
      this.#lists.set(nameOf(key), list);
    }
    this.want(wanted);
    for (const name of added) this.#added.add(name);
    for (const name of kept) this.#kept.add(name);
  }

  settle({ lists }: Inheritance): readonly (readonly [Statement, readonly SqlValue[]])[] {
    return lists.filter(({ isChanged }) => isChanged).map(({ key, row }) => [updateRow, valuesOf(key, row)] as const);
  }

  /** Notes that an object, by a name of it, stays as long as the unit has its lists. */
  keep(name: string): void {
    this.#kept.add(name);
  }

  /** Whether it does. */
  keeps(name: string): boolean {
    return this.#kept.has(name);
  }

  /** Locks the list, which is created without a clock when it is not there yet, and reads what is under the id. */
  async lock(key: ListKey, id: string): Promise<{ readonly list: LockedList; readonly entry: Entry }> {
    const found = await this.find(key, id);
    if (found !== undefined) return found;
    await this.#add(key);
    const created = await this.find(key, id);
    if (created === undefined) throw new Error('the row of the list is gone although it was just locked');
    return created;
  }

  /** The same for a list that need not be there. */
  async find(key: ListKey, id: string): Promise<{ readonly list: LockedList; readonly entry: Entry } | undefined> {
    const name = nameOf(key);
    const known = this.#lists.get(name);
    if (known !== undefined) return { list: known, entry: await this.#entryOf(known, id) };
    const [rows, entries] = await Promise.all([
      this.#lockRow(key),
      this.#unit.run('storage', readEntry, [key.parent, key.kind, id]),
    ]);
    const list = this.#keep(key, rows.rows[0]);
    return list === undefined ? undefined : { list, entry: keepEntry(list, id, entries.rows[0]) };
  }

  /**
   * Locks the list alone, and answers whether the lock keeps what the list lies in: whoever deletes that takes the rows of
   * all lists below it first, but cannot see those that are not there yet.
   */
  async lockBelow(key: ListKey): Promise<boolean> {
    const list = await this.findList(key);
    return list !== undefined && !this.#added.has(nameOf(key));
  }

  /** Lets lists that are not there yet come into being only after this, whatever comes of it. */
  holdBack(holding: Promise<unknown>): void {
    this.#holding = Promise.allSettled([this.#holding, holding]);
  }

  /** Whether a unit that waits for the list does so in the order of all units. */
  isNext(key: ListKey): boolean {
    for (const other of this.#wanted.values()) if (compareLists(other, key) > 0) return false;
    return true;
  }

  /** Notes that the unit waits for these lists, or has them, by other means. */
  want(keys: Iterable<ListKey>): void {
    for (const key of keys) this.#wanted.set(nameOf(key), key);
  }

  /** Whether the row of the list is known to be locked. */
  has(key: ListKey): boolean {
    return this.#lists.has(nameOf(key));
  }

  /** What is under the id in a list that is locked already; `undefined` for other lists. */
  async findKnown(key: ListKey, id: string): Promise<Entry | undefined> {
    const known = this.#lists.get(nameOf(key));
    return known === undefined ? undefined : this.#entryOf(known, id);
  }

  /** Locks the list alone; `undefined` when it is not there. */
  async findList(key: ListKey): Promise<LockedList | undefined> {
    const name = nameOf(key);
    const known = this.#lists.get(name);
    if (known !== undefined) return known;
    const { rows } = await this.#lockRow(key);
    return this.#keep(key, rows[0]);
  }

  /** Locks the list alone, creating it without a clock. */
  async lockList(key: ListKey): Promise<LockedList> {
    const found = await this.findList(key);
    if (found !== undefined) return found;
    await this.#add(key);
    const created = await this.findList(key);
    if (created === undefined) throw new Error('the row of the list is gone although it was just locked');
    return created;
  }

  /** Sends the rows of lists that have changed. */
  settleAll(): void {
    for (const list of this.#lists.values()) {
      if (!list.isChanged) continue;
      list.isChanged = false;
      this.#unit.send('storage', updateRow, valuesOf(list.key, list.row));
    }
  }

  /** Settles, and forgets everything, because a statement is about to change lists without their names. */
  forget(): void {
    this.settleAll();
    this.#lists.clear();
  }

  #lockRow(key: ListKey): Promise<Result> {
    const name = nameOf(key);
    const asked = this.#asked.get(name);
    if (asked !== undefined) return asked;
    const statement = this.isNext(key) ? lockRow : lockEarlierRow;
    this.want([key]);
    this.#unit.enterQueue(name);
    const known = (): Result | undefined => {
      const list = this.#lists.get(name);
      return list && { rows: [list.row], count: 1, command: 'SELECT' };
    };
    const answer = this.#unit.run('storage', statement, [key.parent, key.kind], known);
    const forget = (): void => void this.#asked.delete(name);
    this.#asked.set(name, answer);
    answer.then(forget, forget);
    return answer;
  }

  /** Brings the list into being, without a clock, unless somebody else has done so meanwhile. */
  async #add(key: ListKey): Promise<void> {
    await this.#holding;
    this.want([key]);
    const { count } = await this.#unit.run('storage', insertRow, [key.parent, key.kind]);
    if (count > 0) this.#added.add(nameOf(key));
  }

  async #entryOf(list: LockedList, id: string): Promise<Entry> {
    const known = list.entries.get(id);
    if (known !== undefined) return known;
    const { rows } = await this.#unit.run('storage', readEntry, [list.key.parent, list.key.kind, id]);
    return keepEntry(list, id, rows[0]);
  }

  #keep(key: ListKey, row: Row | undefined): LockedList | undefined {
    const name = nameOf(key);
    if (row === undefined) {
      // The unit has nothing of it, so whatever comes before it may still be waited for.
      this.#wanted.delete(name);
      return undefined;
    }
    // Somebody else may have kept it while this one waited for the answer.
    const list = this.#lists.get(name) ?? new LockedList(key, row);
    this.#lists.set(name, list);
    return list;
  }
}

/** A list as the key of a map. */
export function nameOf({ kind, parent }: ListKey): string {
  return `${kind} ${parent}`;
}

function valuesOf({ parent, kind }: ListKey, [, clock, live, dead]: Row): readonly SqlValue[] {
  return [parent, kind, clock ?? null, live ?? null, dead ?? null];
}

function keepEntry(list: LockedList, id: string, row: Row | undefined): Entry {
  const known = list.entries.get(id);
  if (known !== undefined) return known;
  const entry = row === undefined ? absent : entryOf(id, row);
  list.entries.set(id, entry);
  return entry;
}

function entryOf(id: string, [modified, data, deleted]: Row): Entry {
  return {
    object: typeof data === 'string' ? new Stored(id, Number(modified), data) : undefined,
    tombstone: typeof deleted === 'string' ? { id, lastModified: Number(deleted), deleted: true } : undefined,
  };
}
