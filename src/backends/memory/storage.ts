// The storage contract on the tables of a memory database.
import type { Clock } from '../../base/clock.ts';
import type { Steps } from '../../base/steps.ts';
import { UnicityError } from '../../contracts/errors.ts';
import type {
  Deletion,
  KindCount,
  ListState,
  LockedState,
  NewObject,
  Page,
  PageText,
  PurgeOptions,
  Restoration,
  StorageBackend,
  StorageReader,
  StorageWriter,
} from '../../contracts/storage.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import { isTombstone, type ListKey, type StoredObject, type Tombstone } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { MemoryDatabase } from './database.ts';
import { ListChanges } from './list-changes.ts';
import type { ListTable, ObjectList } from './list-table.ts';
import { PageTexts } from './page-texts.ts';
import { countSelected, selectLivePage, selectNewest, selectPage } from './select.ts';
import type { MemoryUnit } from './unit-queue.ts';

/** How the tables are reached: committed state, or a unit of work. */
interface Access {
  /** Runs one operation in one step, so that all it reads and writes is one snapshot. */
  run<T>(operation: () => T): Promise<T>;
  /** Runs a read in one snapshot, with pauses when it yields. */
  walk<T>(steps: Steps<T>): Promise<T>;
}

/** The storage backend of a memory database. */
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

  countKinds(): Promise<ReadonlyMap<string, KindCount>> {
    return this.access.run(() => {
      const counts = new Map<string, KindCount>();
      for (const { kind, contents } of this.table.lists()) {
        const { objects, tombstones } = counts.get(kind) ?? { objects: 0, tombstones: 0 };
        counts.set(kind, { objects: objects + contents.live.size, tombstones: tombstones + contents.dead.size });
      }
      return counts;
    });
  }

  resourceTimestamp(list: ListKey): Promise<number | undefined> {
    return this.access.run(() => this.table.find(list)?.clock);
  }

  allResourceTimestamps(kind: string): Promise<ReadonlyMap<string, number>> {
    return this.access.run(() => {
      const timestamps = new Map<string, number>();
      for (const { parent, clock } of this.table.lists(kind)) if (clock !== undefined) timestamps.set(parent, clock);
      return timestamps;
    });
  }

  listParents(kind: string): Promise<readonly string[]> {
    return this.access.run(() => {
      const parents: string[] = [];
      for (const { parent, contents } of this.table.lists(kind)) if (contents.live.size > 0) parents.push(parent);
      return parents;
    });
  }

  lists(after: ListKey | undefined, limit: number): Promise<readonly ListState[]> {
    return this.access.run(() => {
      const found: ListState[] = [];
      for (const list of this.table.lists()) {
        const { kind, parent, clock: timestamp, horizon, contents } = list;
        if (timestamp === undefined || (after !== undefined && compareLists(list, after) <= 0)) continue;
        found.push({ kind, parent, timestamp, horizon, live: contents.live.size, dead: contents.dead.size });
      }
      return found.toSorted(compareLists).slice(0, limit);
    });
  }
}

class MemoryStorageWriter extends MemoryStorageReader implements StorageWriter {
  readonly #unit: MemoryUnit;
  readonly #changes: ListChanges;

  constructor(lists: ListTable, texts: PageTexts, clock: Clock, unit: MemoryUnit) {
    super(lists, texts, unit);
    this.#unit = unit;
    this.#changes = new ListChanges(lists, clock, unit);
  }

  /** Nothing to take: the unit holds the turn to write since it began. */
  lock(list: ListKey, id?: string): Promise<LockedState> {
    return this.access.run(() => {
      const found = this.table.find(list);
      const object = id === undefined ? undefined : found?.contents.live.get(id);
      const tombstone = id === undefined ? undefined : found?.contents.dead.get(id);
      return { timestamp: found?.clock, object, tombstone };
    });
  }

  /** Nothing to hold: while the unit lasts nobody else deletes. */
  lockShared(list: ListKey, id: string): Promise<StoredObject | undefined> {
    return this.get(list, id);
  }

  touch(list: ListKey): Promise<number> {
    return this.access.run(
      () => this.table.find(list)?.clock ?? this.#changes.advance(list, this.#changes.nextTimestamp(list, undefined)),
    );
  }

  create(
    list: ListKey,
    id: string,
    text: string,
    lastModified?: number,
    { isFresh = false }: { readonly isFresh?: boolean } = {},
  ): Promise<StoredObject> {
    return this.access.run(() => {
      if (!isFresh && this.table.find(list)?.contents.live.has(id)) throw new UnicityError('id');
      return this.#changes.put(list, id, text, lastModified, isFresh);
    });
  }

  createAll(list: ListKey, objects: readonly NewObject[]): Promise<readonly StoredObject[]> {
    return this.access.run(() => objects.map(({ id, text }) => this.#changes.put(list, id, text, undefined)));
  }

  update(list: ListKey, id: string, text: string, lastModified?: number): Promise<StoredObject> {
    return this.access.run(() => this.#changes.put(list, id, text, lastModified));
  }

  delete(
    list: ListKey,
    id: string,
    options: { readonly lastModified?: number | undefined; readonly keepTombstone?: boolean } = {},
  ): Promise<Deletion | undefined> {
    return this.access.run(() => {
      const old = this.table.find(list)?.contents.live.get(id);
      if (old === undefined) return undefined;
      return this.#changes.remove(list, old, options.lastModified, options.keepTombstone ?? true);
    });
  }

  deleteAll(
    list: ListKey,
    query: PageQuery,
  ): Promise<{ readonly deletions: readonly Deletion[]; readonly more: boolean }> {
    return this.access.walk(this.#deletePage(list, query));
  }

  deleteChildren(uri: string): Promise<void> {
    return this.access.run(() => {
      for (const list of this.table.listsBelow(uri)) {
        if (list.contents.live.size > 0) this.#changes.advance(list, this.#changes.nextTimestamp(list, undefined));
        this.table.raiseHorizon(list, list.clock ?? 0, this.#unit);
        this.table.empty(list, this.#unit);
      }
    });
  }

  purgeDeleted(options: PurgeOptions = {}): Promise<number> {
    const { kind, parent, before, maxRetained, limit = Infinity } = options;
    return this.access.run(() => {
      if (before !== undefined && maxRetained !== undefined) throw new Error('give either before or maxRetained');
      let purged = 0;
      for (const list of this.table.lists(kind)) {
        if (parent !== undefined && list.parent !== parent) continue;
        for (const tombstone of oldestTombstones(list, before, maxRetained)) {
          if (purged >= limit) return purged;
          this.table.forget(list, tombstone, this.#unit);
          this.table.raiseHorizon(list, tombstone.lastModified, this.#unit);
          purged++;
        }
      }
      return purged;
    });
  }

  trimObjects(list: ListKey, selection: Selection, maxObjects: number): Promise<number> {
    return this.access.walk(this.#trim(list, selection, maxObjects));
  }

  restore(key: ListKey, { clock, entries, horizon, gone = [] }: Restoration): Promise<void> {
    return this.access.run(() => {
      for (const id of gone) this.#clear(key, id, undefined);
      let latest = clock;
      for (const entry of entries) {
        this.#clear(key, entry.id, entry.lastModified);
        if (isTombstone(entry)) this.table.mark(key, entry, this.#unit);
        else this.table.put(key, entry, this.#unit);
        latest = Math.max(latest, entry.lastModified);
      }
      this.#changes.advance(key, latest);
      if (horizon !== undefined) this.table.raiseHorizon(key, horizon, this.#unit);
    });
  }

  flush(): Promise<void> {
    return this.access.run(() => this.table.flush(this.#unit));
  }

  *#deletePage(
    list: ListKey,
    query: PageQuery,
  ): Steps<{ readonly deletions: readonly Deletion[]; readonly more: boolean }> {
    const found = this.table.find(list);
    if (found === undefined) return { deletions: [], more: false };
    const { entries, more } = yield* selectLivePage(found.contents, query);
    if (entries.length === 0) return { deletions: [], more };
    const first = this.#changes.nextTimestamp(list, undefined);
    const deletions = entries.map((old, index): Deletion => {
      return { old, tombstone: { id: old.id, lastModified: first + index, deleted: true } };
    });
    // Before anything else is changed: others may read meanwhile.
    yield* this.table.bury(list, deletions, this.#unit);
    this.#changes.advance(list, first + entries.length - 1);
    return { deletions, more };
  }

  *#trim(list: ListKey, selection: Selection, maxObjects: number): Steps<number> {
    const found = this.table.find(list);
    if (found === undefined || found.contents.live.size <= maxObjects) return 0;
    const selected = yield* selectNewest(found.contents, selection);
    const excess = selected.slice(maxObjects);
    for (const old of excess) this.table.remove(list, old, undefined, this.#unit);
    return excess.length;
  }

  /** Takes away what has the id or the timestamp. */
  #clear(key: ListKey, id: string, lastModified: number | undefined): void {
    const contents = this.table.find(key)?.contents;
    if (contents === undefined) return;
    const { live, liveByTime, dead, deadByTime } = contents;
    const times = lastModified === undefined ? [] : [lastModified];
    const objects = new Set([live.get(id), ...times.map((time) => liveByTime.get(time))]);
    const tombstones = new Set([dead.get(id), ...times.map((time) => deadByTime.get(time))]);
    for (const object of objects) if (object !== undefined) this.table.remove(key, object, undefined, this.#unit);
    for (const tombstone of tombstones) if (tombstone !== undefined) this.table.forget(key, tombstone, this.#unit);
  }
}

function* readPage(table: ListTable, list: ListKey, query: PageQuery): Steps<Page> {
  const found = table.find(list);
  if (found === undefined) return { timestamp: undefined, horizon: 0, entries: [], more: false };
  const { clock: timestamp, horizon } = found;
  return { timestamp, horizon, ...(yield* selectPage(found.contents, query)) };
}

function* readCount(table: ListTable, list: ListKey, selection: Selection): Steps<number> {
  const found = table.find(list);
  return found === undefined ? 0 : yield* countSelected(found.contents, selection);
}

function oldestTombstones({ contents }: ObjectList, before: number | undefined, maxRetained = 0): readonly Tombstone[] {
  const found: Tombstone[] = [];
  const limit = contents.dead.size - maxRetained;
  for (const [timestamp, tombstone] of contents.deadByTime.entries()) {
    if (found.length >= limit || (before !== undefined && timestamp >= before)) break;
    found.push(tombstone);
  }
  return found;
}
