// Reads of the storage contract, for committed state and for units of work.
import { runFromNow } from '../../base/steps.ts';
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
import { joinPage, maxBytesOfChar, maxPageBytes } from '../../core/objects/page-text.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import { storedParent, type ListParent } from '../../core/objects/uris.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import { isExact, isWholeList, planPage, planSelection, type PagePlan } from '../../core/query/plan-page.ts';
import { selectAmong } from '../../core/query/select-among.ts';
import { everyTimestamp } from '../../core/query/timestamp-range.ts';
import { amongCandidates, isWholePage } from '../../core/index/find-entries.ts';
import { planOrderedRanges } from '../../core/index/page-ranges.ts';
import { countKeys, searchKeys } from './key-search.ts';
import type { WordSearch } from '../../core/text/text-query.ts';
import type { Access } from './access.ts';
import { countWords, findWords } from './find-words.ts';
import { runScan, scanTargetOf } from './list-scans.ts';
import { prepared, type Row, type SqlValue, type ScanTarget } from './connection.ts';
import { readListClocks } from './list-clocks.ts';
import { textOrLength } from './long-texts.ts';
import { readJoinedPage, readLongPage, readPageText } from './page-text.ts';
import { compileCount, compilePage, readPageRows } from './page.ts';
import { compileOrderedPage, type RowShape } from './ordered-page.ts';
import type { Compiled } from './parameters.ts';
import { smallListSource } from './small-lists.ts';
import { batchableQuery, CompiledQueries, type BatchableQuery, type BatchValue } from './batchable-query.ts';

// The subselect makes the server look up the list first. In a join it may search all lists of the parent for the id.
const fromObject = `FROM coffer_objects o WHERE o.parent = $1::text
  AND o.list = (SELECT l.list FROM coffer_lists l WHERE l.parent = $1::text AND l.kind = $2::text) AND o.id = $3::text`;
// Objects of several requests come in one answer. A long text would delay the others, so it is read by itself.
const readObject = batchableQuery('read-object', `SELECT o.last_modified, ${textOrLength('o')} ${fromObject}`);
export const readLongObject = prepared('read-long-object', `SELECT o.last_modified, o.data ${fromObject}`);
const ofList = 'FROM coffer_lists l WHERE l.parent = $1::text AND l.kind = $2::text';
const readClock = batchableQuery('read-clock', `SELECT l.clock ${ofList}`);
const readCounts = batchableQuery('read-counts', `SELECT l.live, l.dead ${ofList}`);
const countKinds = prepared('count-kinds', 'SELECT kind, sum(live), sum(dead) FROM coffer_lists GROUP BY kind');
const readParents = prepared('read-parents', 'SELECT parent FROM coffer_lists WHERE kind = $1 AND live > 0');

const firstLists = prepared(
  'first-lists',
  `SELECT parent, kind, clock, live, dead, horizon FROM coffer_lists WHERE clock IS NOT NULL
  ORDER BY parent, kind LIMIT $1`,
);
const nextLists = prepared(
  'next-lists',
  `SELECT parent, kind, clock, live, dead, horizon FROM coffer_lists WHERE clock IS NOT NULL AND (parent, kind) > ($2, $3)
  ORDER BY parent, kind LIMIT $1`,
);

/** Pages that an index delivers are requested often, and have few different statements. */
const pages = new CompiledQueries('page', 100, { maxTogether: 16 });
const orderedPages = new CompiledQueries('ordered-page', 100, { maxTogether: 16 });
/** Maximum number of entries of a page that comes in one row. */
const maxTextLimit = 1000;
/** Maximum number of entries of a page that shares a statement with other queries. */
const maxBatchedLimit = 200;

export class PostgresStorageReader<Reach extends Access = Access> implements StorageReader {
  protected readonly access: Reach;

  constructor(access: Reach) {
    this.access = access;
  }

  async get(list: ListKey, id: string, requireRoom?: RequireRoom): Promise<StoredObject | undefined> {
    const values = [list.parent, list.kind, id];
    const [row] = await this.access.ask(readObject, values);
    if (row?.[1] !== null) return objectOf(id, row);
    requireRoom?.(Number(row[2]));
    return objectOf(id, (await this.access.run(readLongObject, values)).rows[0]);
  }

  listAll(list: ListKey, query: PageQuery): Promise<Page> {
    this.access.settle();
    return selectPage(this.access, list, query);
  }

  listText(list: ListKey, query: PageQuery): Promise<PageText> {
    this.access.settle();
    return selectText(this.access, list, query);
  }

  async countAll(list: ListKey, selection: Selection): Promise<number> {
    this.access.settle();
    const cached = await this.access.smallLists?.count(smallListSource(this.access, list), selection);
    if (cached !== undefined) return cached;
    const indexed = await countKeys(this.access, list, selection);
    if (typeof indexed === 'number') return indexed;
    const plan = planSelection(indexed === undefined ? selection : amongCandidates(selection, indexed));
    if (isWholeList(plan)) {
      const [row] = await this.access.ask(readCounts, [list.parent, list.kind]);
      return Number(row?.[0] ?? 0) + (plan.includeDeleted ? Number(row?.[1] ?? 0) : 0);
    }
    const { text, values } = compileCount(await this.access.dialect(), list, plan);
    const { rows } = await runScan(this.access, { text, scans: scanTargetOf(list, plan.budget) }, values);
    return Number(rows[0]?.[0] ?? 0);
  }

  findWords(list: ListKey, search: WordSearch, limit: number): Promise<FoundWords> {
    this.access.settle();
    return findWords(this.access, list, search, limit);
  }

  countWords(list: ListKey, search: WordSearch): Promise<number> {
    this.access.settle();
    return countWords(this.access, list, search);
  }

  async countKinds(): Promise<ReadonlyMap<string, KindCount>> {
    this.access.settle();
    const { rows } = await this.access.run(countKinds, []);
    return new Map(rows.map(([kind, live, dead]) => [kind!, { objects: Number(live), tombstones: Number(dead) }]));
  }

  async resourceTimestamp(list: ListKey): Promise<number | undefined> {
    this.access.settle();
    const clock = (await this.access.ask(readClock, [list.parent, list.kind]))[0]?.[0];
    return typeof clock === 'string' ? Number(clock) : undefined;
  }

  clocks(lists: readonly ListKey[]): Promise<ListClocks> {
    this.access.settle();
    return readListClocks(this.access, lists);
  }

  async listParents(kind: string): Promise<readonly ListParent[]> {
    this.access.settle();
    return (await this.access.run(readParents, [kind])).rows.map(([parent]) => storedParent(parent!));
  }

  async lists(after: ListKey | undefined, limit: number): Promise<readonly ListSummary[]> {
    this.access.settle();
    const { rows } =
      after === undefined
        ? await this.access.run(firstLists, [limit])
        : await this.access.run(nextLists, [limit, after.parent, after.kind]);
    return rows.map(([parent, kind, clock, live, dead, horizon]) => ({
      kind: kind!,
      parent: storedParent(parent!),
      timestamp: Number(clock),
      horizon: Number(horizon),
      live: Number(live),
      dead: Number(dead),
    }));
  }
}

/** Returns one page of the list, by declared indexes where they help. */
export function selectPage(access: Access, list: ListKey, query: PageQuery): Promise<Page> {
  return byIndexes(access, list, query, {
    readOrdered: () => readOrderedPage(access, list, query, 'text', readPageText),
    read: (asked) => readPage(access, list, asked),
    present: (page) => page,
  });
}

/** Makes pages of one form: entries or response text. */
interface PageForm<P> {
  /** Reads a page that a declared index delivers in its order; `undefined` for other pages. */
  readonly readOrdered: () => Promise<P | undefined>;
  readonly read: (query: PageQuery) => Promise<P>;
  readonly present: (page: Page) => P | Promise<P>;
}

/** Reads a page in the order of an index, of a cached list, among the candidates of indexes, or of the whole list. */
async function byIndexes<P extends Pick<Page, 'timestamp' | 'more'>>(
  access: Access,
  list: ListKey,
  query: PageQuery,
  { readOrdered, read, present }: PageForm<P>,
): Promise<P> {
  // Reports are about indexes.
  const ordered = query.report === undefined ? await readOrdered() : undefined;
  if (ordered !== undefined) return ordered;
  const cached = await access.smallLists?.selectPage(smallListSource(access, list), query);
  if (cached !== undefined) return present(cached);
  const found = query.indexes === undefined ? undefined : await searchKeys(access, list, query);
  if (found?.clock !== undefined) {
    const { clock: timestamp, horizon, candidates } = found;
    const among = amongCandidates(query, candidates);
    const { objects, mayMiss } = candidates;
    // Only a page that may miss entries has to be looked at.
    const page =
      objects !== undefined
        ? { timestamp, horizon, ...(await runFromNow(selectAmong(objects, planPage(among)), 'normal')) }
        : mayMiss
          ? await readPage(access, list, among)
          : undefined;
    const isWhole = page === undefined || isWholePage(query, page, candidates);
    if (isWhole) {
      const shown = page === undefined ? await read(among) : await present(page);
      // An object that was written since the search may be missing, and has a later timestamp.
      const earlier = shown.timestamp === undefined ? undefined : Math.min(shown.timestamp, timestamp);
      return { ...shown, timestamp: earlier };
    }
  }
  return read(query);
}

async function readPage(access: Access, list: ListKey, query: PageQuery): Promise<Page> {
  const planned = planQuery(list, query);
  if (query.limit <= maxTextLimit) {
    const page = readPageText(await askPlanned(access, planned, 'text'), query);
    if (page !== undefined) return page;
  }
  return selectRows(access, planned);
}

/** Returns a page as response text, which the server joins unless the page is long. */
function selectText(access: Access, list: ListKey, query: PageQuery): Promise<PageText> {
  return byIndexes(access, list, query, {
    readOrdered: () => readOrderedPage(access, list, query, 'joined', readJoined),
    read: (asked) => readText(access, list, asked),
    present: (page) => runFromNow(joinPage(page, query.maxBytes), 'normal'),
  });
}

/** Reads a page in the order of a declared index; `undefined` when there is none, or the page needs more than one row. */
async function readOrderedPage<P extends Pick<Page, 'more'>>(
  access: Access,
  list: ListKey,
  query: PageQuery,
  shape: RowShape,
  readRow: (row: Row, query: PageQuery) => P | undefined,
): Promise<P | undefined> {
  const ranges = planOrderedRanges(query);
  if (ranges === undefined) return undefined;
  // Most pages without a limit are short.
  const limit = query.limit <= maxTextLimit ? query.limit : maxBatchedLimit;
  const { text, values } = compileOrderedPage(list, ranges, limit, shape);
  const target: ScanTarget = { of: 'page', name: `ordered ${scanTargetOf(list).name}`, list };
  const row = await askPage(access, { text, values, name: orderedPages.query(text), limit, target });
  const page = row && readRow(row, { ...query, limit });
  return page?.more === true && limit < query.limit ? undefined : page;
}

async function readText(access: Access, list: ListKey, query: PageQuery): Promise<PageText> {
  const planned = planQuery(list, query);
  if (query.limit <= maxTextLimit) {
    const page = readJoined(await askPlanned(access, planned, 'joined'), query);
    if (page !== undefined) return page;
  }
  return inTurn(access, planned, async () => {
    const [row] = await selectAll(access, planned, 'long');
    return runFromNow(readLongPage(row, query.limit, query.maxBytes ?? maxPageBytes), 'normal');
  });
}

/** Reads the row of a page as response text; `undefined` when it may be too long. */
function readJoined(row: Row | undefined, { limit, maxBytes = Infinity }: PageQuery): PageText | undefined {
  const page = readJoinedPage(row, limit);
  return page !== undefined && page.text.length * maxBytesOfChar <= maxBytes ? page : undefined;
}

interface PlannedPage {
  readonly list: ListKey;
  readonly query: PageQuery;
  readonly plan: PagePlan;
}

/** Plans a page. The index by id serves pages without further filters; the server sorts the candidates of others. */
function planQuery(list: ListKey, query: PageQuery): PlannedPage {
  return { list, query, plan: planPage(query, 'unfiltered') };
}

/** Reads a page of any length. */
function selectRows(access: Access, planned: PlannedPage): Promise<Page> {
  return inTurn(access, planned, async () => readPageRows(await selectAll(access, planned, 'rows'), planned.query));
}

/** Reads and prepares a page in its turn when it is known to be long. */
function inTurn<T extends object>(access: Access, planned: PlannedPage, read: () => Promise<T>): Promise<T> {
  return hasLongText(planned) ? access.inTurn({ of: 'longPage', name: scanTargetOf(planned.list).name }, read) : read();
}

/** Whether a page that is read with all texts is long: of those with few entries only the ones that have a long text are. */
function hasLongText({ query: { limit } }: PlannedPage): boolean {
  return limit <= maxTextLimit;
}

async function selectAll(access: Access, planned: PlannedPage, shape: 'rows' | 'long'): Promise<readonly Row[]> {
  const { text, values } = compilePage(await access.dialect(), planned.list, planned.plan, shape);
  // What scans a list takes a turn for that too.
  const scans = hasLongText(planned) && isExact(planned.plan) ? {} : { scans: targetOf(planned) };
  return (await runScan(access, { text, ...scans }, values)).rows;
}

/** Reads the row of a planned page. */
async function askPlanned(access: Access, planned: PlannedPage, shape: RowShape): Promise<Row | undefined> {
  const { list, plan } = planned;
  const { text, values } = compilePage(await access.dialect(), list, plan, shape);
  const name = isExact(plan) ? pages.query(text) : undefined;
  return askPage(access, { text, values, name, limit: plan.limit, target: targetOf(planned) });
}

interface PageStatement extends Compiled {
  /** The statement by its name, which may share it with others. */
  readonly name: BatchableQuery | undefined;
  readonly limit: number;
  readonly target: ScanTarget;
}

/** Reads the row of a page that comes in one. */
async function askPage(access: Access, { text, values, name, limit, target }: PageStatement): Promise<Row | undefined> {
  const named = name !== undefined && isPlain(values) ? name : undefined;
  if (named !== undefined && isPlain(values) && limit <= maxBatchedLimit) return (await access.ask(named, values))[0];
  // A long page takes a connection of its own.
  const statement = named === undefined ? { text } : { ...named.alone, isQuick: false };
  return (await runScan(access, { ...statement, scans: target }, values)).rows[0];
}

/** Returns what a read scans, which takes turns: the list, or a page that may be long. */
function targetOf({ list, query: { filters }, plan }: PlannedPage): ScanTarget {
  const scanned = scanTargetOf(list, plan.budget);
  if (!isExact(plan)) return scanned;
  // Pages that start at a time are mostly short, even if the whole list is long.
  const start = planSelection({ filters }).range.low > everyTimestamp.low ? 'since' : 'all';
  // Of a long list, pages with few entries may be short.
  const size = plan.limit <= maxTextLimit ? 'few' : 'many';
  return { of: 'page', name: `${start} ${size} ${scanned.name}`, list };
}

function isPlain(values: readonly SqlValue[]): values is readonly BatchValue[] {
  return values.every((value) => typeof value === 'string' || typeof value === 'number');
}

/** Returns the object of a row of timestamp and text. */
export function objectOf(id: string, row: Row | undefined): StoredObject | undefined {
  return row === undefined ? undefined : new StoredObject(id, Number(row[0]), row[1]!);
}
