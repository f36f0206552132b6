// The reading half of the storage contract. A committed list that is written while it is read in pieces is read again in
// larger ones, in the end in a single piece, so that clock and entries always belong together.
import type { KindCount, ListState, Page, PageText, StorageReader } from '../../contracts/storage.ts';
import { joinPage } from '../../core/objects/page-text.ts';
import { isTombstone, type ListKey, type StoredObject } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { RedisClient } from './client.ts';
import { unescapeTag, type Keys } from './keys.ts';
import type { ListReads } from './list-reads.ts';
import { ListChanged, ListView } from './list-view.ts';
import { listsAfter } from './registries.ts';
import { countSelected, selectPage } from './select.ts';

/** Entries fetched at once where many have to be looked at. */
const firstPiece = 1000;
const pieceGrowth = 4;

export class RedisStorageReader implements StorageReader {
  protected readonly reads: ListReads;
  readonly #client: RedisClient;
  readonly #keys: Keys;

  constructor(client: RedisClient, keys: Keys, reads: ListReads) {
    this.#client = client;
    this.#keys = keys;
    this.reads = reads;
  }

  async get(list: ListKey, id: string): Promise<StoredObject | undefined> {
    const [entry] = (await this.reads.head(list, [id])).entries;
    return entry === undefined || isTombstone(entry) ? undefined : entry;
  }

  listAll(list: ListKey, query: PageQuery): Promise<Page> {
    const part = query.includeDeleted === true ? 'both' : 'live';
    return this.look(list, async (view, piece) => {
      const page = await selectPage(view, part, query, piece);
      const { clock, horizon } = await view.state();
      return { timestamp: clock, horizon, ...page };
    });
  }

  async listText(list: ListKey, query: PageQuery): Promise<PageText> {
    return joinPage(await this.listAll(list, query), query.maxBytes);
  }

  countAll(list: ListKey, selection: Selection): Promise<number> {
    const part = selection.includeDeleted === true ? 'both' : 'live';
    return this.look(list, (view, piece) => countSelected(view, part, selection, piece));
  }

  async countKinds(): Promise<ReadonlyMap<string, KindCount>> {
    const counts = new Map<string, KindCount>();
    for (const kind of await this.registeredKinds()) {
      let [objects, tombstones] = [0, 0];
      await this.#eachParent(kind, async (parent) => {
        const list = { kind, parent };
        const [live, all] = await Promise.all([
          this.countAll(list, { filters: [] }),
          this.countAll(list, { filters: [], includeDeleted: true }),
        ]);
        objects += live;
        tombstones += Math.max(0, all - live);
      });
      counts.set(kind, { objects, tombstones });
    }
    return counts;
  }

  resourceTimestamp(list: ListKey): Promise<number | undefined> {
    return this.reads.clock(list);
  }

  async allResourceTimestamps(kind: string): Promise<ReadonlyMap<string, number>> {
    const timestamps = new Map<string, number>();
    await this.#eachParent(kind, async (parent) => {
      const clock = await this.resourceTimestamp({ kind, parent });
      if (clock !== undefined) timestamps.set(parent, clock);
    });
    return timestamps;
  }

  async listParents(kind: string): Promise<readonly string[]> {
    const parents: string[] = [];
    await this.#eachParent(kind, async (parent) => {
      if ((await this.countAll({ kind, parent }, { filters: [] })) > 0) parents.push(parent);
    });
    return parents;
  }

  async lists(after: ListKey | undefined, limit: number): Promise<readonly ListState[]> {
    const states: ListState[] = [];
    for (let from = after; ;) {
      const keys = await this.keysAfter(from, limit);
      for (const state of await Promise.all(keys.map((key) => this.stateOf(key)))) {
        if (state !== undefined && states.length < limit) states.push(state);
      }
      from = keys.at(-1);
      if (keys.length < limit || states.length === limit) return states;
    }
  }

  /** The first lists after one, some of which may have no clock. */
  protected keysAfter(after: ListKey | undefined, limit: number): Promise<readonly ListKey[]> {
    return listsAfter(this.#client, this.#keys, after, limit);
  }

  /** `undefined` when the list has no clock. */
  protected async stateOf({ kind, parent }: ListKey): Promise<ListState | undefined> {
    const { clock: timestamp, horizon, liveCount: live, deadCount: dead } = await this.reads.counts({ kind, parent });
    return timestamp === undefined ? undefined : { kind, parent, timestamp, horizon, live, dead };
  }

  /** Reads a list until all reads have seen one version of it. */
  protected async look<T>(list: ListKey, work: (view: ListView, piece: number) => Promise<T>): Promise<T> {
    for (let piece = firstPiece; ; piece *= pieceGrowth) {
      try {
        return await work(new ListView(this.reads, list), piece);
      } catch (error) {
        if (!(error instanceof ListChanged)) throw error;
      }
    }
  }

  /** The parents of all lists of a kind, or of every kind, that were ever written. */
  protected async registered(kind: string): Promise<readonly string[]> {
    const found = this.#keys.shards.map((shard) => this.#client.read('storage', 'ZRANGE', `${shard}k:${kind}`, 0, -1));
    return ((await Promise.all(found)) as string[][]).flat().map(unescapeTag);
  }

  protected async registeredKinds(): Promise<ReadonlySet<string>> {
    const found = this.#keys.shards.map((shard) => this.#client.read('storage', 'SMEMBERS', `${shard}kinds`));
    return new Set(((await Promise.all(found)) as string[][]).flat());
  }

  async #eachParent(kind: string, visit: (parent: string) => Promise<void>): Promise<void> {
    const parents = await this.registered(kind);
    for (let first = 0; first < parents.length; first += firstPiece) {
      await Promise.all(parents.slice(first, first + firstPiece).map(visit));
    }
  }
}
