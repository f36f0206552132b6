// Writes of the storage contract for single objects. A unit of work is the only writer of the file, so rows that it has
// read stay the same until it ends. All checks of an operation precede its first change.
import type { Clock } from '../../base/clock.ts';
import type { Steps } from '../../base/steps.ts';
import { UnicityError } from '../../contracts/errors.ts';
import { requireFree, requireTimestamp, requireTimestamps } from '../../contracts/list-timestamps.ts';
import type {
  DeletedPage,
  DeleteOptions,
  CreateOptions,
  Deletion,
  KeyedObject,
  LockedState,
  NewObject,
  ReadNeeds,
  RequireRoom,
  Restoration,
  StorageWriter,
} from '../../contracts/storage.ts';
import { keyOfObject } from '../../core/lists/list-key.ts';
import {
  mayBeTaken,
  putChange,
  removalChange,
  touchedClock,
  unwritten,
  type ListChange,
} from '../../core/lists/list-state.ts';
import type { PurgeOptions } from '../../core/lists/purge.ts';
import { DeferredObject } from '../../core/objects/deferred-object.ts';
import { StoredObject, type ListKey, type IndexKeys } from '../../core/objects/stored.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { UnitAccess } from './access.ts';
import { deleteBelow, flushStorage, purgeTombstones, trimList } from './bulk-writes.ts';
import type { Connection } from './connection.ts';
import { ListRows } from './list-rows.ts';
import type { ListRow } from './lists.ts';
import { setKeys } from './key-columns.ts';
import {
  findObject,
  findPresence,
  insertObjects,
  putObject,
  removeObject,
  type Deferring,
  type Presence,
} from './object-rows.ts';
import { selectPage } from './page.ts';
import type { Changes } from './read-cache.ts';
import { restoreEntries } from './restore.ts';
import { maxBytesAtOnce, readObject, SqliteStorageReader } from './storage-reader.ts';

/** Number of objects written or deleted without a pause. */
const objectsPerStep = 100;
/** Number of characters written without a pause. A longer text is written by itself. */
const charsPerStep = 500_000;
/** Maximum number of objects that a unit remembers. */
const maxKnown = 100;

export class SqliteStorageWriter extends SqliteStorageReader implements StorageWriter {
  readonly #changes: Changes;
  readonly #runAtOnce: UnitAccess['runAtOnce'];
  readonly #clock: Clock;
  readonly #wakeReaper: () => void;
  /**
   * Small objects that the unit has read: a write reads an object before it locks it, and each entry of a batch reads its
   * parents again. No other unit changes them meanwhile, and the unit forgets them when it may have changed one itself.
   */
  readonly #known = new Map<string, StoredObject>();
  readonly #rows = new ListRows();
  /** The last large object that the unit has read. */
  #lastLarge: { readonly key: string; readonly object: StoredObject } | undefined;
  /** Objects whose texts were deferred and that have not changed since. */
  readonly #deferred = new Map<string, DeferredObject>();

  constructor(access: UnitAccess, clock: Clock, wakeReaper: () => void) {
    super(access);
    this.#changes = access.changes;
    this.#runAtOnce = access.runAtOnce;
    this.#clock = clock;
    this.#wakeReaper = wakeReaper;
  }

  override async get(
    list: ListKey,
    id: string,
    requireRoom?: RequireRoom,
    { defersText = false }: ReadNeeds = {},
  ): Promise<StoredObject | undefined> {
    const key = keyOfObject(list, id);
    const read = (connection: Connection): StoredObject | undefined =>
      defersText
        ? findObject(connection, list, id, this.#deferring(list, id)).object
        : readObject(connection, list, id);
    const known = this.#recall(key, defersText);
    const object = known ?? (await this.access.run((connection) => this.#keep(key, read(connection))));
    if (object?.isLarge === true && !object.isDeferred) requireRoom?.(object.chars);
    return object;
  }

  #recall(key: string, defersText: boolean): StoredObject | undefined {
    const object =
      this.#deferred.get(key) ?? (this.#lastLarge?.key === key ? this.#lastLarge.object : this.#known.get(key));
    return object?.isDeferred === true && !defersText ? loaded(object) : object;
  }

  /** Leaves a long text of an object in its row until it is used or the object changes. */
  #deferring(list: ListKey, id: string): Deferring {
    return {
      maxBytes: maxBytesAtOnce,
      defer: (lastModified, bytes) => {
        const readText = (): string => this.#runAtOnce((connection) => readObject(connection, list, id)!.text);
        const object = new DeferredObject(id, lastModified, bytes, readText);
        this.#deferred.set(keyOfObject(list, id), object);
        return object;
      },
    };
  }

  #keep(key: string, object: StoredObject | undefined): StoredObject | undefined {
    if (object instanceof DeferredObject) return object;
    if (object?.isLarge === true) this.#lastLarge = { key, object };
    else if (object !== undefined) {
      if (this.#known.size >= maxKnown) this.#known.clear();
      this.#known.set(key, object);
    }
    return object;
  }

  /** Takes no lock: the unit is the only writer of the file from its start to its end. */
  lock(list: ListKey, id?: string, { defersText = false }: ReadNeeds = {}): Promise<LockedState> {
    return this.access.run((connection) => {
      if (id === undefined) {
        const timestamp = this.#rows.find(connection, list)?.clock;
        return { timestamp, object: undefined, tombstone: undefined };
      }
      const known = this.#recall(keyOfObject(list, id), defersText);
      if (known !== undefined) {
        return { timestamp: this.#rows.find(connection, list)?.clock, object: known, tombstone: undefined };
      }
      const deferring = defersText ? this.#deferring(list, id) : undefined;
      const { list: row, object, tombstone } = findObject(connection, list, id, deferring);
      return { timestamp: row?.clock, object, tombstone };
    });
  }

  /** Takes no lock: no other unit deletes while this one lasts. */
  lockShared(list: ListKey, id: string): Promise<StoredObject | undefined> {
    return this.get(list, id);
  }

  touch(list: ListKey, to?: number): Promise<number> {
    this.#changes.ofList(list);
    return this.access.run((connection) => {
      const now = this.#clock.now();
      const row = this.#rows.ensure(connection, list, to ?? now);
      const clock = touchedClock(row, now, to);
      if (clock !== row.clock) this.#change(connection, list, { clock });
      return clock;
    });
  }

  create(
    list: ListKey,
    id: string,
    text: string,
    lastModified?: number,
    { isFresh = false, keys }: CreateOptions = {},
  ): Promise<StoredObject> {
    this.#changing(list, id);
    return this.access.run((connection) => {
      const found = isFresh
        ? { list: this.#rows.find(connection, list), object: undefined, tombstone: undefined }
        : findPresence(connection, list, id);
      if (found.object !== undefined) throw new UnicityError('id');
      return this.#put(connection, list, found, { id, text, keys }, lastModified);
    });
  }

  async createAll(list: ListKey, objects: readonly NewObject[]): Promise<readonly StoredObject[]> {
    this.#changes.ofList(list);
    return this.#inSteps((connection) => this.#putAll(connection, list, objects));
  }

  update(list: ListKey, id: string, text: string, lastModified?: number, keys?: IndexKeys): Promise<StoredObject> {
    this.#changing(list, id);
    return this.access.run((connection) =>
      this.#put(connection, list, findPresence(connection, list, id), { id, text, keys }, lastModified),
    );
  }

  delete(
    list: ListKey,
    id: string,
    { lastModified: given, keepTombstone = true }: DeleteOptions = {},
  ): Promise<Deletion | undefined> {
    this.#changing(list, id);
    return this.access.run((connection) => {
      const { list: row, object: old } = findObject(connection, list, id);
      if (row === undefined || old === undefined) return undefined;
      const lastModified = this.#timestampFor(connection, row, given, id);
      removeObject(connection, row.list, id, keepTombstone ? lastModified : undefined);
      this.#change(connection, list, removalChange(lastModified, keepTombstone));
      return { old, tombstone: { id, lastModified, deleted: true } };
    });
  }

  deleteAll(list: ListKey, query: PageQuery): Promise<DeletedPage> {
    this.#changes.ofList(list);
    return this.#inSteps((connection) => this.#deletePage(connection, list, query));
  }

  deleteChildren(uri: ObjectUri): Promise<void> {
    this.#changingEverything();
    return this.#inSteps((connection) => this.#deleteBelow(connection, uri));
  }

  purgeDeleted(options: PurgeOptions = {}): Promise<number> {
    this.#changingEverything();
    return this.access.read((connection) => purgeTombstones(connection, this.#rows, options));
  }

  trimObjects(list: ListKey, selection: Selection, maxObjects: number): Promise<number> {
    this.#changes.ofList(list);
    const changing = (id: string): void => this.#changes.ofObject(list, id);
    return this.#inSteps((connection) => trimList(connection, this.#rows, list, selection, { maxObjects, changing }));
  }

  restore(list: ListKey, restoration: Restoration): Promise<void> {
    // Entries that are in the way of the timestamps are removed.
    this.#changingEverything();
    return this.#inSteps((connection) => restoreEntries(connection, this.#rows, list, restoration));
  }

  setKeys(list: ListKey, objects: readonly KeyedObject[]): Promise<void> {
    return this.#inSteps((connection) => setKeys(connection, this.#rows.find(connection, list), objects));
  }

  flush(): Promise<void> {
    this.#changingEverything();
    return this.access.run(flushStorage);
  }

  #changing(list: ListKey, id: string): void {
    if (this.#known.size + this.#deferred.size > 0) {
      const key = keyOfObject(list, id);
      this.#known.delete(key);
      this.#deferred.get(key)?.expire();
      this.#deferred.delete(key);
    }
    this.#lastLarge = undefined;
    this.#changes.ofObject(list, id);
  }

  #changingEverything(): void {
    this.#forget();
    this.#changes.ofEverything();
  }

  *#deleteBelow(connection: Connection, uri: ObjectUri): Steps<void> {
    if (yield* deleteBelow(connection, uri, this.#clock.now())) this.#wakeReaper();
  }

  /** Writes in steps. Forgets rows that were read before, and between two steps: a later step may change them. */
  #inSteps<T>(write: (connection: Connection) => Steps<T>): Promise<T> {
    this.#forget();
    return this.access.read(write).finally(() => this.#forget());
  }

  #forget(): void {
    this.#known.clear();
    for (const object of this.#deferred.values()) object.expire();
    this.#deferred.clear();
    this.#lastLarge = undefined;
    this.#rows.forget();
  }

  /** Changes the row of the list and writes it. */
  #change(connection: Connection, list: ListKey, change: ListChange): void {
    this.#rows.change(connection, list, change);
    this.#rows.store(connection);
  }

  *#putAll(connection: Connection, list: ListKey, objects: readonly NewObject[]): Steps<readonly StoredObject[]> {
    const now = this.#clock.now();
    const stored: StoredObject[] = [];
    while (stored.length < objects.length) {
      if (stored.length > 0) yield;
      const state = this.#rows.find(connection, list) ?? unwritten;
      const first = requireTimestamps(state, now, objects.length - stored.length);
      const { list: number } = this.#rows.ensure(connection, list, first);
      const step = takeStep(objects, stored.length);
      const rows = step.map(({ id, text, keys }, index) => {
        return { list: number, object: new StoredObject(id, first + index, text, undefined, keys) };
      });
      insertObjects(connection, rows);
      for (const { object } of rows) stored.push(object);
      this.#change(connection, list, { clock: first + step.length - 1, live: step.length });
    }
    return stored;
  }

  /** Stores a live object in place of the object or tombstone of that id. */
  #put(
    connection: Connection,
    key: ListKey,
    found: Presence,
    { id, text, keys }: NewObject,
    given: number | undefined,
  ): StoredObject {
    const lastModified = this.#timestampFor(connection, found.list, given, id);
    const { list } = this.#rows.ensure(connection, key, lastModified);
    const object = new StoredObject(id, lastModified, text, undefined, keys);
    putObject(connection, list, object, found);
    this.#change(connection, key, putChange(lastModified, found));
    return object;
  }

  #timestampFor(connection: Connection, row: ListRow | undefined, given: number | undefined, id: string): number {
    if (row !== undefined && mayBeTaken(row, given)) {
      const holder =
        connection.get<[string]>('SELECT id FROM objects WHERE list = ? AND last_modified = ?', row.list, given) ??
        connection.get<[string]>('SELECT id FROM tombstones WHERE list = ? AND last_modified = ?', row.list, given);
      if (holder !== undefined) requireFree(holder, id);
    }
    return requireTimestamp(row ?? unwritten, this.#clock.now(), given);
  }

  /** Deletes one page of live objects in steps, each of which leaves the row of the list right. */
  *#deletePage(connection: Connection, key: ListKey, query: PageQuery): Steps<DeletedPage> {
    const row = this.#rows.find(connection, key);
    if (row === undefined) return { deletions: [], more: false };
    const { entries, more } = yield* selectPage(connection, row, { ...query, includeDeleted: false });
    const now = this.#clock.now();
    const deletions: Deletion[] = [];
    for (let start = 0; start < entries.length; start += objectsPerStep) {
      if (start > 0) yield;
      const first = requireTimestamps(this.#rows.find(connection, key) ?? row, now, entries.length - start);
      const before = deletions.length;
      for (const old of entries.slice(start, start + objectsPerStep)) {
        if (!(old instanceof StoredObject)) continue;
        const lastModified = first + deletions.length - before;
        this.#changes.ofObject(key, old.id);
        // Another operation of the same unit of work may have deleted it meanwhile.
        if (!removeObject(connection, row.list, old.id, lastModified)) continue;
        deletions.push({ old, tombstone: { id: old.id, lastModified, deleted: true } });
      }
      const count = deletions.length - before;
      if (count > 0) this.#change(connection, key, { clock: first + count - 1, live: -count, dead: count });
    }
    return { deletions, more };
  }
}

/** Returns an object after its deferred text was read. */
function loaded(object: StoredObject): StoredObject {
  void object.text;
  return object;
}

/** Returns the objects from a place on that are written in one step. */
function takeStep(objects: readonly NewObject[], start: number): readonly NewObject[] {
  let chars = 0;
  const step = objects.slice(start, start + objectsPerStep);
  const end = step.findIndex(({ text }, index) => (chars += text.length) > charsPerStep && index > 0);
  return end === -1 ? step : step.slice(0, end);
}
