// The writing half of the storage contract, for single objects. A unit of work holds the turn of the only writer, so
// what it reads stays true until it ends; every check is made before the first change of an operation.
import type { Clock } from '../../base/clock.ts';
import { IntegrityError, UnicityError } from '../../contracts/errors.ts';
import type {
  Deletion,
  LockedState,
  NewObject,
  PurgeOptions,
  Restoration,
  StorageWriter,
} from '../../contracts/storage.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { UnitAccess } from './access.ts';
import { deleteBelow, flushStorage, purgeTombstones, trimList } from './bulk-writes.ts';
import type { Connection } from './connection.ts';
import { findList, insertList, raiseHorizon, updateList, type ListRow } from './lists.ts';
import { keyOfObject, type Changes } from './read-cache.ts';
import { findObject, findPresence, insertObjects, nextAfter, putObject, removeObject } from './object-rows.ts';
import type { Presence } from './object-rows.ts';
import { selectPage } from './page.ts';
import { restoreEntries } from './restore.ts';
import type { Steps } from '../../base/steps.ts';
import { SqliteStorageReader } from './storage-reader.ts';

/** Objects written or deleted without a pause. */
const objectsPerStep = 100;
/** Characters written without a pause. A longer text is written by itself. */
const charsPerStep = 500_000;

export class SqliteStorageWriter extends SqliteStorageReader implements StorageWriter {
  readonly #changes: Changes;
  readonly #clock: Clock;
  readonly #announceDoomed: () => void;
  /**
   * Objects that others are written below, as each entry of a batch asks for them again. Nobody else changes them while the
   * unit lasts; it forgets them all when it may have changed one itself.
   */
  readonly #held = new Map<string, Promise<StoredObject | undefined>>();

  /** The list that the unit has looked at or written to last, as it is now: most units write to one. */
  #last: { readonly list: ListKey; readonly row: ListRow } | undefined;

  constructor(access: UnitAccess, clock: Clock, announceDoomed: () => void) {
    super(access);
    this.#changes = access.changes;
    this.#clock = clock;
    this.#announceDoomed = announceDoomed;
  }

  override get(list: ListKey, id: string): Promise<StoredObject | undefined> {
    return this.#held.get(keyOfObject(list, id)) ?? super.get(list, id);
  }

  /** Nothing to take: the unit holds the turn to write since it began. */
  lock(list: ListKey, id?: string): Promise<LockedState> {
    return this.access.run((connection) => {
      if (id === undefined) {
        const timestamp = this.#findList(connection, list)?.clock;
        return { timestamp, object: undefined, tombstone: undefined };
      }
      const { list: row, object, tombstone } = findObject(connection, list, id);
      return { timestamp: row?.clock, object, tombstone };
    });
  }

  /** Nothing to hold: while the unit lasts nobody else deletes. */
  lockShared(list: ListKey, id: string): Promise<StoredObject | undefined> {
    const object = this.get(list, id);
    this.#held.set(keyOfObject(list, id), object);
    return object;
  }

  touch(list: ListKey): Promise<number> {
    this.#last = undefined;
    this.#changes.ofList(list);
    return this.access.run(
      (connection) => (findList(connection, list) ?? insertList(connection, list, this.#clock.now())).clock,
    );
  }

  create(
    list: ListKey,
    id: string,
    text: string,
    lastModified?: number,
    { isFresh = false }: { readonly isFresh?: boolean } = {},
  ): Promise<StoredObject> {
    this.#changing(list, id);
    return this.access.run((connection) => {
      const found = isFresh
        ? { list: this.#findList(connection, list), isLive: false, isDead: false }
        : findPresence(connection, list, id);
      if (found.isLive) throw new UnicityError('id');
      return this.#put(connection, list, found, id, text, lastModified);
    });
  }

  async createAll(list: ListKey, objects: readonly NewObject[]): Promise<readonly StoredObject[]> {
    this.#changes.ofList(list);
    return this.#inSteps((connection) => this.#putAll(connection, list, objects));
  }

  update(list: ListKey, id: string, text: string, lastModified?: number): Promise<StoredObject> {
    this.#changing(list, id);
    return this.access.run((connection) =>
      this.#put(connection, list, findPresence(connection, list, id), id, text, lastModified),
    );
  }

  delete(
    list: ListKey,
    id: string,
    options: { readonly lastModified?: number | undefined; readonly keepTombstone?: boolean } = {},
  ): Promise<Deletion | undefined> {
    this.#changing(list, id);
    this.#last = undefined;
    const { lastModified: given, keepTombstone = true } = options;
    return this.access.run((connection) => {
      const { list: row, object: old } = findObject(connection, list, id);
      if (row === undefined || old === undefined) return undefined;
      const lastModified = this.#nextTimestamp(connection, row, given, id);
      removeObject(connection, row.list, id, keepTombstone ? lastModified : undefined);
      updateList(connection, row.list, lastModified, { live: -1, dead: keepTombstone ? 1 : 0 });
      if (!keepTombstone) raiseHorizon(connection, row.list, lastModified);
      return { old, tombstone: { id, lastModified, deleted: true } };
    });
  }

  deleteAll(
    list: ListKey,
    query: PageQuery,
  ): Promise<{ readonly deletions: readonly Deletion[]; readonly more: boolean }> {
    this.#changes.ofList(list);
    return this.#inSteps((connection) =>
      deletePage(connection, list, query, { clock: this.#clock, changes: this.#changes }),
    );
  }

  deleteChildren(uri: string): Promise<void> {
    this.#changingEverything();
    return this.access.run((connection) => {
      const now = this.#clock.now();
      // A list without timestamps left must not keep its parent from being deleted.
      const next = (clock: number): number => Math.min(Math.max(now, clock + 1), Number.MAX_SAFE_INTEGER);
      if (deleteBelow(connection, uri, next)) this.#announceDoomed();
    });
  }

  purgeDeleted(options: PurgeOptions = {}): Promise<number> {
    this.#changingEverything();
    return this.access.read((connection) => purgeTombstones(connection, options));
  }

  trimObjects(list: ListKey, selection: Selection, maxObjects: number): Promise<number> {
    this.#changes.ofList(list);
    const changing = (id: string): void => this.#changes.ofObject(list, id);
    return this.#inSteps((connection) => trimList(connection, list, selection, { maxObjects, changing }));
  }

  restore(list: ListKey, restoration: Restoration): Promise<void> {
    // Others may have to make room for the timestamps.
    this.#changingEverything();
    return this.#inSteps((connection) => restoreEntries(connection, list, restoration));
  }

  flush(): Promise<void> {
    this.#changingEverything();
    return this.access.run(flushStorage);
  }

  #changing(list: ListKey, id: string): void {
    if (this.#held.size > 0) this.#held.delete(keyOfObject(list, id));
    this.#changes.ofObject(list, id);
  }

  #changingEverything(): void {
    this.#forget();
    this.#changes.ofEverything();
  }

  /** What is asked for between two steps may be changed by a later one. */
  #inSteps<T>(write: (connection: Connection) => Steps<T>): Promise<T> {
    this.#forget();
    return this.access.read(write).finally(() => this.#forget());
  }

  #forget(): void {
    this.#held.clear();
    this.#last = undefined;
  }

  #findList(connection: Connection, list: ListKey): ListRow | undefined {
    const last = this.#last;
    if (last?.list.kind === list.kind && last.list.parent === list.parent) return last.row;
    const row = findList(connection, list);
    if (row !== undefined) this.#last = { list, row };
    return row;
  }

  *#putAll(connection: Connection, list: ListKey, objects: readonly NewObject[]): Steps<readonly StoredObject[]> {
    const stored: StoredObject[] = [];
    while (stored.length < objects.length) {
      if (stored.length > 0) yield;
      const now = this.#clock.now();
      const row = findList(connection, list) ?? insertList(connection, list, now - 1);
      let lastModified = row.clock;
      const step = takeStep(objects, stored.length);
      const rows = step.map(({ id, text }) => {
        lastModified = nextAfter(lastModified, now);
        return { list: row.list, object: new StoredObject(id, lastModified, text) };
      });
      insertObjects(connection, rows);
      for (const { object } of rows) stored.push(object);
      updateList(connection, row.list, lastModified, { live: step.length });
    }
    return stored;
  }

  /** Stores a live object in place of the object or tombstone of that id. */
  #put(
    connection: Connection,
    key: ListKey,
    found: Presence,
    id: string,
    text: string,
    given: number | undefined,
  ): StoredObject {
    this.#last = undefined;
    const lastModified =
      found.list === undefined ? (given ?? this.#clock.now()) : this.#nextTimestamp(connection, found.list, given, id);
    const row = found.list ?? insertList(connection, key, lastModified);
    const { list } = row;
    const object = new StoredObject(id, lastModified, text);
    putObject(connection, list, object, found);
    const live = found.isLive ? 0 : 1;
    const dead = found.isDead ? -1 : 0;
    updateList(connection, list, lastModified, { live, dead });
    const clock = Math.max(row.clock, lastModified);
    this.#last = { list: key, row: { list, clock, live: row.live + live, dead: row.dead + dead } };
    return object;
  }

  /**
   * The timestamp that a write to the object gets.
   *
   * @throws IntegrityError when another entry of the list has the one given
   */
  #nextTimestamp(connection: Connection, row: ListRow, given: number | undefined, id: string): number {
    if (given === undefined || given === row.clock) return nextAfter(row.clock, this.#clock.now());
    if (given > row.clock) return given;
    const holder =
      connection.get<[string]>('SELECT id FROM objects WHERE list = ? AND last_modified = ?', row.list, given) ??
      connection.get<[string]>('SELECT id FROM tombstones WHERE list = ? AND last_modified = ?', row.list, given);
    if (holder !== undefined && holder[0] !== id) throw new IntegrityError('another object has this last_modified');
    return given;
  }
}

/** Returns the objects from the place on that are written in one step. */
function takeStep(objects: readonly NewObject[], start: number): readonly NewObject[] {
  const step: NewObject[] = [];
  let chars = 0;
  for (const object of objects.slice(start, start + objectsPerStep)) {
    chars += object.text.length;
    if (step.length > 0 && chars > charsPerStep) break;
    step.push(object);
  }
  return step;
}

/** Deletes one page of live objects in steps, each of which leaves the list's row right. */
function* deletePage(
  connection: Connection,
  key: ListKey,
  query: PageQuery,
  { clock, changes }: { readonly clock: Clock; readonly changes: Changes },
): Steps<{ readonly deletions: readonly Deletion[]; readonly more: boolean }> {
  const row = findList(connection, key);
  if (row === undefined) return { deletions: [], more: false };
  const { entries, more } = yield* selectPage(connection, row, query, false);
  const now = clock.now();
  const deletions: Deletion[] = [];
  for (let start = 0; start < entries.length; start += objectsPerStep) {
    if (start > 0) yield;
    let lastModified = findList(connection, key)?.clock ?? row.clock;
    const before = deletions.length;
    for (const old of entries.slice(start, start + objectsPerStep)) {
      if (!(old instanceof StoredObject)) continue;
      const next = nextAfter(lastModified, now);
      changes.ofObject(key, old.id);
      // Another operation of the same unit of work may have deleted it meanwhile.
      if (!removeObject(connection, row.list, old.id, next)) continue;
      lastModified = next;
      deletions.push({ old, tombstone: { id: old.id, lastModified, deleted: true } });
    }
    const count = deletions.length - before;
    if (count > 0) updateList(connection, row.list, lastModified, { live: -count, dead: count });
  }
  return { deletions, more };
}
