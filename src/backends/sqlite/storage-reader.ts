// Reads of the storage contract, for committed state with its cache and for units of work.
import type {
  FoundWords,
  KindCount,
  ListClocks,
  ListSummary,
  Page,
  PageText,
  RequireRoom,
  StorageReader,
} from '../../contracts/storage.ts';
import { joinPage } from '../../core/objects/page-text.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { ListParent } from '../../core/objects/uris.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import { isWholeList, planSelection, timeRangeKey } from '../../core/query/plan-page.ts';
import type { WordSearch } from '../../core/text/text-query.ts';
import type { Access } from './access.ts';
import type { Connection } from './connection.ts';
import { countIds, findIds } from './find-words.ts';
import { findList, listsAfter, type ListRow } from './lists.ts';
import { selectOrdered } from './ordered-page.ts';
import { planQuery, selectUnordered } from './page.ts';
import type { ReadCache } from './read-cache.ts';
import { countKeys } from './key-columns.ts';
import { amongCandidates } from '../../core/index/find-entries.ts';
import { countCached, selectCached } from './small-lists.ts';
import { compileSelection, fromWhere, walkWindows } from './selection.ts';
import { pause, type Steps } from '../../base/steps.ts';

/**
 * Maximum size in bytes of the text of a committed object that is read in the same turn of the event loop. Longer ones can be
 * deferred in a unit of work.
 */
export const maxBytesAtOnce = 262_144;

export class SqliteStorageReader implements StorageReader {
  protected readonly access: Access;

  constructor(access: Access) {
    this.access = access;
  }

  async get(list: ListKey, id: string, requireRoom?: RequireRoom): Promise<StoredObject | undefined> {
    const read = await this.access.run((connection, cache) => {
      if (cache === undefined) return readObject(connection, list, id);
      const seen = { isLong: false };
      const object = cache.object(list, id, () => {
        const short = readShortObject(connection, list, id, maxBytesAtOnce);
        if (short !== 'long') return short;
        seen.isLong = true;
        return undefined;
      });
      return seen.isLong ? 'long' : object;
    });
    const object = read === 'long' ? await this.#getLong(list, id) : read;
    if (object?.isLarge === true) requireRoom?.(object.text.length);
    return object;
  }

  /**
   * Reads a long text in a turn of the event loop of its own. The request reserves memory for it before the next long text is
   * read, so that of many requests at once only one holds a text without.
   */
  async #getLong(list: ListKey, id: string): Promise<StoredObject | undefined> {
    await pause('normal');
    return this.access.run((connection, cache) => {
      const read = (): StoredObject | undefined => readObject(connection, list, id);
      return cache === undefined ? read() : cache.object(list, id, read);
    });
  }

  listAll(list: ListKey, query: PageQuery): Promise<Page> {
    return this.access.read((connection, cache) => readPage(connection, cache, list, query));
  }

  listText(list: ListKey, query: PageQuery): Promise<PageText> {
    return this.access.read((connection, cache) => readPageText(connection, cache, list, query));
  }

  countAll(list: ListKey, selection: Selection): Promise<number> {
    return this.access.read((connection, cache) => readCount(connection, cache, list, selection));
  }

  findWords(list: ListKey, search: WordSearch, limit: number): Promise<FoundWords> {
    return this.access.read((connection, cache) => findWords(connection, cache, list, search, limit));
  }

  countWords(list: ListKey, search: WordSearch): Promise<number> {
    return this.access.read(function* (connection, cache) {
      const row = readListRow(connection, cache, list);
      return row === undefined ? 0 : yield* countIds(connection, row, search);
    });
  }

  countKinds(): Promise<ReadonlyMap<string, KindCount>> {
    return this.access.run((connection) => {
      const sql = 'SELECT kind, sum(live), sum(dead) FROM lists GROUP BY kind';
      const rows = connection.all<[kind: string, live: number, dead: number]>(sql);
      return new Map(rows.map(([kind, objects, tombstones]) => [kind, { objects, tombstones }]));
    });
  }

  resourceTimestamp(list: ListKey): Promise<number | undefined> {
    return this.access.run((connection, cache) => readListRow(connection, cache, list)?.clock);
  }

  clocks(lists: readonly ListKey[]): Promise<ListClocks> {
    return this.access.read((connection, cache) => readClocks(connection, cache, lists));
  }

  listParents(kind: string): Promise<readonly ListParent[]> {
    return this.access.run((connection) =>
      connection
        .all<[ListParent]>('SELECT parent FROM lists WHERE kind = ? AND live > 0', kind)
        .map(([parent]) => parent),
    );
  }

  lists(after: ListKey | undefined, limit: number): Promise<readonly ListSummary[]> {
    return this.access.run((connection) => listsAfter(connection, after, limit));
  }
}

/** Returns the live object; `undefined` when absent. */
export function readObject(connection: Connection, list: ListKey, id: string): StoredObject | undefined {
  const object = readShortObject(connection, list, id, noLimit);
  return object === 'long' ? undefined : object;
}

const noLimit = Number.MAX_SAFE_INTEGER;

/** Returns the live object, or `'long'` when its text has more bytes. */
function readShortObject(
  connection: Connection,
  { kind, parent }: ListKey,
  id: string,
  maxReadBytes: number,
): StoredObject | 'long' | undefined {
  const row = connection.get<[number, string | null]>(
    `SELECT o.last_modified, CASE WHEN octet_length(o.data) <= ? THEN o.data END FROM lists l CROSS JOIN objects o
    WHERE l.kind = ? AND l.parent = ? AND o.list = l.list AND o.id = ?`,
    maxReadBytes,
    kind,
    parent,
    id,
  );
  if (row === undefined) return undefined;
  return row[1] === null ? 'long' : new StoredObject(id, row[0], row[1]);
}

function readListRow(connection: Connection, cache: ReadCache | undefined, list: ListKey): ListRow | undefined {
  const read = (): ListRow | undefined => findList(connection, list);
  return cache === undefined ? read() : cache.listRow(list, read);
}

/** Number of clocks read without a pause. */
const clocksPerStep = 1000;

/** Returns the clocks of the lists in their order. A look-up for each of them is as fast as one statement for all. */
function* readClocks(
  connection: Connection,
  cache: ReadCache | undefined,
  lists: readonly ListKey[],
): Steps<ListClocks> {
  const clocks: (number | undefined)[] = [];
  for (const list of lists) {
    if (clocks.length > 0 && clocks.length % clocksPerStep === 0) yield;
    clocks.push(readListRow(connection, cache, list)?.clock);
  }
  const counter = connection.get<[number]>("SELECT value FROM counters WHERE name = 'flushes'");
  return { clocks, flushes: counter?.[0] ?? 0 };
}

function* findWords(
  connection: Connection,
  cache: ReadCache | undefined,
  list: ListKey,
  search: WordSearch,
  limit: number,
): Steps<FoundWords> {
  const row = readListRow(connection, cache, list);
  if (row === undefined) return { timestamp: undefined, ids: [], more: false };
  return { timestamp: row.clock, ...(yield* findIds(connection, row, search, limit)) };
}

/** Returns one page of a list that may not exist. */
function* readPage(connection: Connection, cache: ReadCache | undefined, list: ListKey, query: PageQuery): Steps<Page> {
  const row = readListRow(connection, cache, list);
  if (row === undefined) return { timestamp: undefined, horizon: 0, entries: [], more: false };
  const mayBeCached = cache !== undefined && query.report === undefined;
  const page =
    selectOrdered(connection, row, query) ??
    (mayBeCached ? yield* selectCached(connection, cache, list, row, query) : undefined) ??
    (yield* selectUnordered(connection, row, query));
  return { timestamp: row.clock, horizon: row.horizon, ...page };
}

function* readPageText(
  connection: Connection,
  cache: ReadCache | undefined,
  list: ListKey,
  query: PageQuery,
): Steps<PageText> {
  const row = readListRow(connection, cache, list);
  const key = timeRangeKey(planQuery(query));
  const known = cache && row && key && cache.page(list, key, row);
  if (known) return known;
  const page = yield* joinPage(yield* readPage(connection, cache, list, query), query.maxBytes);
  // A read that yields starts again without a cache, so the snapshot is still the one of the row.
  if (cache && row && key) cache.keepPage(list, key, { row, page });
  return page;
}

/** Returns the number of selected entries of a list that may not exist. The row of a list has its total. */
function* readCount(
  connection: Connection,
  cache: ReadCache | undefined,
  list: ListKey,
  selection: Selection,
): Steps<number> {
  const row = readListRow(connection, cache, list);
  if (row === undefined) return 0;
  const plan = planSelection(selection);
  if (isWholeList(plan)) return row.live + (plan.includeDeleted ? row.dead : 0);
  // Reports are about indexes.
  const isCached = cache !== undefined && selection.report === undefined;
  const cached = isCached ? yield* countCached(connection, cache, list, row, selection) : undefined;
  if (cached !== undefined) return cached;
  const indexed = yield* countKeys(connection, row, selection);
  if (typeof indexed === 'number') return indexed;
  return yield* countScanned(connection, row, indexed === undefined ? selection : amongCandidates(selection, indexed));
}

function* countScanned(connection: Connection, row: ListRow, selection: Selection): Steps<number> {
  const plan = planSelection(selection);
  const compiled = compileSelection(row, plan);
  let total = 0;
  yield* walkWindows(connection, compiled, 'descending', (window) => {
    for (const source of compiled.tables) {
      const from = fromWhere(compiled, source, window);
      const sql = `SELECT count(*) ${from.sql}`;
      total += connection.allMatching<[number]>(compiled.filters, sql, from.parameters)[0]![0];
    }
    return false;
  });
  return total;
}
