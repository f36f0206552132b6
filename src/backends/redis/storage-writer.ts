// Writes of the storage contract. Each write changes the overlay of its list while the unit has the list. Reads see the
// overlays of their own unit.
import { InOrder } from '../../base/in-order.ts';
import { UnicityError } from '../../contracts/errors.ts';
import { requireDeletions, requireFree, requireTimestamp, requireTimestamps } from '../../contracts/list-timestamps.ts';
import type {
  CreateOptions,
  DeletedPage,
  DeleteOptions,
  Deletion,
  KeyedObject,
  ListClocks,
  LockedState,
  NewObject,
  RequireRoom,
  Restoration,
  StorageWriter,
} from '../../contracts/storage.ts';
import { RecentObjects } from '../../core/lists/recent-objects.ts';
import { keyOfObject } from '../../core/lists/list-key.ts';
import { mayBeTaken, restoredClock, touchedClock, type ListState } from '../../core/lists/list-state.ts';
import { Purge, type PurgeOptions } from '../../core/lists/purge.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import { isTombstone, StoredObject, type ListKey, type Tombstone, type IndexKeys } from '../../core/objects/stored.ts';
import type { ListParent, ObjectUri } from '../../core/objects/uris.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { ListOverlay } from './list-overlay.ts';
import { ListView } from './list-view.ts';
import type { Allowance } from './long-reads.ts';
import { selectNewest, selectPage } from './select.ts';
import { RedisStorageReader, type RedisReads } from './storage-reader.ts';
import type { RedisUnit } from './unit.ts';

/**
 * Number of entries fetched at once. No other unit changes a list that the unit has, so larger pieces have no advantage.
 */
const piece = 1000;

export class RedisStorageWriter extends RedisStorageReader implements StorageWriter {
  readonly #unit: RedisUnit;
  /** Sends the reads of each call at once, and lets the calls take effect one after another. */
  readonly #inOrder = new InOrder();
  /** Objects with a shared lock, which stay until the unit ends. */
  readonly #shared = new Map<string, StoredObject>();
  readonly #recent = new RecentObjects();

  constructor(shared: RedisReads, unit: RedisUnit) {
    super(shared);
    this.#unit = unit;
  }

  override async get(list: ListKey, id: string, requireRoom?: RequireRoom): Promise<StoredObject | undefined> {
    const overlay = await this.#unit.findOverlay(list);
    if (overlay !== undefined) return this.#findLive(overlay, id, requireRoom);
    const lists = this.#unit.size;
    const earlier = this.#shared.get(keyOfObject(list, id)) ?? this.#recent.find(lists, list, id);
    if (earlier !== undefined) return earlier;
    const object = await super.get(list, id, requireRoom);
    if (object !== undefined) this.#recent.keep(lists, list, object);
    return object;
  }

  async lockShared(list: ListKey, id: string, below?: ListKey): Promise<StoredObject | undefined> {
    await this.#unit.lockShared(list, id, below);
    const overlay = await this.#unit.findOverlay(list);
    if (overlay !== undefined) return this.#findLive(overlay, id);
    const name = keyOfObject(list, id);
    const object = this.#shared.get(name) ?? (await super.get(list, id));
    if (object === undefined) return undefined;
    this.#shared.set(name, object);
    this.#unit.relyOn(list, object, below !== undefined);
    return object;
  }

  async #findLive(overlay: ListOverlay, id: string, requireRoom?: RequireRoom): Promise<StoredObject | undefined> {
    await this.#learn(overlay, id, requireRoom);
    return overlay.findLive(id);
  }

  override async resourceTimestamp(list: ListKey): Promise<number | undefined> {
    const overlay = await this.#unit.findOverlay(list);
    return overlay === undefined ? super.resourceTimestamp(list) : overlay.state.clock;
  }

  override async clocks(lists: readonly ListKey[]): Promise<ListClocks> {
    const overlays = await Promise.all(lists.map((list) => this.#unit.findOverlay(list)));
    const others = await super.clocks(lists.filter((_, index) => overlays[index] === undefined));
    const rest = others.clocks.values();
    const clocks = overlays.map((overlay) => (overlay === undefined ? rest.next().value : overlay.state.clock));
    return { clocks, flushes: others.flushes + (this.#unit.isFlushed ? 1 : 0) };
  }

  async lock(list: ListKey, id?: string): Promise<LockedState> {
    const overlay = id === undefined ? await this.#unit.overlay(list) : await this.#overlayOf(list, id);
    const entry = id === undefined ? undefined : overlay.find(id);
    const [object, tombstone] = entry !== undefined && isTombstone(entry) ? [undefined, entry] : [entry, undefined];
    return { timestamp: overlay.state.clock, object, tombstone };
  }

  async touch(list: ListKey, to?: number): Promise<number> {
    const overlay = await this.#unit.overlay(list);
    const clock = touchedClock(overlay.state, this.#unit.now, to);
    // Gives the list a new version too, so that units of other processes that have read an earlier one run again.
    overlay.change({ clock });
    return clock;
  }

  create(
    list: ListKey,
    id: string,
    text: string,
    lastModified?: number,
    { keys }: CreateOptions = {},
  ): Promise<StoredObject> {
    return this.#inOrder.run(this.#overlayOf(list, id), (overlay) => {
      if (overlay.findLive(id) !== undefined) throw new UnicityError('id');
      return this.#put(overlay, { id, text, keys }, lastModified);
    });
  }

  createAll(list: ListKey, objects: readonly NewObject[]): Promise<readonly StoredObject[]> {
    return this.#inOrder.run(this.#unit.overlay(list), (overlay) => {
      this.#unit.requireOpen();
      const first = requireTimestamps(overlay.state, this.#unit.now, objects.length);
      return objects.map(({ id, text, keys }, index) => {
        const object = new StoredObject(id, first + index, text, undefined, keys);
        if (!overlay.knows(id)) overlay.learn(id, undefined);
        overlay.put(id, object, { clock: object.lastModified });
        return object;
      });
    });
  }

  update(list: ListKey, id: string, text: string, lastModified?: number, keys?: IndexKeys): Promise<StoredObject> {
    return this.#inOrder.run(this.#overlayOf(list, id), (overlay) =>
      this.#put(overlay, { id, text, keys }, lastModified),
    );
  }

  delete(
    list: ListKey,
    id: string,
    { lastModified: given, keepTombstone = true }: DeleteOptions = {},
  ): Promise<Deletion | undefined> {
    return this.#inOrder.run(this.#overlayOf(list, id), async (overlay) => {
      const old = overlay.findLive(id);
      if (old === undefined) return undefined;
      await this.#unit.outlive(list, id);
      const lastModified = await this.#timestampFor(overlay, given, id);
      const tombstone: Tombstone = { id, lastModified, deleted: true };
      if (keepTombstone) overlay.put(id, tombstone, { clock: lastModified });
      else overlay.put(id, undefined, { clock: lastModified, horizon: lastModified });
      return { old, tombstone };
    });
  }

  async deleteAll(list: ListKey, query: PageQuery): Promise<DeletedPage> {
    const overlay = await this.#unit.overlay(list);
    const { entries, more } = await this.takeTurn((allowance) =>
      selectPage(this.#view(overlay, allowance), 'live', query, piece),
    );
    const objects = entries.filter((entry) => entry instanceof StoredObject);
    for (const { id } of objects) await this.#unit.outlive(list, id);
    const deletions = requireDeletions(overlay.state, this.#unit.now, objects);
    for (const { old, tombstone } of deletions) {
      this.#learnFrom(overlay, old);
      overlay.put(old.id, tombstone, { clock: tombstone.lastModified });
    }
    return { deletions, more };
  }

  async deleteChildren(uri: ObjectUri): Promise<void> {
    await this.#unit.cascade(uri);
  }

  async purgeDeleted(options: PurgeOptions = {}): Promise<number> {
    this.#unit.requireOpen();
    const purge = new Purge(options);
    for (const list of await this.#listsOf(purge)) await this.#purgeList(await this.#unit.overlay(list), purge);
    return purge.count;
  }

  async trimObjects(list: ListKey, selection: Selection, maxObjects: number): Promise<number> {
    const overlay = await this.#unit.overlay(list);
    if (overlay.state.live <= maxObjects) return 0;
    let kept = 0;
    const excess: string[] = [];
    for await (const entries of selectNewest(this.#view(overlay), 'live', selection, piece)) {
      for (const entry of entries) {
        if (kept++ < maxObjects) continue;
        this.#learnFrom(overlay, entry);
        excess.push(entry.id);
      }
    }
    for (const id of excess) overlay.put(id, undefined);
    return excess.length;
  }

  async restore(list: ListKey, { clock, entries, horizon, gone = [] }: Restoration): Promise<void> {
    const overlay = await this.#unit.overlay(list);
    const view = this.#view(overlay);
    // `put` requires that the overlay knows what it replaces.
    await view.learn(overlay, [...gone, ...entries.map(({ id }) => id)]);
    const inTheWay = await view.byTimestamps(overlay, new Set(entries.map(({ lastModified }) => lastModified)));
    for (const id of gone) overlay.put(id, undefined);
    for (const { id } of inTheWay) overlay.put(id, undefined);
    for (const entry of entries) overlay.put(entry.id, entry);
    overlay.change({ clock: restoredClock(clock, entries), horizon });
  }

  async setKeys(list: ListKey, objects: readonly KeyedObject[]): Promise<void> {
    const overlay = await this.#unit.overlay(list);
    await this.#view(overlay).learn(
      overlay,
      objects.map(({ id }) => id),
    );
    for (const { id, lastModified, keys } of objects) {
      const old = overlay.findLive(id);
      if (old?.lastModified !== lastModified) continue;
      overlay.put(id, new StoredObject(id, lastModified, old.text, undefined, keys));
    }
  }

  async flush(): Promise<void> {
    this.#unit.flush();
  }

  protected override async look<T>(list: ListKey, work: (view: ListView, size: number) => Promise<T>): Promise<T> {
    const overlay = await this.#unit.findOverlay(list);
    if (overlay === undefined) return super.look(list, work);
    return this.takeTurn((allowance) => work(this.#view(overlay, allowance), piece));
  }

  protected override async registeredKinds(): Promise<ReadonlySet<string>> {
    const overlaid = this.#unit.overlays.map(({ list }) => list.kind);
    return new Set([...(this.#unit.isFlushed ? [] : await super.registeredKinds()), ...overlaid]);
  }

  protected override async registered(kind: string): Promise<readonly ListParent[]> {
    const parents = new Set(this.#unit.isFlushed ? [] : await super.registered(kind));
    for (const { list, state } of this.#unit.overlays) {
      if (list.kind === kind && state.clock !== undefined) parents.add(list.parent);
    }
    return [...parents];
  }

  protected override async keysAfter(after: ListKey | undefined, limit: number): Promise<readonly ListKey[]> {
    const stored = this.#unit.isFlushed ? [] : await super.keysAfter(after, limit);
    const own = this.#unit.overlays.flatMap(({ list, isNew }) => {
      const isAhead = after === undefined || compareLists(list, after) > 0;
      return isNew && isAhead && stored.every((each) => compareLists(each, list) !== 0) ? [list] : [];
    });
    return [...stored, ...own].toSorted(compareLists).slice(0, limit);
  }

  protected override async stateOf(list: ListKey): Promise<ListState> {
    return (await this.#unit.findOverlay(list))?.state ?? super.stateOf(list);
  }

  /** Returns every list that takes part in a purge. */
  async #listsOf({ kind, parent }: Purge): Promise<readonly ListKey[]> {
    const kinds = kind === undefined ? await this.registeredKinds() : [kind];
    const lists: ListKey[] = [];
    for (const each of kinds) {
      const parents = parent === undefined ? await this.registered(each) : [parent];
      lists.push(...parents.map((of) => ({ kind: each, parent: of })));
    }
    return lists;
  }

  async #purgeList(overlay: ListOverlay, purge: Purge): Promise<void> {
    const view = this.#view(overlay);
    const limit = purge.limitTo(overlay.state.dead);
    if (limit === 0) return;
    const older = await view.countRange('dead', { low: -Infinity, high: purge.before - 1 });
    const count = Math.min(older, limit);
    if (count === 0) return;
    overlay.purge(await latestOf(view, purge.before, older, count), count);
    purge.count += count;
  }

  /** @param allowance default: unlimited */
  #view(overlay: ListOverlay, allowance?: Allowance): ListView {
    const whenStale = (): Error => this.#unit.loseOver(overlay.list);
    return new ListView(this.reads, overlay.list, { overlay, whenStale, allowance });
  }

  async #overlayOf(list: ListKey, id: string): Promise<ListOverlay> {
    const overlay = await this.#unit.overlay(list, [id]);
    await this.#learn(overlay, id);
    this.#unit.requireOpen();
    return overlay;
  }

  /** Reads what the server has of an id, unless the overlay knows it. */
  async #learn(overlay: ListOverlay, id: string, requireRoom?: RequireRoom): Promise<void> {
    if (!overlay.knows(id)) await this.#view(overlay).learn(overlay, [id], requireRoom);
  }

  /** Records an entry that a selection found. */
  #learnFrom(overlay: ListOverlay, entry: StoredObject | Tombstone): void {
    if (!overlay.knows(entry.id)) overlay.learn(entry.id, entry);
  }

  async #put(overlay: ListOverlay, { id, text, keys }: NewObject, given: number | undefined): Promise<StoredObject> {
    const object = new StoredObject(id, await this.#timestampFor(overlay, given, id), text, undefined, keys);
    overlay.put(id, object, { clock: object.lastModified });
    return object;
  }

  async #timestampFor(overlay: ListOverlay, given: number | undefined, id: string): Promise<number> {
    if (mayBeTaken(overlay.state, given)) {
      for await (const entries of this.#view(overlay).walk('both', { low: given, high: given }, false, 2)) {
        const holders = entries.map((entry) => entry.id);
        requireFree(holders, id);
      }
    }
    return requireTimestamp(overlay.state, this.#unit.now, given);
  }
}

/** Returns the timestamp of the latest of the `count` oldest tombstones, of `all` that are below a timestamp. */
async function latestOf(view: ListView, below: number, all: number, count: number): Promise<number> {
  const newer = all - count;
  const isNewestFirst = newer < count;
  let left = isNewestFirst ? newer + 1 : count;
  const range = { low: -Infinity, high: below - 1 };
  for await (const entries of view.walk('dead', range, isNewestFirst, Math.min(left, piece))) {
    const entry = entries[left - 1];
    if (entry !== undefined) return entry.lastModified;
    left -= entries.length;
  }
  throw new Error('a list has fewer tombstones than were counted');
}
