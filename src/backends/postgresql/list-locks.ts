// The lists that a unit of work has locked. No other unit changes a list while its row is locked, so what the unit has read
// stays true. The unit keeps the state of the list, applies its own writes to it, and writes the row once.
import { largeTextChars } from '../../base/json-steps.ts';
import { keyOfList, type ListName } from '../../core/lists/list-key.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import type { ListKey, StoredObject } from '../../core/objects/stored.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { RequireRoom } from '../../contracts/storage.ts';
import { textArray } from './array-text.ts';
import { prepared, type Result, type Row, type SqlValue, type Statement } from './connection.ts';
import { absent, ListLock, lockColumns, maxTextOfFollower, type Entry } from './list-lock.ts';
import { textOrLength } from './long-texts.ts';
import { rowAt } from './look-ups.ts';
import { ExpectedObjectsOfUnit, type UrisOfList } from './expected-objects.ts';
import { KnownEntries } from './known-entries.ts';
import type { Inheritance, KeptObject } from './shared-transaction.ts';
import type { ListsOfUnit, PostgresUnit } from './unit.ts';

/** A locked list, and the object or tombstone of one of its ids. */
interface LockedEntry {
  readonly list: ListLock;
  readonly entry: Entry;
}

/** Maximum number of objects that one statement reads for the next units of the transaction. */
const maxOfFollowers = 200;

// Locking and reading are two statements, because the second one sees what was committed while the first one waited.
const selectRow = `SELECT ${lockColumns} FROM coffer_lists WHERE parent = $1 AND kind = $2 FOR NO KEY UPDATE`;
const lockRow = prepared('lock-list', selectRow);
// Units wait for lists in one order only, so they never deadlock. A unit that holds a later list locks with NOWAIT. When the
// lock is refused, the unit is retried with all its lists in order, which costs less than a deadlock found by the server.
const lockEarlierRow: Statement = { ...prepared('lock-earlier-list', `${selectRow} NOWAIT`), failsOnLock: true };
const fromEntry = `FROM coffer_lists l
  LEFT JOIN coffer_objects o ON o.parent = l.parent AND o.list = l.list AND o.id = $3
  LEFT JOIN coffer_tombstones t ON t.parent = l.parent AND t.list = l.list AND t.id = $3
  WHERE l.parent = $1 AND l.kind = $2`;
const readEntry = prepared('read-entry', `SELECT t.last_modified, o.last_modified, ${textOrLength('o')} ${fromEntry}`);
const readLongEntry = prepared('read-long-entry', `SELECT t.last_modified, o.last_modified, o.data ${fromEntry}`);
const ofList = { parent: '$1', list: '(SELECT l.list FROM coffer_lists l WHERE l.parent = $1 AND l.kind = $2)' };
/** The texts of the own objects of a unit may be longer than those of the units that follow it. */
const maxText = `CASE WHEN k.place <= $4 THEN ${largeTextChars} ELSE ${maxTextOfFollower} END`;
const readEntries = prepared(
  'read-list-entries',
  `SELECT k.id, t.last_modified, o.* FROM unnest((SELECT $3::text[])) WITH ORDINALITY AS k (id, place)
  LEFT JOIN LATERAL (${rowAt('objects', `e.last_modified, ${textOrLength('e', maxText)}`, ['id', 'k.id'], ofList)}) o ON true
  LEFT JOIN LATERAL (${rowAt('tombstones', 'e.last_modified', ['id', 'k.id'], ofList)}) t ON true`,
);
/** The server keeps plans that it makes while tables are small, and then reads a table of one page faster than its index. */
const useIndexes: Statement = { text: 'SET LOCAL enable_seqscan = off' };
const insertRow = prepared(
  'insert-list',
  'INSERT INTO coffer_lists (parent, kind) VALUES ($1, $2) ON CONFLICT (parent, kind) DO NOTHING',
);
const updateRow = prepared(
  'update-list',
  'UPDATE coffer_lists SET clock = $3, live = $4, dead = $5, horizon = $6 WHERE parent = $1 AND kind = $2',
);

export class ListLocks implements ListsOfUnit {
  readonly #unit: PostgresUnit;
  readonly #lists = new Map<ListName, ListLock>();
  /** Every list that the unit has waited for. */
  readonly #wanted = new Map<ListName, ListKey>();
  /** Locks under way, so that two calls for one list share a statement. */
  readonly #asked = new Map<ListName, Promise<Result>>();
  /** Lists that this unit has created. No other transaction sees their rows before it ends. */
  readonly #added = new Set<ListName>();
  readonly expected = new ExpectedObjectsOfUnit();
  readonly knownEntries = new KnownEntries(this);
  /** Whether the transaction plans its statements for large tables. */
  #usesIndexes = false;
  /** Lists that this unit creates, each with the promise of whether it has created the list. */
  readonly #creations = new Map<ListName, Promise<boolean>>();
  /** Objects that were read under the locks of lists below them. */
  readonly #kept = new Map<string, KeptObject>();
  /** Shared locks under way, which end before new lists are created. */
  #sharing: Promise<unknown> = Promise.resolve();

  constructor(unit: PostgresUnit) {
    this.#unit = unit;
    unit.beforeCommit(() => this.settleAll());
    unit.reportLists(this);
  }

  /** Number of locked lists. */
  get size(): number {
    return this.#lists.size;
  }

  contended(): readonly ListKey[] {
    return [...this.#wanted.values()];
  }

  /**
   * Returns the URIs whose permission entries are to be read with those of this one, if it is expected and its list is locked,
   * or its lock was sent: others of this unit, once, and those of the next units of the transaction that are not known.
   */
  takeExpectedUris(uri: ObjectUri): UrisOfList | undefined {
    const own = this.expected.takeUrisWith(uri, (list) => this.#lists.has(list) || this.#asked.has(list));
    if (own === undefined) return undefined;
    const others = this.#expectedByFollowers(own.list, (expected) => expected.firstUris(own.list));
    const unknown = [...own.uris, ...others].filter((each) => this.knownEntries.find(each) === undefined);
    return { list: own.list, uris: [...new Set(unknown)] };
  }

  /** Whether the row of the list of this name is known to be locked. */
  hasNamed(list: ListName): boolean {
    return this.#lists.has(list);
  }

  leave(): Inheritance {
    return {
      lists: [...this.#lists.values()],
      usesIndexes: this.#usesIndexes,
      wanted: this.contended(),
      added: [...this.#added],
      kept: this.#kept,
      knownEntries: this.knownEntries,
    };
  }

  inherit({ lists, usesIndexes, wanted, added, kept, knownEntries }: Inheritance, since: number): void {
    // If this unit fails, the transaction is settled with the lists as they were.
    for (const list of lists) this.#lists.set(keyOfList(list.key), list.pass());
    this.#usesIndexes ||= usesIndexes;
    this.knownEntries.inherit(knownEntries, since);
    this.want(wanted);
    for (const name of added) this.#added.add(name);
    for (const [name, object] of kept) this.#kept.set(name, object);
  }

  settle({ lists }: Inheritance): readonly (readonly [Statement, readonly SqlValue[]])[] {
    return lists.filter(({ isChanged }) => isChanged).map(({ key, row }) => [updateRow, valuesOf(key, row)] as const);
  }

  /** Keeps an object that was read under the lock of a list below it. */
  keep(name: string, object: StoredObject, below: ListKey): void {
    // What was read last is as good under the locks that the unit had before.
    const belows = this.#kept.get(name)?.belows ?? [];
    this.#kept.set(name, { object, belows: [...belows, keyOfList(below)] });
  }

  /** Returns an object that was read under the lock of the list below it. */
  findKept(name: string, below: ListKey): StoredObject | undefined {
    const kept = this.#kept.get(name);
    return kept?.belows.includes(keyOfList(below)) === true ? kept.object : undefined;
  }

  /** Forgets an object that the unit changes or deletes; returns whether it was kept. */
  release(name: string): boolean {
    return this.#kept.delete(name);
  }

  /** Locks the list and reads what is stored under the id. Creates the list, without a clock, when it is absent. */
  async lock(key: ListKey, id?: string): Promise<LockedEntry> {
    const found = await this.find(key, id);
    if (found !== undefined) return found;
    await this.create(key);
    const created = await this.find(key, id);
    if (created === undefined) throw new Error('the row of a locked list does not exist');
    return created;
  }

  /** Locks the list and reads what is stored under the id; `undefined` when the list is absent. */
  async find(key: ListKey, id?: string): Promise<LockedEntry | undefined> {
    const known = this.#lists.get(keyOfList(key));
    if (known !== undefined) return { list: known, entry: await this.#entryOf(known, id) };
    const [rows, entries] = await Promise.all([
      this.#lockRow(key),
      id === undefined ? undefined : this.#readEntries(key, id),
    ]);
    const list = this.#keep(key, rows.rows[0]);
    if (list === undefined) {
      // Nothing was locked when they were read.
      this.knownEntries.forgetAll();
      return undefined;
    }
    return { list, entry: id === undefined ? absent : await this.#keepEntries(list, id, entries!) };
  }

  /**
   * Locks the list alone. Returns whether the lock keeps the objects above the list from being deleted: a cascade locks the
   * rows of all lists below its URI first, but does not see those of a list that this unit has created.
   */
  async lockBelow(key: ListKey): Promise<boolean> {
    return (await this.find(key)) !== undefined && !this.#added.has(keyOfList(key));
  }

  /** Creates lists only after this promise has settled. */
  delayCreation(sharing: Promise<unknown>): void {
    this.#sharing = Promise.allSettled([this.#sharing, sharing]);
  }

  /** Whether waiting for the list keeps to the order of all units. */
  isNext(key: ListKey): boolean {
    for (const other of this.#wanted.values()) if (compareLists(other, key) > 0) return false;
    return true;
  }

  /** Notes that another statement of the unit waits for these lists, or has locked them. */
  want(keys: Iterable<ListKey>): void {
    for (const key of keys) this.#wanted.set(keyOfList(key), key);
  }

  /** Whether the row of the list is known to be locked. */
  has(key: ListKey): boolean {
    return this.#lists.has(keyOfList(key));
  }

  /** Returns what is stored under the id in a list that is locked already; `undefined` for other lists. */
  async findKnown(key: ListKey, id: string, requireRoom?: RequireRoom): Promise<Entry | undefined> {
    const known = this.#lists.get(keyOfList(key));
    return known === undefined ? undefined : this.#entryOf(known, id, requireRoom);
  }

  /** Keeps a list whose row was locked and read, unless another call has done so meanwhile. */
  adopt(key: ListKey, row: Row): ListLock {
    const name = keyOfList(key);
    const list = this.#lists.get(name) ?? new ListLock(key, row);
    this.#lists.set(name, list);
    return list;
  }

  /** Sends the rows of lists that have changed. */
  settleAll(): void {
    for (const list of this.#lists.values()) {
      if (!list.isChanged) continue;
      list.isChanged = false;
      this.#unit.send('storage', updateRow, valuesOf(list.key, list.row));
    }
  }

  /** Settles and forgets all lists, before a statement that changes lists it does not name. */
  forget(): void {
    this.settleAll();
    this.#lists.clear();
    this.#creations.clear();
    this.#kept.clear();
  }

  #lockRow(key: ListKey): Promise<Result> {
    const name = keyOfList(key);
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

  /**
   * Creates the list, without a clock, unless another transaction has done so meanwhile; returns whether this one has. No other
   * transaction can lock a list before it is created, nor before this one ends when this one creates it.
   */
  create(key: ListKey): Promise<boolean> {
    const name = keyOfList(key);
    let creation = this.#creations.get(name);
    if (creation === undefined) {
      creation = this.#create(key, name);
      this.#creations.set(name, creation);
    }
    return creation;
  }

  async #create(key: ListKey, name: ListName): Promise<boolean> {
    if (this.#added.has(name) && this.#lists.has(name)) return true;
    await this.#sharing;
    this.want([key]);
    const { count } = await this.#unit.run('storage', insertRow, [key.parent, key.kind]);
    if (count > 0) this.#added.add(name);
    const isOwn = this.#added.has(name);
    if (!isOwn) this.#creations.delete(name);
    return isOwn;
  }

  async #entryOf(list: ListLock, id: string | undefined, requireRoom?: RequireRoom): Promise<Entry> {
    if (id === undefined) return absent;
    const known = list.entries.get(id);
    if (known !== undefined) return known;
    return this.#keepEntries(list, id, await this.#readEntries(list.key, id), requireRoom);
  }

  /** Returns what the next units of the transaction expect in a list. */
  #expectedByFollowers<T>(list: ListName, pick: (expected: ExpectedObjectsOfUnit) => readonly T[]): readonly T[] {
    return this.#unit.expectedOfFollowers(list).flatMap(pick).slice(0, maxOfFollowers);
  }

  /**
   * Reads what is stored under the id, and under others that this unit or the next ones in its transaction expect. Reads nothing
   * if an earlier unit of the transaction has read or changed it.
   */
  async #readEntries({ parent, kind }: ListKey, id: string): Promise<ReadonlyMap<string, Row | undefined>> {
    await this.#unit.waitForTurn();
    const name = keyOfList({ parent, kind });
    const known = this.#lists.get(name)?.entries;
    if (known?.has(id) === true) return new Map();
    const own = this.expected.idsWith(name, id).filter((each) => known?.has(each) !== true);
    const others = this.#expectedByFollowers(name, (expected) => expected.firstIds(name));
    const ids = [...new Set([...own, ...others.filter((each) => known?.has(each) !== true)])];
    if (ids.length === 1) {
      const { rows } = await this.#unit.run('storage', readEntry, [parent, kind, id]);
      return new Map([[id, rows[0]]]);
    }
    if (!this.#usesIndexes) this.#unit.send('storage', useIndexes, []);
    this.#usesIndexes = true;
    const { rows } = await this.#unit.run('storage', readEntries, [parent, kind, textArray(ids), own.length]);
    return new Map(rows.map(([of, ...row]) => [of!, row]));
  }

  /** Keeps what was read. Returns the entry of the id, which is read by itself if its text is long. */
  async #keepEntries(
    list: ListLock,
    id: string,
    rows: ReadonlyMap<string, Row | undefined>,
    requireRoom?: RequireRoom,
  ): Promise<Entry> {
    const { key } = list;
    const name = keyOfList(key);
    for (const [of, row] of rows) {
      this.expected.forgetId(name, of);
      if (typeof row?.[3] !== 'string') list.keepEntry(of, row);
    }
    if (!list.entries.has(id)) {
      requireRoom?.(Number(rows.get(id)?.[3]));
      list.keepEntry(id, (await this.#unit.run('storage', readLongEntry, [key.parent, key.kind, id])).rows[0]);
    }
    return list.entries.get(id) ?? absent;
  }

  #keep(key: ListKey, row: Row | undefined): ListLock | undefined {
    if (row !== undefined) return this.adopt(key, row);
    // The unit has not locked it, so it may still wait for lists before this one.
    this.#wanted.delete(keyOfList(key));
    return undefined;
  }
}

function valuesOf({ parent, kind }: ListKey, [, ...state]: Row): readonly SqlValue[] {
  return [parent, kind, ...state];
}
