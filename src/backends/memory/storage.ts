// The storage contract on the tables of a memory database.
import type { Clock } from '../../base/clock.ts';
import type { Steps } from '../../base/steps.ts';
import { UnicityError } from '../../contracts/errors.ts';
import { requireDeletions, requireTimestamps } from '../../contracts/list-timestamps.ts';
import type {
  CreateOptions,
  DeletedPage,
  DeleteOptions,
  Deletion,
  FoundWords,
  KeyedObject,
  KindCount,
  ListClocks,
  ListSummary,
  LockedState,
  NewObject,
  Page,
  PageText,
  Restoration,
  StorageBackend,
  StorageReader,
  StorageWriter,
} from '../../contracts/storage.ts';
import { restoredClock, touchedClock, unwritten } from '../../core/lists/list-state.ts';
import { Purge, type PurgeOptions } from '../../core/lists/purge.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import { isTombstone, StoredObject, type ListKey, type Tombstone, type IndexKeys } from '../../core/objects/stored.ts';
import type { ListParent, ObjectUri } from '../../core/objects/uris.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { WordSearch } from '../../core/text/text-query.ts';
import type { MemoryDatabase } from './database.ts';
import { visitWords } from './find-words.ts';
import { ListWrites } from './list-writes.ts';
import type { ListTable, ObjectList } from './list-table.ts';
import { PageTexts } from './page-texts.ts';
import { liveView } from './list-view.ts';
import { countSelected, selectLivePage, selectNewest, selectPage } from './select.ts';
import type { MemoryUnit } from './unit-queue.ts';

/** Number of objects created without a pause. */
const createdPerStep = 500;

/** Access to the tables: committed state, or the state of a unit of work. */
interface Access {
  /** Runs an operation in one step, so that its reads and writes use one snapshot. */
  run<T>(operation: () => T): Promise<T>;
  /** Runs a read of one snapshot in steps. */
  walk<T>(steps: Steps<T>): Promise<T>;
}

/** Creates the storage backend of a memory database. */
export function createMemoryStorage(database: MemoryDatabase): StorageBackend {
  const { lists, clock } = database;
  const texts = new PageTexts(lists);
  return {
    database,
    reader: new MemoryStorageReader(lists, texts, {
      run: (operation) => database.read(operation),
      walk: (steps) => database.walk(steps),
    }),
    writer: (transaction) => new MemoryStorageWriter(lists, texts, clock, database.requireUnit(transaction)),
  };
}

class MemoryStorageReader implements StorageReader {
  protected readonly table: ListTable;
  protected readonly access: Access;
  readonly #texts: PageTexts;

  constructor(lists: ListTable, texts: PageTexts, access: Access) {
    this.table = lists;
    this.#texts = texts;
    this.access = access;
  }

  get(list: ListKey, id: string): Promise<StoredObject | undefined> {
    return this.access.run(() => this.table.find(list)?.contents.live.get(id));
  }

  listAll(list: ListKey, query: PageQuery): Promise<Page> {
    return this.access.walk(readPage(this.table, list, query));
  }

  listText(list: ListKey, query: PageQuery): Promise<PageText> {
    return this.access.walk(this.#texts.read(list, query));
  }

  countAll(list: ListKey, selection: Selection): Promise<number> {
    return this.access.walk(readCount(this.table, list, selection));
  }

  findWords(list: ListKey, search: WordSearch, limit: number): Promise<FoundWords> {
    return this.access.walk(findWords(this.table, list, search, limit));
  }

  countWords(list: ListKey, search: WordSearch): Promise<number> {
    return this.access.walk(countWords(this.table, list, search));
  }

  countKinds(): Promise<ReadonlyMap<string, KindCount>> {
    return this.access.run(() => {
      const counts = new Map<string, KindCount>();
      for (const { kind, live, dead } of this.table.lists()) {
        const { objects, tombstones } = counts.get(kind) ?? { objects: 0, tombstones: 0 };
        counts.set(kind, { objects: objects + live, tombstones: tombstones + dead });
      }
      return counts;
    });
  }

  resourceTimestamp(list: ListKey): Promise<number | undefined> {
    return this.access.run(() => this.table.find(list)?.clock);
  }

  clocks(lists: readonly ListKey[]): Promise<ListClocks> {
    return this.access.run(() => {
      return { clocks: lists.map((list) => this.table.find(list)?.clock), flushes: this.table.flushes };
    });
  }

  listParents(kind: string): Promise<readonly ListParent[]> {
    return this.access.run(() => {
      const parents: ListParent[] = [];
      for (const { parent, live } of this.table.lists(kind)) if (live > 0) parents.push(parent);
      return parents;
    });
  }

  lists(after: ListKey | undefined, limit: number): Promise<readonly ListSummary[]> {
    return this.access.run(() => {
      const found: ListSummary[] = [];
      for (const list of this.table.lists()) {
        const { kind, parent, clock: timestamp, horizon, live, dead } = list;
        if (timestamp === undefined || (after !== undefined && compareLists(list, after) <= 0)) continue;
        found.push({ kind, parent, timestamp, horizon, live, dead });
      }
      return found.toSorted(compareLists).slice(0, limit);
    });
  }
}

class MemoryStorageWriter extends MemoryStorageReader implements StorageWriter {
  readonly #unit: MemoryUnit;
  readonly #clock: Clock;
  readonly #writes: ListWrites;

  constructor(lists: ListTable, texts: PageTexts, clock: Clock, unit: MemoryUnit) {
    super(lists, texts, unit);
    this.#unit = unit;
    this.#clock = clock;
    this.#writes = new ListWrites(lists, clock, unit);
  }

  /** Takes no lock: the unit is the only writer of the database from its start to its end. */
  lock(list: ListKey, id?: string): Promise<LockedState> {
    return this.access.run(() => {
      const found = this.table.find(list);
      const object = id === undefined ? undefined : found?.contents.live.get(id);
      const tombstone = id === undefined ? undefined : found?.contents.dead.get(id);
      return { timestamp: found?.clock, object, tombstone };
    });
  }

  /** Takes no lock: no other unit deletes while this one lasts. */
  lockShared(list: ListKey, id: string): Promise<StoredObject | undefined> {
    return this.get(list, id);
  }

  touch(list: ListKey, to?: number): Promise<number> {
    return this.access.run(() => {
      const clock = touchedClock(this.table.find(list) ?? unwritten, this.#clock.now(), to);
      this.table.move(list, { clock }, this.#unit);
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
    return this.access.run(() => {
      if (!isFresh && this.table.find(list)?.contents.live.has(id)) throw new UnicityError('id');
      return this.#writes.put(list, { id, text, keys }, lastModified, isFresh);
    });
  }

  createAll(list: ListKey, objects: readonly NewObject[]): Promise<readonly StoredObject[]> {
    return this.access.walk(this.#createAll(list, objects));
  }

  update(list: ListKey, id: string, text: string, lastModified?: number, keys?: IndexKeys): Promise<StoredObject> {
    return this.access.run(() => this.#writes.put(list, { id, text, keys }, lastModified));
  }

  delete(
    list: ListKey,
    id: string,
    { lastModified: given, keepTombstone = true }: DeleteOptions = {},
  ): Promise<Deletion | undefined> {
    return this.access.run(() => {
      const old = this.table.find(list)?.contents.live.get(id);
      if (old === undefined) return undefined;
      return this.#writes.remove(list, old, given, keepTombstone);
    });
  }

  deleteAll(list: ListKey, query: PageQuery): Promise<DeletedPage> {
    return this.access.walk(this.#deletePage(list, query));
  }

  deleteChildren(uri: ObjectUri): Promise<void> {
    return this.access.run(() => {
      const now = this.#clock.now();
      for (const list of this.table.listsBelow(uri)) this.table.empty(list, now, this.#unit);
    });
  }

  purgeDeleted(options: PurgeOptions = {}): Promise<number> {
    return this.access.run(() => {
      const purge = new Purge(options);
      for (const list of this.table.lists(purge.kind)) if (purge.includes(list)) this.#purgeList(list, purge);
      return purge.count;
    });
  }

  trimObjects(list: ListKey, selection: Selection, maxObjects: number): Promise<number> {
    return this.access.walk(this.#trim(list, selection, maxObjects));
  }

  restore(key: ListKey, { clock, entries, horizon, gone = [] }: Restoration): Promise<void> {
    return this.access.run(() => {
      for (const id of gone) this.#clear(key, id, undefined);
      for (const entry of entries) {
        this.#clear(key, entry.id, entry.lastModified);
        if (isTombstone(entry)) this.table.mark(key, entry, this.#unit);
        else this.table.put(key, entry, {}, this.#unit);
      }
      this.table.move(key, { clock: restoredClock(clock, entries), horizon }, this.#unit);
    });
  }

  setKeys(list: ListKey, objects: readonly KeyedObject[]): Promise<void> {
    return this.access.run(() => {
      for (const { id, lastModified, keys } of objects) {
        const old = this.table.find(list)?.contents.live.get(id);
        if (old?.lastModified !== lastModified) continue;
        // Without the attributes, which were parsed for the keys: they would take a quarter of the memory that a build adds.
        this.table.put(list, new StoredObject(id, lastModified, old.text, undefined, keys), {}, this.#unit);
      }
    });
  }

  flush(): Promise<void> {
    return this.access.run(() => this.table.flush(this.#unit));
  }

  *#createAll(list: ListKey, objects: readonly NewObject[]): Steps<readonly StoredObject[]> {
    requireTimestamps(this.table.find(list) ?? unwritten, this.#clock.now(), objects.length);
    const stored: StoredObject[] = [];
    for (const object of objects) {
      if (stored.length > 0 && stored.length % createdPerStep === 0) yield;
      stored.push(this.#writes.put(list, object, undefined));
    }
    return stored;
  }

  *#deletePage(list: ListKey, query: PageQuery): Steps<DeletedPage> {
    const found = this.table.find(list);
    if (found === undefined) return { deletions: [], more: false };
    const { entries, more } = yield* selectLivePage(found.contents, query);
    if (entries.length === 0) return { deletions: [], more };
    const deletions = requireDeletions(found, this.#clock.now(), entries);
    // The clock moves last: other requests read it while the objects are removed in steps.
    yield* this.table.removeAll(list, deletions, this.#unit);
    this.table.move(list, { clock: deletions.at(-1)?.tombstone.lastModified }, this.#unit);
    return { deletions, more };
  }

  *#trim(list: ListKey, selection: Selection, maxObjects: number): Steps<number> {
    const found = this.table.find(list);
    if (found === undefined || found.live <= maxObjects) return 0;
    const selected = yield* selectNewest(found.contents, selection);
    const excess = selected.slice(maxObjects);
    for (const old of excess) this.table.remove(list, old, undefined, {}, this.#unit);
    return excess.length;
  }

  #purgeList(list: ObjectList, purge: Purge): void {
    let left = purge.limitTo(list.dead);
    const purged: Tombstone[] = [];
    for (const [timestamp, tombstone] of list.contents.deadByTime.entries()) {
      if (left-- <= 0 || timestamp >= purge.before) break;
      purged.push(tombstone);
    }
    if (purged.length === 0) return;
    for (const tombstone of purged) this.table.forget(list, tombstone, this.#unit);
    this.table.move(list, { horizon: purged.at(-1)?.lastModified }, this.#unit);
    purge.count += purged.length;
  }

  /** Removes the entries that have the id or the timestamp. */
  #clear(key: ListKey, id: string, lastModified: number | undefined): void {
    const contents = this.table.find(key)?.contents;
    if (contents === undefined) return;
    const { live, liveByTime, dead, deadByTime } = contents;
    const times = lastModified === undefined ? [] : [lastModified];
    const objects = new Set([live.get(id), ...times.map((time) => liveByTime.get(time))]);
    const tombstones = new Set([dead.get(id), ...times.map((time) => deadByTime.get(time))]);
    for (const object of objects) if (object !== undefined) this.table.remove(key, object, undefined, {}, this.#unit);
    for (const tombstone of tombstones) if (tombstone !== undefined) this.table.forget(key, tombstone, this.#unit);
  }
}

function* readPage(table: ListTable, list: ListKey, query: PageQuery): Steps<Page> {
  const found = table.find(list);
  if (found === undefined) return { timestamp: undefined, horizon: 0, entries: [], more: false };
  const { clock: timestamp, horizon } = found;
  return { timestamp, horizon, ...(yield* selectPage(found.contents, query)) };
}

function* findWords(table: ListTable, list: ListKey, search: WordSearch, limit: number): Steps<FoundWords> {
  const found = table.find(list);
  const { clock: timestamp } = found ?? unwritten;
  const ids: string[] = [];
  if (found !== undefined) yield* visitWords(liveView(found.contents), search, ({ id }) => ids.push(id) <= limit);
  return { timestamp, ids: ids.slice(0, limit), more: ids.length > limit };
}

function* countWords(table: ListTable, list: ListKey, search: WordSearch): Steps<number> {
  const found = table.find(list);
  let total = 0;
  if (found !== undefined) yield* visitWords(liveView(found.contents), search, () => ++total > 0);
  return total;
}

function* readCount(table: ListTable, list: ListKey, selection: Selection): Steps<number> {
  const found = table.find(list);
  return found === undefined ? 0 : yield* countSelected(found.contents, selection);
}
