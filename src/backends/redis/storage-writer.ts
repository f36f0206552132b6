// The writing half of the storage contract. Every write is made in a draft of its list, under the list's turn; reads see
// the drafts of their own unit.
import { InOrder } from '../../base/in-order.ts';
import { IntegrityError, UnicityError } from '../../contracts/errors.ts';
import type {
  Deletion,
  ListState,
  LockedState,
  NewObject,
  PurgeOptions,
  Restoration,
  StorageWriter,
} from '../../contracts/storage.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import { isTombstone, StoredObject, type ListKey, type Tombstone } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { RedisClient } from './client.ts';
import type { Keys } from './keys.ts';
import type { ListDraft } from './list-draft.ts';
import type { ListReads } from './list-reads.ts';
import { ListView } from './list-view.ts';
import { restoreEntries } from './restore.ts';
import { selectNewest, selectPage } from './select.ts';
import { RedisStorageReader } from './storage-reader.ts';
import type { RedisUnit } from './unit.ts';

/** Entries fetched at once. Others cannot change a list under its turn, so there is no need for larger pieces. */
const piece = 1000;

export class RedisStorageWriter extends RedisStorageReader implements StorageWriter {
  readonly #unit: RedisUnit;
  /** What calls need is asked for as they come; they take effect one after the other. */
  readonly #inOrder = new InOrder();

  constructor(client: RedisClient, keys: Keys, reads: ListReads, unit: RedisUnit) {
    super(client, keys, reads);
    this.#unit = unit;
  }

  override async get(list: ListKey, id: string): Promise<StoredObject | undefined> {
    const draft = await this.#unit.findDraft(list);
    if (draft !== undefined) return this.#findLive(draft, id);
    return super.get(list, id);
  }

  async lockShared(list: ListKey, id: string): Promise<StoredObject | undefined> {
    await this.#unit.lockShared(list, id);
    const object = await this.get(list, id);
    if (object !== undefined) this.#unit.relyOn(list, id);
    return object;
  }

  override async resourceTimestamp(list: ListKey): Promise<number | undefined> {
    const draft = await this.#unit.findDraft(list);
    return draft === undefined ? super.resourceTimestamp(list) : draft.clock;
  }

  async lock(list: ListKey, id?: string): Promise<LockedState> {
    const draft = await this.#unit.draft(list, id === undefined ? [] : [id]);
    if (id === undefined) return { timestamp: draft.clock, object: undefined, tombstone: undefined };
    await this.#learn(draft, id);
    const entry = draft.find(id);
    const tombstone = entry !== undefined && isTombstone(entry) ? entry : undefined;
    return { timestamp: draft.clock, object: draft.findLive(id), tombstone };
  }

  async touch(list: ListKey): Promise<number> {
    const draft = await this.#unit.draft(list);
    if (draft.clock === undefined) draft.advance(this.#unit.now);
    return draft.clock!;
  }

  create(list: ListKey, id: string, text: string, lastModified?: number): Promise<StoredObject> {
    return this.#inOrder.run(this.#draftOf(list, id), (draft) => {
      if (draft.findLive(id) !== undefined) throw new UnicityError('id');
      return this.#put(draft, id, text, lastModified);
    });
  }

  createAll(list: ListKey, objects: readonly NewObject[]): Promise<readonly StoredObject[]> {
    return this.#inOrder.run(this.#unit.draft(list), (draft) => {
      this.#unit.requireOpen();
      return objects.map(({ id, text }) => {
        const object = new StoredObject(id, this.#nextFree(draft), text);
        draft.advance(object.lastModified);
        if (!draft.knows(id)) draft.learn(id, undefined);
        draft.put(id, object);
        return object;
      });
    });
  }

  update(list: ListKey, id: string, text: string, lastModified?: number): Promise<StoredObject> {
    return this.#inOrder.run(this.#draftOf(list, id), (draft) => this.#put(draft, id, text, lastModified));
  }

  delete(
    list: ListKey,
    id: string,
    options: { readonly lastModified?: number | undefined; readonly keepTombstone?: boolean } = {},
  ): Promise<Deletion | undefined> {
    return this.#inOrder.run(this.#draftOf(list, id), async (draft) => {
      const old = draft.findLive(id);
      if (old === undefined) return undefined;
      await this.#unit.outlive(list, id);
      const lastModified = await this.#nextTimestamp(draft, options.lastModified, id);
      const tombstone: Tombstone = { id, lastModified, deleted: true };
      draft.advance(lastModified);
      draft.put(id, options.keepTombstone === false ? undefined : tombstone);
      if (options.keepTombstone === false) draft.raiseHorizon(lastModified);
      return { old, tombstone };
    });
  }

  async deleteAll(
    list: ListKey,
    query: PageQuery,
  ): Promise<{ readonly deletions: readonly Deletion[]; readonly more: boolean }> {
    const draft = await this.#unit.draft(list);
    const { entries, more } = await selectPage(this.#view(draft), 'live', query, piece);
    const deletions: Deletion[] = [];
    for (const old of entries) {
      if (isTombstone(old)) continue;
      await this.#unit.outlive(list, old.id);
      this.#learnFrom(draft, old);
      const lastModified = this.#nextFree(draft);
      const tombstone: Tombstone = { id: old.id, lastModified, deleted: true };
      draft.advance(lastModified);
      draft.put(old.id, tombstone);
      deletions.push({ old, tombstone });
    }
    return { deletions, more };
  }

  async deleteChildren(uri: string): Promise<void> {
    await this.#unit.cascade(uri);
  }

  async purgeDeleted(options: PurgeOptions = {}): Promise<number> {
    const { before, maxRetained = 0, limit = Infinity } = options;
    this.#unit.requireOpen();
    if (before !== undefined && options.maxRetained !== undefined) throw new Error('give either before or maxRetained');
    let purged = 0;
    for (const list of await this.#listsOf(options.kind, options.parent)) {
      const draft = await this.#unit.draft(list);
      const view = this.#view(draft);
      const end = before ?? (await nthTombstone(view, Infinity, true, maxRetained));
      const count = end === undefined ? 0 : await view.countRange('dead', { low: -Infinity, high: end - 1 });
      if (end === undefined || count === 0) continue;
      const left = limit - purged;
      const first = count <= left ? end : ((await nthTombstone(view, end, false, left + 1)) ?? end);
      draft.raiseHorizon((await nthTombstone(view, first, true, 1)) ?? 0);
      draft.purgeBelow(first, Math.min(count, left));
      purged += Math.min(count, left);
      if (purged === limit) return purged;
    }
    return purged;
  }

  async trimObjects(list: ListKey, selection: Selection, maxObjects: number): Promise<number> {
    const draft = await this.#unit.draft(list);
    if (draft.liveCount <= maxObjects) return 0;
    let kept = 0;
    const excess: string[] = [];
    for await (const entries of selectNewest(this.#view(draft), 'live', selection, piece)) {
      for (const entry of entries) {
        if (kept++ < maxObjects) continue;
        this.#learnFrom(draft, entry);
        excess.push(entry.id);
      }
    }
    for (const id of excess) draft.put(id, undefined);
    return excess.length;
  }

  async restore(list: ListKey, restoration: Restoration): Promise<void> {
    const draft = await this.#unit.draft(list);
    await restoreEntries(draft, this.#view(draft), restoration);
  }

  async flush(): Promise<void> {
    this.#unit.flush();
  }

  protected override async look<T>(list: ListKey, work: (view: ListView, size: number) => Promise<T>): Promise<T> {
    const draft = await this.#unit.findDraft(list);
    return draft === undefined ? super.look(list, work) : work(this.#view(draft), piece);
  }

  protected override async registeredKinds(): Promise<ReadonlySet<string>> {
    const drafted = this.#unit.drafts.map(({ list }) => list.kind);
    return new Set([...(this.#unit.isFlushed ? [] : await super.registeredKinds()), ...drafted]);
  }

  protected override async registered(kind: string): Promise<readonly string[]> {
    const parents = new Set(this.#unit.isFlushed ? [] : await super.registered(kind));
    for (const { list, clock } of this.#unit.drafts)
      if (list.kind === kind && clock !== undefined) parents.add(list.parent);
    return [...parents];
  }

  protected override async keysAfter(after: ListKey | undefined, limit: number): Promise<readonly ListKey[]> {
    const stored = this.#unit.isFlushed ? [] : await super.keysAfter(after, limit);
    const own = this.#unit.drafts.flatMap(({ list, isNew }) => {
      const isAhead = after === undefined || compareLists(list, after) > 0;
      return isNew && isAhead && stored.every((each) => compareLists(each, list) !== 0) ? [list] : [];
    });
    return [...stored, ...own].toSorted(compareLists).slice(0, limit);
  }

  protected override async stateOf(list: ListKey): Promise<ListState | undefined> {
    const draft = await this.#unit.findDraft(list);
    if (draft === undefined) return super.stateOf(list);
    if (draft.clock === undefined) return undefined;
    const { clock: timestamp, horizon, liveCount: live, deadCount: dead } = draft;
    return { kind: list.kind, parent: list.parent, timestamp, horizon, live, dead };
  }

  /** Every list that may have tombstones. */
  async #listsOf(kind: string | undefined, parent: string | undefined): Promise<readonly ListKey[]> {
    const kinds = kind === undefined ? await this.registeredKinds() : [kind];
    const lists: ListKey[] = [];
    for (const each of kinds) {
      const parents = parent === undefined ? await this.registered(each) : [parent];
      lists.push(...parents.map((of) => ({ kind: each, parent: of })));
    }
    return lists;
  }

  #view(draft: ListDraft): ListView {
    return new ListView(this.reads, draft.list, draft, () => this.#unit.loseOver(draft.list));
  }

  async #draftOf(list: ListKey, id: string): Promise<ListDraft> {
    const draft = await this.#unit.draft(list, [id]);
    await this.#learn(draft, id);
    this.#unit.requireOpen();
    return draft;
  }

  async #findLive(draft: ListDraft, id: string): Promise<StoredObject | undefined> {
    await this.#learn(draft, id);
    return draft.findLive(id);
  }

  /** Fetches what the server has of an id. */
  async #learn(draft: ListDraft, id: string): Promise<void> {
    if (!draft.knows(id)) await this.#view(draft).byIds([id]);
  }

  /** Keeps an entry that a selection has found. */
  #learnFrom(draft: ListDraft, entry: StoredObject | Tombstone): void {
    if (!draft.knows(entry.id)) draft.learn(entry.id, entry);
  }

  async #put(draft: ListDraft, id: string, text: string, given: number | undefined): Promise<StoredObject> {
    const object = new StoredObject(id, await this.#nextTimestamp(draft, given, id), text);
    draft.advance(object.lastModified);
    draft.put(id, object);
    return object;
  }

  /** The timestamp that a write gets; nothing is changed yet. */
  async #nextTimestamp(draft: ListDraft, given: number | undefined, id: string): Promise<number> {
    if (given === undefined || given === draft.clock) return this.#nextFree(draft);
    if (draft.clock === undefined || given > draft.clock) return given;
    for await (const entries of this.#view(draft).walk('both', { low: given, high: given }, false, 2)) {
      if (entries.some((entry) => entry.id !== id)) {
        throw new IntegrityError('another object has this last_modified');
      }
    }
    return given;
  }

  #nextFree({ clock }: ListDraft): number {
    return clock === undefined ? this.#unit.now : Math.max(this.#unit.now, clock + 1);
  }
}

/** The timestamp of the nth tombstone below a timestamp, counted from one end; `undefined`: there are fewer. */
async function nthTombstone(
  view: ListView,
  below: number,
  isNewestFirst: boolean,
  n: number,
): Promise<number | undefined> {
  if (n === 0) return below;
  let left = n;
  const range = { low: -Infinity, high: below - 1 };
  for await (const entries of view.walk('dead', range, isNewestFirst, Math.min(n, piece))) {
    const entry = entries[left - 1];
    if (entry !== undefined) return entry.lastModified;
    left -= entries.length;
  }
  return undefined;
}
