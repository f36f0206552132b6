// The writing half of the storage contract, for single objects. Every check is made under the lock of the list and
// before the first change of an operation, so no statement that changes something can fail for a reason of its own.
import type { Clock } from '../../base/clock.ts';
import { InOrder } from '../../base/in-order.ts';
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
import { deleteBelow, flushStorage, purgeTombstones, raiseHorizon, trimList } from './bulk-writes.ts';
import { prepared, type Result, type Statement } from './connection.ts';
import { findJsonbText } from './jsonb-text.ts';
import { absent, nameOf, type Entry, type LockedList, type LockedLists } from './locked-lists.ts';
import { deleteObject, deleteTombstone, findHolders, restoreEntries } from './restore.ts';
import { objectOf, PostgresStorageReader, readLongObject, selectPage } from './storage-reader.ts';

// Deleting the parent of a list takes its row and that of the object for itself, and so waits until nobody holds them.
// Those who come later need not wait for it in turn, so it might wait for ever where many hold: who can, locks instead.
const selectHeld = `SELECT o.last_modified, o.data FROM coffer_lists l
  JOIN coffer_objects o ON o.parent = l.parent AND o.list = l.list
  WHERE l.parent = $1 AND l.kind = $2 AND o.id = $3 FOR KEY SHARE OF l, o`;
const holdObject = prepared('hold-object', selectHeld);
const holdEarlierObject: Statement = {
  ...prepared('hold-earlier-object', `${selectHeld} NOWAIT`),
  failsOnLock: true,
};
const insertObjects = prepared(
  'insert-objects',
  `INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes)
  SELECT $1, $2, n.id, n.last_modified, n.data, coalesce(n.attributes, n.data)::jsonb
  FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[]) AS n (id, last_modified, data, attributes)`,
);
const insertObject = prepared(
  'insert-object',
  `INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes)
  VALUES ($1, $2, $3, $4, $5::text, coalesce($6::text, $5::text)::jsonb)`,
);
const updateObject = prepared(
  'update-object',
  `UPDATE coffer_objects SET last_modified = $4, data = $5::text, attributes = coalesce($6::text, $5::text)::jsonb
  WHERE parent = $1 AND list = $2 AND id = $3`,
);
const insertTombstone = prepared(
  'insert-tombstone',
  'INSERT INTO coffer_tombstones (parent, list, id, last_modified) VALUES ($1, $2, $3, $4)',
);
const buryObjects = prepared(
  'bury-objects',
  `WITH gone AS (DELETE FROM coffer_objects WHERE parent = $1 AND list = $2 AND id = ANY ($3::text[]))
  INSERT INTO coffer_tombstones (parent, list, id, last_modified)
  SELECT $1, $2, b.id, b.last_modified FROM unnest($3::text[], $4::bigint[]) AS b (id, last_modified)`,
);

/** Objects that one statement stores. */
const chunkObjects = 500;

export class PostgresStorageWriter extends PostgresStorageReader<UnitAccess> implements StorageWriter {
  readonly #clock: Clock;
  readonly #lists: LockedLists;
  readonly #announceDoomed: () => void;
  /** What calls need is asked for as they come; they take effect one after the other. */
  readonly #inOrder = new InOrder();
  /** Objects held by the unit, which nobody deletes before its end; with `get` they are what a batch asks for most. */
  readonly #held = new Map<string, StoredObject>();
  /** Objects that were read, but not held. */
  readonly #seen = new Map<string, StoredObject>();
  /** New objects that are kept back until something else is sent, so that those of a batch leave together. */
  readonly #kept: { readonly list: LockedList; readonly object: StoredObject }[] = [];

  constructor(access: UnitAccess, lists: LockedLists, clock: Clock, announceDoomed: () => void) {
    super(access);
    this.#clock = clock;
    this.#lists = lists;
    this.#announceDoomed = announceDoomed;
    access.unit.keepBack(() => this.#flush());
  }

  override async get(list: ListKey, id: string): Promise<StoredObject | undefined> {
    const known = await this.#lists.findKnown(list, id);
    if (known !== undefined) return known.object;
    const name = heldName(list, id);
    const held = this.#held.get(name);
    if (held !== undefined) return held;
    const object = await super.get(list, id);
    if (object !== undefined) this.#seen.set(name, object);
    return object;
  }

  /** Reads an object after a lock. Where another unit of the transaction keeps it already, as it was seen before. */
  async #getKept(list: ListKey, id: string): Promise<StoredObject | undefined> {
    const name = heldName(list, id);
    const known = (): Result | undefined => {
      const seen = this.#lists.keeps(name) ? this.#seen.get(name) : undefined;
      return seen && { rows: [[String(seen.lastModified), seen.text]], count: 1, command: 'SELECT' };
    };
    const { rows } = await this.access.run(readLongObject, [list.parent, list.kind, id], known);
    return objectOf(id, rows[0]);
  }

  lockShared(list: ListKey, id: string, below?: ListKey): Promise<StoredObject | undefined> {
    const held = this.#lockShared(list, id, below);
    this.#lists.holdBack(held);
    return held;
  }

  async #lockShared(list: ListKey, id: string, below: ListKey | undefined): Promise<StoredObject | undefined> {
    // Deleting an object, or what it lies in, takes the row of its list, which this unit has.
    if (this.#lists.has(list)) return (await this.#lists.findKnown(list, id))?.object;
    const held = this.#held.get(heldName(list, id));
    if (held !== undefined) return held;
    // Read after the lock is there, as statements take effect in their order.
    const [isKept, found] =
      below === undefined ? [false] : await Promise.all([this.#lists.lockBelow(below), this.#getKept(list, id)]);
    const object = isKept ? found : await this.#holdRows(list, id);
    if (object !== undefined) {
      this.#held.set(heldName(list, id), object);
      this.#lists.keep(heldName(list, id));
    }
    return object;
  }

  async #holdRows(list: ListKey, id: string): Promise<StoredObject | undefined> {
    const statement = this.#lists.isNext(list) ? holdObject : holdEarlierObject;
    this.#lists.want([list]);
    const { rows } = await this.access.run(statement, [list.parent, list.kind, id]);
    return objectOf(id, rows[0]);
  }

  async lock(list: ListKey, id?: string): Promise<LockedState> {
    if (id === undefined) {
      const { clock } = await this.#lists.lockList(list);
      return { timestamp: clock, object: undefined, tombstone: undefined };
    }
    const { list: locked, entry } = await this.#lists.lock(list, id);
    return { timestamp: locked.clock, ...entry };
  }

  async touch(list: ListKey): Promise<number> {
    const locked = await this.#lists.lockList(list);
    if (locked.clock === undefined) locked.change(this.#clock.now());
    return locked.clock!;
  }

  create(
    key: ListKey,
    id: string,
    text: string,
    lastModified?: number,
    { isFresh = false }: { readonly isFresh?: boolean } = {},
  ): Promise<StoredObject> {
    const preparing = isFresh
      ? this.#lists.lockList(key).then((list) => ({ list, entry: absent }))
      : this.#lists.lock(key, id);
    return this.#inOrder.run(preparing, ({ list, entry: found }) => {
      const entry = list.entries.get(id) ?? found;
      if (entry.object !== undefined) throw new UnicityError('id');
      return this.#put(list, entry, id, text, lastModified);
    });
  }

  createAll(key: ListKey, objects: readonly NewObject[]): Promise<readonly StoredObject[]> {
    return this.#inOrder.run(this.#lists.lockList(key), (list) => {
      const now = this.#clock.now();
      let clock = list.clock;
      const stored = objects.map(({ id, text }) => {
        clock = nextAfter(clock, now);
        return new StoredObject(id, clock, text);
      });
      for (const object of stored) this.#keep(list, object);
      if (clock !== undefined && stored.length > 0) list.change(clock, { live: stored.length });
      for (const object of stored) list.entries.set(object.id, { object, tombstone: undefined });
      return stored;
    });
  }

  update(key: ListKey, id: string, text: string, lastModified?: number): Promise<StoredObject> {
    return this.#inOrder.run(this.#lists.lock(key, id), ({ list, entry: found }) =>
      this.#put(list, list.entries.get(id) ?? found, id, text, lastModified),
    );
  }

  delete(
    key: ListKey,
    id: string,
    options: { readonly lastModified?: number | undefined; readonly keepTombstone?: boolean } = {},
  ): Promise<Deletion | undefined> {
    return this.#inOrder.run(this.#lists.find(key, id), async (early) => {
      // The list may have come into being with a write that was made before.
      const found = early ?? (await this.#lists.find(key, id));
      const old = found === undefined ? undefined : (found.list.entries.get(id) ?? found.entry).object;
      return found === undefined || old === undefined ? undefined : this.#bury(found.list, old, options);
    });
  }

  async #bury(
    list: LockedList,
    old: StoredObject,
    options: { readonly lastModified?: number | undefined; readonly keepTombstone?: boolean },
  ): Promise<Deletion> {
    const { lastModified: given, keepTombstone = true } = options;
    const { key } = list;
    const { id } = old;
    const lastModified = await this.#nextTimestamp(list, given, id);
    const tombstone = { id, lastModified, deleted: true } as const;
    this.access.unit.endAlone();
    this.access.send(deleteObject, [key.parent, list.list, id]);
    if (keepTombstone) this.access.send(insertTombstone, [key.parent, list.list, id, lastModified]);
    else raiseHorizon(this.access, key, lastModified);
    list.change(lastModified, { live: -1, dead: keepTombstone ? 1 : 0 });
    list.entries.set(id, { object: undefined, tombstone: keepTombstone ? tombstone : undefined });
    return { old, tombstone };
  }

  async deleteAll(
    key: ListKey,
    query: PageQuery,
  ): Promise<{ readonly deletions: readonly Deletion[]; readonly more: boolean }> {
    const list = await this.#lists.findList(key);
    if (list === undefined) return { deletions: [], more: false };
    this.access.settle();
    const { entries, more } = await selectPage(this.access, key, query, false);
    const now = this.#clock.now();
    let lastModified = list.clock;
    const deletions: Deletion[] = [];
    for (const old of entries) {
      if (!(old instanceof StoredObject)) continue;
      lastModified = nextAfter(lastModified, now);
      deletions.push({ old, tombstone: { id: old.id, lastModified, deleted: true } });
    }
    if (lastModified === undefined || deletions.length === 0) return { deletions, more };
    const ids = deletions.map(({ old }) => old.id);
    this.access.unit.endAlone();
    const times = deletions.map(({ tombstone }) => tombstone.lastModified);
    this.access.send(buryObjects, [key.parent, list.list, ids, times]);
    list.change(lastModified, { live: -deletions.length, dead: deletions.length });
    for (const { tombstone } of deletions) list.entries.set(tombstone.id, { object: undefined, tombstone });
    return { deletions, more };
  }

  async deleteChildren(uri: string): Promise<void> {
    this.#forget();
    await deleteBelow(this.access, this.#lists, uri, this.#clock.now());
    this.access.unit.afterCommit(this.#announceDoomed);
  }

  purgeDeleted(options: PurgeOptions = {}): Promise<number> {
    this.#forget();
    return purgeTombstones(this.access, options);
  }

  async trimObjects(key: ListKey, selection: Selection, maxObjects: number): Promise<number> {
    const list = await this.#lists.findList(key);
    if (list === undefined || list.live <= maxObjects) return 0;
    this.access.unit.endAlone();
    const trimmed = await trimList(this.access, key, selection, maxObjects);
    list.change(list.clock ?? this.#clock.now(), { live: -trimmed });
    list.entries.clear();
    return trimmed;
  }

  async restore(key: ListKey, restoration: Restoration): Promise<void> {
    this.access.unit.endAlone();
    await restoreEntries(this.access, await this.#lists.lockList(key), restoration);
    if (restoration.horizon !== undefined) raiseHorizon(this.access, key, restoration.horizon);
  }

  async flush(): Promise<void> {
    this.#forget();
    await flushStorage(this.access);
    this.access.unit.afterCommit(this.#announceDoomed);
  }

  #forget(): void {
    this.access.unit.endAlone();
    this.#lists.forget();
    this.#held.clear();
    this.#seen.clear();
  }

  #keep(list: LockedList, object: StoredObject): void {
    this.#kept.push({ list, object });
    if (this.#kept.length === chunkObjects) this.#flush();
  }

  /** Inserts the objects that were kept back, list by list. */
  #flush(): void {
    const kept = this.#kept.splice(0);
    const lists = new Map<LockedList, StoredObject[]>();
    for (const { list, object } of kept) {
      const objects = lists.get(list);
      if (objects === undefined) lists.set(list, [object]);
      else objects.push(object);
    }
    for (const [list, objects] of lists) this.#insert(list, objects);
  }

  #insert({ key, list }: LockedList, objects: readonly StoredObject[]): void {
    const [only] = objects;
    if (objects.length === 1 && only !== undefined) {
      const { id, lastModified, text } = only;
      this.access.send(insertObject, [key.parent, list, id, lastModified, text, findJsonbText(text) ?? null]);
      return;
    }
    this.access.send(insertObjects, [
      key.parent,
      list,
      objects.map(({ id }) => id),
      objects.map(({ lastModified }) => lastModified),
      objects.map(({ text }) => text),
      objects.map(({ text }) => findJsonbText(text) ?? null),
    ]);
  }

  /** Stores a live object in place of the object or tombstone of that id. */
  async #put(
    list: LockedList,
    entry: Entry,
    id: string,
    text: string,
    given: number | undefined,
  ): Promise<StoredObject> {
    const lastModified = await this.#nextTimestamp(list, given, id);
    const { parent } = list.key;
    const object = new StoredObject(id, lastModified, text);
    if (entry.object === undefined) this.#keep(list, object);
    else this.access.send(updateObject, [parent, list.list, id, lastModified, text, findJsonbText(text) ?? null]);
    if (entry.tombstone !== undefined) this.access.send(deleteTombstone, [parent, list.list, id]);
    list.change(lastModified, {
      live: entry.object === undefined ? 1 : 0,
      dead: entry.tombstone === undefined ? 0 : -1,
    });
    list.entries.set(id, { object, tombstone: undefined });
    return object;
  }

  /**
   * The timestamp that a write to the object gets.
   *
   * @throws IntegrityError when another entry of the list has the one given
   */
  async #nextTimestamp(list: LockedList, given: number | undefined, id: string): Promise<number> {
    const { clock } = list;
    if (given === undefined || given === clock) return nextAfter(clock, this.#clock.now());
    if (clock === undefined || given > clock) return given;
    const { rows } = await this.access.run(findHolders, [list.key.parent, list.list, [given]]);
    if (rows.some(([, holder]) => holder !== id)) throw new IntegrityError('another object has this last_modified');
    return given;
  }
}

/**
 * The timestamp after this one, which is the time if that is later.
 *
 * @throws IntegrityError when a client has used up all timestamps with one far in the future
 */
function nextAfter(timestamp: number | undefined, now: number): number {
  const next = timestamp === undefined ? now : Math.max(now, timestamp + 1);
  if (!Number.isSafeInteger(next)) throw new IntegrityError('the list has no timestamps left');
  return next;
}

function heldName(list: ListKey, id: string): string {
  return `${nameOf(list)} ${id}`;
}
