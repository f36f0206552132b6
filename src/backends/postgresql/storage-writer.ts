// Writes of the storage contract for single objects. All checks of an operation happen under the lock of the list and
// before its first change, so no statement that changes rows fails because of its contents.
import type { Clock } from '../../base/clock.ts';
import { InOrder } from '../../base/in-order.ts';
import { UnicityError } from '../../contracts/errors.ts';
import { requireDeletions, requireFree, requireTimestamp, requireTimestamps } from '../../contracts/list-timestamps.ts';
import type {
  DeletedPage,
  DeleteOptions,
  CreateOptions,
  Deletion,
  KeyedObject,
  LockedState,
  NewObject,
  RequireRoom,
  Restoration,
  StorageWriter,
} from '../../contracts/storage.ts';
import { keyOfObject } from '../../core/lists/list-key.ts';
import { RecentObjects } from '../../core/lists/recent-objects.ts';
import { mayBeTaken, putChange, removalChange, touchedClock } from '../../core/lists/list-state.ts';
import type { PurgeOptions } from '../../core/lists/purge.ts';
import { StoredObject, type ListKey, type IndexKeys } from '../../core/objects/stored.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { UnitAccess } from './access.ts';
import { deleteBelow, flushStorage, purgeTombstones, trimList } from './bulk-writes.ts';
import { prepared, type Result, type Statement } from './connection.ts';
import { absent, type Entry, type ListLock } from './list-lock.ts';
import type { ListLocks } from './list-locks.ts';
import { keyArray, keyColumns, keysFrom } from './key-columns.ts';
import { hasIdOf, rowAt } from './look-ups.ts';
import { PendingObjects } from './pending-objects.ts';
import { findHolders, restoreEntries } from './restore.ts';
import { objectOf, PostgresStorageReader, readLongObject, selectPage } from './storage-reader.ts';

// A cascade locks the row of the parent object and of its list exclusively, so it waits for all shared locks on them. Later
// shared locks do not wait for the cascade, which could starve. So a unit locks the list that it writes to where it can.
const selectShared = `SELECT o.last_modified, o.data FROM coffer_lists l
  JOIN coffer_objects o ON o.parent = l.parent AND o.list = l.list
  WHERE l.parent = $1 AND l.kind = $2 AND o.id = $3 FOR KEY SHARE OF l, o`;
const shareObject = prepared('share-object', selectShared);
const shareEarlierObject: Statement = {
  ...prepared('share-earlier-object', `${selectShared} NOWAIT`),
  failsOnLock: true,
};
const replaceByTombstones = prepared(
  'replace-by-tombstones',
  `WITH gone AS (DELETE FROM coffer_objects WHERE ${hasIdOf('objects', '$3::text[]')})
  INSERT INTO coffer_tombstones (parent, list, id, last_modified)
  SELECT $1, $2, b.id, b.last_modified FROM unnest($3::text[], $4::bigint[]) AS b (id, last_modified)`,
);

const noRows: Result = { rows: [], count: 0, command: 'SELECT' };
const setKeys = prepared(
  'set-keys',
  `UPDATE coffer_objects o SET (${keyColumns}) = ROW (${keysFrom('($5::bytea[])', 'n.place')})
  FROM unnest($3::text[], $4::bigint[]) WITH ORDINALITY AS n (id, last_modified, place)
  CROSS JOIN LATERAL (${rowAt('objects', 'e.ctid', ['id', 'n.id'])}) e
  WHERE o.ctid = e.ctid AND o.last_modified = n.last_modified`,
);

export class PostgresStorageWriter extends PostgresStorageReader<UnitAccess> implements StorageWriter {
  readonly #clock: Clock;
  readonly #lists: ListLocks;
  readonly #wakeReaper: () => void;
  /** Sends the statements of each call at once, and lets the calls take effect one after another. */
  readonly #inOrder = new InOrder();
  /** Objects with a shared lock, which stay until the unit ends. Each entry of a batch locks them again. */
  readonly #shared = new Map<string, StoredObject>();
  readonly #recent = new RecentObjects();
  readonly #pending: PendingObjects;

  constructor(access: UnitAccess, lists: ListLocks, clock: Clock, wakeReaper: () => void) {
    super(access);
    this.#clock = clock;
    this.#lists = lists;
    this.#wakeReaper = wakeReaper;
    this.#pending = new PendingObjects((statement, values) => access.send(statement, values));
    access.unit.keepBack(() => this.#pending.flush());
  }

  override async get(list: ListKey, id: string, requireRoom?: RequireRoom): Promise<StoredObject | undefined> {
    const known = await this.#lists.findKnown(list, id, requireRoom);
    if (known !== undefined) return known.object;
    const name = keyOfObject(list, id);
    const { size } = this.#lists;
    const earlier = this.#shared.get(name) ?? this.#recent.find(size, list, id);
    if (earlier !== undefined) return earlier;
    const object = await super.get(list, id, requireRoom);
    if (object !== undefined) this.#recent.keep(size, list, object);
    return object;
  }

  lockShared(list: ListKey, id: string, below?: ListKey): Promise<StoredObject | undefined> {
    // Deleting the object, or a parent of it, locks the row of its list, which this unit has.
    if (this.#lists.has(list)) return this.#lists.findKnown(list, id).then((entry) => entry?.object);
    if (below !== undefined) return this.#lockBelow(list, id, below);
    const sharing = this.#share(list, id);
    this.#lists.delayCreation(sharing);
    return sharing;
  }

  /** Reads the object under the lock of a list below it, which is created when it is absent. */
  async #lockBelow(list: ListKey, id: string, below: ListKey): Promise<StoredObject | undefined> {
    const name = keyOfObject(list, id);
    const known = this.#lists.findKept(name, below);
    if (known !== undefined) return known;
    for (;;) {
      const reading = this.#readBelow(list, id, below);
      this.#lists.delayCreation(reading);
      const { object, isLocked } = await reading;
      if (object === undefined) return undefined;
      // Another transaction that has created the list meanwhile may also have changed the object.
      if (!isLocked && !(await this.#lists.create(below))) continue;
      this.#shared.set(name, object);
      this.#lists.keep(name, object, below);
      return object;
    }
  }

  /** Reads the object under the lock of the list below it, or under a shared lock of its own when that list is absent. */
  async #readBelow(
    list: ListKey,
    id: string,
    below: ListKey,
  ): Promise<{ readonly object: StoredObject | undefined; readonly isLocked: boolean }> {
    // Statements take effect in the order in which they are sent, so the object is read under the lock.
    const [isLocked, object] = await Promise.all([this.#lists.lockBelow(below), this.#readKept(list, id, below)]);
    return { object: isLocked ? object : await this.#share(list, id), isLocked };
  }

  /** Reads an object after a lock. It is known when an earlier unit of the transaction has read it under the same lock. */
  async #readKept(list: ListKey, id: string, below: ListKey): Promise<StoredObject | undefined> {
    let kept: StoredObject | undefined;
    const known = (): Result | undefined => {
      kept = this.#lists.findKept(keyOfObject(list, id), below);
      return kept && noRows;
    };
    const { rows } = await this.access.run(readLongObject, [list.parent, list.kind, id], known);
    return kept ?? objectOf(id, rows[0]);
  }

  /** Locks the rows of the object and its list against deletion, and reads the object. */
  async #share(list: ListKey, id: string): Promise<StoredObject | undefined> {
    const name = keyOfObject(list, id);
    const known = this.#shared.get(name);
    if (known !== undefined) return known;
    const object = await this.#lockRowsShared(list, id);
    if (object !== undefined) this.#shared.set(name, object);
    return object;
  }

  async #lockRowsShared(list: ListKey, id: string): Promise<StoredObject | undefined> {
    const statement = this.#lists.isNext(list) ? shareObject : shareEarlierObject;
    this.#lists.want([list]);
    const { rows } = await this.access.run(statement, [list.parent, list.kind, id]);
    return objectOf(id, rows[0]);
  }

  async lock(list: ListKey, id?: string): Promise<LockedState> {
    const { list: locked, entry } = await this.#lists.lock(list, id);
    return { timestamp: locked.state.clock, ...entry };
  }

  async touch(list: ListKey, to?: number): Promise<number> {
    const { list: locked } = await this.#lists.lock(list);
    const clock = touchedClock(locked.state, this.#clock.now(), to);
    if (locked.state.clock !== clock) locked.change({ clock });
    return clock;
  }

  create(
    key: ListKey,
    id: string,
    text: string,
    lastModified?: number,
    { isFresh = false, keys }: CreateOptions = {},
  ): Promise<StoredObject> {
    return this.#inOrder.run(this.#lists.lock(key, isFresh ? undefined : id), ({ list, entry: found }) => {
      const entry = list.entries.get(id) ?? found;
      if (entry.object !== undefined) throw new UnicityError('id');
      return this.#put(list, entry, { id, text, keys }, lastModified);
    });
  }

  createAll(key: ListKey, objects: readonly NewObject[]): Promise<readonly StoredObject[]> {
    return this.#inOrder.run(this.#lists.lock(key), ({ list }) => {
      const first = requireTimestamps(list.state, this.#clock.now(), objects.length);
      return objects.map(({ id, text, keys }, index) => {
        const object = new StoredObject(id, first + index, text, undefined, keys);
        this.#store(list, id, absent, { object, tombstone: undefined });
        list.change({ clock: object.lastModified, live: 1 });
        return object;
      });
    });
  }

  update(key: ListKey, id: string, text: string, lastModified?: number, keys?: IndexKeys): Promise<StoredObject> {
    return this.#inOrder.run(this.#lists.lock(key, id), ({ list, entry: found }) =>
      this.#put(list, list.entries.get(id) ?? found, { id, text, keys }, lastModified),
    );
  }

  delete(key: ListKey, id: string, options: DeleteOptions = {}): Promise<Deletion | undefined> {
    return this.#inOrder.run(this.#lists.find(key, id), async (early) => {
      // An earlier write of the unit may have created the list.
      const found = early ?? (await this.#lists.find(key, id));
      const old = found === undefined ? undefined : (found.list.entries.get(id) ?? found.entry).object;
      return found === undefined || old === undefined ? undefined : this.#remove(found.list, old, options);
    });
  }

  async #remove(
    list: ListLock,
    old: StoredObject,
    { lastModified: given, keepTombstone = true }: DeleteOptions,
  ): Promise<Deletion> {
    const { id } = old;
    const lastModified = await this.#timestampFor(list, given, id);
    const tombstone = { id, lastModified, deleted: true } as const;
    // Other units rely on the object.
    if (this.#lists.release(keyOfObject(list.key, id))) this.access.unit.refuseFollowers();
    const before = { object: old, tombstone: undefined };
    this.#store(list, id, before, { object: undefined, tombstone: keepTombstone ? tombstone : undefined });
    list.change(removalChange(lastModified, keepTombstone));
    return { old, tombstone };
  }

  async deleteAll(key: ListKey, query: PageQuery): Promise<DeletedPage> {
    const list = (await this.#lists.find(key))?.list;
    if (list === undefined) return { deletions: [], more: false };
    this.access.settle();
    const { entries, more } = await selectPage(this.access, key, { ...query, includeDeleted: false });
    const objects = entries.filter((entry) => entry instanceof StoredObject);
    if (objects.length === 0) return { deletions: [], more };
    const deletions = requireDeletions(list.state, this.#clock.now(), objects);
    const tombstones = deletions.map(({ tombstone }) => tombstone);
    this.access.unit.refuseFollowers();
    const [ids, times] = [tombstones.map(({ id }) => id), tombstones.map(({ lastModified }) => lastModified)];
    this.access.send(replaceByTombstones, [key.parent, list.list, ids, times]);
    list.change({ clock: times.at(-1), live: -ids.length, dead: ids.length });
    for (const tombstone of tombstones) list.entries.set(tombstone.id, { object: undefined, tombstone });
    return { deletions, more };
  }

  async deleteChildren(uri: ObjectUri): Promise<void> {
    this.#forget();
    await deleteBelow(this.access, this.#lists, uri, this.#clock.now());
    this.access.unit.afterCommit(this.#wakeReaper);
  }

  purgeDeleted(options: PurgeOptions = {}): Promise<number> {
    this.#forget();
    return purgeTombstones(this.access, this.#lists, options);
  }

  async trimObjects(key: ListKey, selection: Selection, maxObjects: number): Promise<number> {
    const list = (await this.#lists.find(key))?.list;
    if (list === undefined || list.state.live <= maxObjects) return 0;
    this.access.unit.refuseFollowers();
    const trimmed = await trimList(this.access, key, selection, maxObjects);
    list.change({ live: -trimmed });
    list.entries.clear();
    return trimmed;
  }

  async restore(key: ListKey, restoration: Restoration): Promise<void> {
    this.access.unit.refuseFollowers();
    const { list } = await this.#lists.lock(key);
    await restoreEntries(this.access, list, restoration);
  }

  async setKeys(key: ListKey, objects: readonly KeyedObject[]): Promise<void> {
    const list = (await this.#lists.find(key))?.list;
    if (list === undefined || objects.length === 0) return;
    this.access.settle();
    this.access.unit.refuseFollowers();
    this.access.send(setKeys, [
      key.parent,
      list.list,
      objects.map(({ id }) => id),
      objects.map(({ lastModified }) => lastModified),
      keyArray(objects.map(({ keys }) => keys)),
    ]);
  }

  async flush(): Promise<void> {
    this.#forget();
    await flushStorage(this.access);
    this.access.unit.afterCommit(this.#wakeReaper);
  }

  #forget(): void {
    this.access.unit.refuseFollowers();
    this.#lists.forget();
    this.#shared.clear();
    this.#recent.clear();
  }

  /** Holds back a change of an id, which later calls see at once. */
  #store(list: ListLock, id: string, before: Entry, after: Entry): void {
    this.#lists.release(keyOfObject(list.key, id));
    this.#pending.change(list, id, before, after);
    list.entries.set(id, after);
  }

  /** Stores a live object in place of the object or tombstone of that id. */
  async #put(
    list: ListLock,
    entry: Entry,
    { id, text, keys }: NewObject,
    given: number | undefined,
  ): Promise<StoredObject> {
    const lastModified = await this.#timestampFor(list, given, id);
    const object = new StoredObject(id, lastModified, text, undefined, keys);
    this.#store(list, id, entry, { object, tombstone: undefined });
    list.change(putChange(lastModified, entry));
    return object;
  }

  async #timestampFor(list: ListLock, given: number | undefined, id: string): Promise<number> {
    if (mayBeTaken(list.state, given)) {
      const { rows } = await this.access.run(findHolders, [list.key.parent, list.list, [given]]);
      const holders = rows.map(([, holder]) => holder!);
      requireFree(holders, id);
    }
    return requireTimestamp(list.state, this.#clock.now(), given);
  }
}
