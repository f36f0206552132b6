// Reads of the storage contract. When a committed list is written during a read in pieces, the read starts again with
// larger pieces, and in the end with a single one. So clock and entries always belong together.
import { BackendError, BackendUnavailable } from '../../contracts/errors.ts';
import { noRequester, type Requester } from '../../contracts/requester.ts';
import type {
  KindCount,
  ListClocks,
  ListSummary,
  Page,
  PageText,
  RequireRoom,
  StorageReader,
} from '../../contracts/storage.ts';
import type { ListState } from '../../core/lists/list-state.ts';
import type { SmallLists } from '../../core/lists/small-lists.ts';
import { runFromNow } from '../../base/steps.ts';
import { joinPage } from '../../core/objects/page-text.ts';
import { isTombstone, type ListKey, type StoredObject } from '../../core/objects/stored.ts';
import { storedParent, type ListParent } from '../../core/objects/uris.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { RedisClient } from './client.ts';
import type { HeldReads } from './held-reads.ts';
import { unescapeTag, type Keys } from './keys.ts';
import { readListClocks } from './list-clocks.ts';
import type { ListReads } from './list-reads.ts';
import { ListChanged, ListView } from './list-view.ts';
import type { Allowance, LongReads } from './long-reads.ts';
import { listsAfter } from './registries.ts';
import { countSelected, selectPage } from './select.ts';
import { smallListSource } from './small-lists.ts';

/**
 * Number of entries fetched at once when they have to be filtered or sorted. The server runs no other command meanwhile, and
 * most requests need several.
 */
const firstPiece = 250;
const pieceGrowth = 8;
/**
 * Maximum number of reads of a list that is written meanwhile, after which writers wait. A piece of long texts is limited by their
 * length, so such a list may never be read in one piece.
 */
const maxAttempts = 3;

/** The parts that all reads of one database share. */
export interface RedisReads {
  readonly client: RedisClient;
  readonly keys: Keys;
  readonly reads: ListReads;
  readonly longReads: LongReads;
  /** Reads a list while no unit writes it; absent for units, which could wait for each other. */
  readonly heldReads?: HeldReads | undefined;
  /** Cached objects of committed state; absent for units, and without a cache. */
  readonly smallLists?: SmallLists | undefined;
  /** The client for which the reads are; absent: none. */
  readonly requester?: Requester | undefined;
}

export class RedisStorageReader implements StorageReader {
  protected readonly reads: ListReads;
  readonly #longReads: LongReads;
  readonly #requester: Requester;
  readonly #heldReads: HeldReads | undefined;
  readonly #smallLists: SmallLists | undefined;
  readonly #client: RedisClient;
  readonly #keys: Keys;

  constructor({ client, keys, reads, longReads, heldReads, smallLists, requester = noRequester }: RedisReads) {
    this.#client = client;
    this.#keys = keys;
    this.reads = reads;
    this.#longReads = longReads;
    this.#requester = requester;
    this.#heldReads = heldReads;
    this.#smallLists = smallLists;
  }

  async get(list: ListKey, id: string, requireRoom?: RequireRoom): Promise<StoredObject | undefined> {
    const [entry] = (await this.reads.head(list, [id], { requireRoom })).entries;
    return entry === undefined || isTombstone(entry) ? undefined : entry;
  }

  async listAll(list: ListKey, query: PageQuery): Promise<Page> {
    const cached = await this.#smallLists?.selectPage(smallListSource(this.reads, list), query);
    return cached ?? this.look(list, (view, piece) => readPage(view, query, piece));
  }

  async listText(list: ListKey, query: PageQuery): Promise<PageText> {
    const join = async (page: Page): Promise<PageText> => runFromNow(joinPage(page, query.maxBytes), 'normal');
    const cached = await this.#smallLists?.selectPage(smallListSource(this.reads, list), query);
    if (cached !== undefined) return join(cached);
    // Joined in the same turn, so that few long pages are in memory before their requests have reserved some.
    return this.look(list, async (view, piece) => join(await readPage(view, query, piece)));
  }

  async countAll(list: ListKey, selection: Selection): Promise<number> {
    const part = selection.includeDeleted === true ? 'both' : 'live';
    const cached = await this.#smallLists?.count(smallListSource(this.reads, list), selection);
    return cached ?? this.look(list, (view, piece) => countSelected(view, part, selection, piece));
  }

  findWords(): Promise<never> {
    return Promise.reject(new BackendError('Redis has no text search.'));
  }

  countWords(): Promise<never> {
    return this.findWords();
  }

  async countKinds(): Promise<ReadonlyMap<string, KindCount>> {
    const counts = new Map<string, KindCount>();
    for (const kind of await this.registeredKinds()) {
      let [objects, tombstones] = [0, 0];
      await this.#eachParent(kind, async (parent) => {
        const state = await this.stateOf({ kind, parent });
        objects += state.live;
        tombstones += state.dead;
      });
      counts.set(kind, { objects, tombstones });
    }
    return counts;
  }

  async resourceTimestamp(list: ListKey): Promise<number | undefined> {
    return (await this.reads.version(list)).clock;
  }

  clocks(lists: readonly ListKey[]): Promise<ListClocks> {
    return readListClocks(this.#client, this.#keys, lists);
  }

  async listParents(kind: string): Promise<readonly ListParent[]> {
    const parents: ListParent[] = [];
    await this.#eachParent(kind, async (parent) => {
      if ((await this.countAll({ kind, parent }, { filters: [] })) > 0) parents.push(parent);
    });
    return parents;
  }

  async lists(after: ListKey | undefined, limit: number): Promise<readonly ListSummary[]> {
    const found: ListSummary[] = [];
    for (let from = after; ;) {
      const keys = await this.keysAfter(from, limit);
      const states = await Promise.all(keys.map((key) => this.stateOf(key)));
      for (const [index, { clock: timestamp, horizon, live, dead }] of states.entries()) {
        if (timestamp === undefined || found.length === limit) continue;
        const { kind, parent } = keys[index]!;
        found.push({ kind, parent, timestamp, horizon, live, dead });
      }
      from = keys.at(-1);
      if (keys.length < limit || found.length === limit) return found;
    }
  }

  /** Returns the first lists after the given one; some may have no clock. */
  protected keysAfter(after: ListKey | undefined, limit: number): Promise<readonly ListKey[]> {
    return listsAfter(this.#client, this.#keys, after, limit);
  }

  protected stateOf(list: ListKey): Promise<ListState> {
    return this.reads.head(list, []);
  }

  /** Runs a read, and again in a turn when it is long. */
  protected takeTurn<T>(read: (allowance: Allowance) => Promise<T>): Promise<T> {
    return this.#longReads.run(this.#requester, read);
  }

  /** Repeats the work until all its reads have seen one version of the list. */
  protected look<T>(list: ListKey, work: (view: ListView, piece: number) => Promise<T>): Promise<T> {
    return this.takeTurn(async (allowance) => {
      let piece = firstPiece;
      for (let attempt = 1; ; attempt++) {
        try {
          return await work(new ListView(this.reads, list, { allowance }), piece);
        } catch (error) {
          if (!(error instanceof ListChanged)) throw error;
          if (attempt === maxAttempts) break;
          piece *= pieceGrowth;
        }
      }
      if (this.#heldReads === undefined) throw changesTooFast();
      return this.#heldReads.run(list, this.#requester, (overlay) =>
        work(new ListView(this.reads, list, { overlay, allowance, whenStale: changesTooFast }), firstPiece),
      );
    });
  }

  /** Returns the parents of all lists of a kind that were ever written. */
  protected async registered(kind: string): Promise<readonly ListParent[]> {
    const found = this.#keys.shards.map((shard) => this.#client.read('storage', 'ZRANGE', `${shard}k:${kind}`, 0, -1));
    return ((await Promise.all(found)) as string[][]).flat().map((place) => storedParent(unescapeTag(place)));
  }

  protected async registeredKinds(): Promise<ReadonlySet<string>> {
    const found = this.#keys.shards.map((shard) => this.#client.read('storage', 'SMEMBERS', `${shard}kinds`));
    return new Set(((await Promise.all(found)) as string[][]).flat());
  }

  async #eachParent(kind: string, visit: (parent: ListParent) => Promise<void>): Promise<void> {
    const parents = await this.registered(kind);
    for (let first = 0; first < parents.length; first += firstPiece) {
      await Promise.all(parents.slice(first, first + firstPiece).map(visit));
    }
  }
}

function changesTooFast(): BackendUnavailable {
  const message = 'A list was written again and again while it was read. Write less often, or read shorter pages';
  return new BackendUnavailable('storage', message, { reason: 'The list changes faster than it can be read.' });
}

async function readPage(view: ListView, query: PageQuery, piece: number): Promise<Page> {
  const page = await selectPage(view, query.includeDeleted === true ? 'both' : 'live', query, piece);
  const { clock, horizon } = await view.state();
  return { timestamp: clock, horizon, ...page };
}
