// Text search in lists: finds the objects that match the query of `_q`, and ranks them. Indexes of words give candidates. The
// objects are tested and ranked here, in the same way on every backend.
import { TopN } from '../base/top-n.ts';
import { runFromNow, type Steps } from '../base/steps.ts';
import type { FoundWords, Page, RequireRoom, StorageReader } from '../contracts/storage.ts';
import { invalidParameters } from '../core/errors.ts';
import { cutPage } from '../core/objects/page-text.ts';
import { charsOf, type ListKey, type StoredEntry } from '../core/objects/stored.ts';
import type { QueryBudget } from '../core/query/budget.ts';
import type { ListIndex, PagePosition, PageQuery, QueryReport, Selection, SortKey } from '../core/query/ast.ts';
import { isScoreField } from '../core/query/fields.ts';
import { comparePlaces, placeInSteps, type Place } from '../core/query/first-entries.ts';
import { issueOf } from '../core/query/parameters.ts';
import { withoutRepetition } from '../core/query/plan-page.ts';
import { newestFirst, positionInSteps } from '../core/query/sort.ts';
import { knownUntil } from '../core/query/timestamp-range.ts';
import {
  isExactSearch,
  scoreInSteps,
  SearchBudget,
  wordSearchOf,
  type TextQuery,
  type TextSearch,
} from '../core/text/text-query.ts';
import { readStates, stateOf } from './index-states.ts';
import { declaredIndexes } from './list-indexes.ts';
import type { Above, Scope } from './scope.ts';
import { roomFor } from './stored-work.ts';
import { firstPage, walk, type WalkOptions } from './walk.ts';

/** Maximum number of objects that are ranked. When more have the words, the newest come first. */
const maxRanked = 2000;

/**
 * Objects that are looked up rather than a list scanned: at least so many, or this part of the list. The words of a phrase may
 * be common although the phrase is rare.
 */
const minLookedUp = 20_000;
const maxLookedUp = 200_000;
const lookedUpPart = 0.25;

/** Number of objects in the order of the page that are tested before the index is read: common matches fill a page soon. */
const testedInOrder = 1000;

/** Number of candidates that are read together. */
const candidatesPerRead = 500;

/** A text query, bound to a list. */
export interface BoundSearch {
  readonly search: TextSearch;
  /** The text index of the list. */
  readonly index: ListIndex;
  /** Whether the index has the words of all objects. */
  readonly isComplete: boolean;
  /** Reserves memory for the objects that are tested. */
  readonly requireRoom: RequireRoom | undefined;
}

/**
 * Binds a text query to the text index of the list.
 *
 * @throws ServiceError invalidParameters when the list has no text index
 */
export async function bindSearch(
  { kind, list, context, options }: Scope,
  above: Above,
  text: TextQuery,
): Promise<BoundSearch> {
  if (!options.searchesText) throw refused('this backend has no text search: use SQLite, PostgreSQL or memory');
  const index = declaredIndexes(kind, above).find(({ isText }) => isText);
  if (index === undefined) {
    throw refused(
      'this list has no text index: declare one in the attribute indexes of the collection, such as {"text": ["title"]}',
    );
  }
  const state = stateOf(await readStates(context.unit.reader.storage, list), index);
  if (state === undefined) options.indexing?.wake(list);
  options.indexing?.used(list, [index], context.now);
  const fields = index.fields.map(({ field }) => field);
  const requireRoom = roomFor(context, 'show');
  return { search: { ...text, fields }, index, isComplete: state?.status === 'ready', requireRoom };
}

function refused(description: string): Error {
  return invalidParameters([issueOf('_q', description)]);
}

/** A page of matching objects. */
export interface FoundPage extends Page {
  /** Position of the last entry in the order of the query. */
  readonly position: PagePosition | undefined;
}

/** Returns one page of the objects that match the query and the search. */
export async function searchPage(
  storage: StorageReader,
  list: ListKey,
  query: PageQuery,
  bound: BoundSearch,
): Promise<FoundPage> {
  const { limit, maxBytes } = query;
  const [candidates, state] = await Promise.all([
    findCandidates(storage, list, query, bound, maxRanked),
    // Clients that know the list up to a timestamp may have missed deletions.
    knownUntil(query.filters) === undefined ? undefined : storage.listAll(list, noEntries),
  ]);
  const page = candidates.areAll
    ? await testCandidates(storage, list, query, bound, candidates)
    : await testInOrder(storage, list, query, bound);
  const found = await runFromNow(page.finish(), 'normal');
  const { entries, more } = cutPage(
    found.map(({ entry }) => entry),
    { limit, maxBytes },
  );
  const last = found[entries.length - 1];
  return {
    timestamp: state === undefined ? candidates.timestamp : earlier(candidates.timestamp, state.timestamp),
    horizon: state?.horizon ?? 0,
    entries,
    more,
    position: last && (await runFromNow(positionOf(last, query.sort), 'normal')),
  };
}

/**
 * Tests candidates for a page.
 *
 * @param equal what stands for the score of each object; default: its own
 */
async function testCandidates(
  storage: StorageReader,
  list: ListKey,
  query: PageQuery,
  bound: BoundSearch,
  candidates: Candidates,
  equal?: number,
): Promise<FoundObjects> {
  const page = new FoundObjects(query);
  for await (const entries of readCandidates(storage, list, query, candidates, bound)) {
    await runFromNow(addMatches(page, entries, bound.search, equal), 'normal');
  }
  noteCandidates(query.report, candidates, query, bound);
  return page;
}

function noteCandidates(
  report: QueryReport | undefined,
  { read }: Candidates,
  { filters }: Pick<Selection, 'filters'>,
  { search, index }: BoundSearch,
): void {
  if (report === undefined || read === undefined) return;
  report.read(read);
  const residual = filters.length + (isExactSearch(search) ? 0 : 1);
  report.found([index], { candidates: read, residual, isOrdered: false });
}

/** Tests the objects in the order of the page, or, when these are not soon enough, those that the index finds. */
async function testInOrder(
  storage: StorageReader,
  list: ListKey,
  query: PageQuery,
  bound: BoundSearch,
): Promise<FoundObjects> {
  const page = new FoundObjects(query);
  let left = testedInOrder;
  for await (const entries of walk(storage, list, query, bound.requireRoom, unrankedOrder(query))) {
    await runFromNow(addMatches(page, entries, bound.search, 0), 'normal');
    if (page.isFull) break;
    const isNext = left > 0 && left <= entries.length;
    left -= entries.length;
    if (!isNext) continue;
    const candidates = await findCandidates(storage, list, query, bound, await maxToLookUp(storage, list));
    if (!candidates.areAll) continue;
    // All of them match: the first page of a walk among them is enough.
    if (isExactSearch(bound.search) && query.limit < firstPage) {
      return testFirst(storage, list, query, bound, candidates);
    }
    return testCandidates(storage, list, query, bound, candidates, 0);
  }
  return page;
}

/** Tests candidates in the order of the page until it is full. Each page of the walk looks all of them up. */
async function testFirst(
  storage: StorageReader,
  list: ListKey,
  query: PageQuery,
  bound: BoundSearch,
  candidates: Candidates,
): Promise<FoundObjects> {
  const page = new FoundObjects(query);
  const selection = { ...query, ids: candidates.ids };
  for await (const entries of walk(storage, list, selection, bound.requireRoom, unrankedOrder(query))) {
    await runFromNow(addMatches(page, entries, bound.search, 0), 'normal');
    if (page.isFull) break;
  }
  noteCandidates(query.report, candidates, query, bound);
  return page;
}

/** Returns the maximum number of objects that are looked up. */
async function maxToLookUp(storage: StorageReader, list: ListKey): Promise<number> {
  const size = await storage.countAll(list, { filters: [] });
  return Math.min(maxLookedUp, Math.max(minLookedUp, Math.floor(size * lookedUpPart)));
}

const noEntries: PageQuery = { filters: [], ids: [], sort: newestFirst, limit: 1 };

/** Returns the order without the score, and the position in it where the page starts. */
function unrankedOrder({ sort, after }: PageQuery): WalkOptions {
  const isKept = sort.map(({ field }) => !isScoreField(field));
  // After a page of ranked objects, the others start from the first one.
  const isContinued = after?.every((value, number) => isKept[number] || value === 0) === true;
  return {
    sort: sort.filter((_, number) => isKept[number]),
    start: isContinued ? after.filter((_, number) => isKept[number]) : undefined,
  };
}

/** Returns the number of objects that match the selection and the search. */
export async function countMatches(
  storage: StorageReader,
  list: ListKey,
  selection: Selection,
  bound: BoundSearch,
): Promise<number> {
  const { filters, ids, report, budget } = selection;
  const isExact = isExactSearch(bound.search) && filters.length === 0 && ids === undefined;
  if (bound.isComplete && isExact) {
    report?.found([bound.index], { candidates: 0, residual: 0, isOrdered: false });
    return storage.countWords(list, wordSearchOf(bound.search, budget));
  }
  const candidates = await findCandidates(storage, list, selection, bound, await maxToLookUp(storage, list));
  noteCandidates(report, candidates, selection, bound);
  const all = candidates.areAll
    ? readCandidates(storage, list, selection, candidates, bound)
    : walk(storage, list, selection, bound.requireRoom);
  let total = 0;
  for await (const entries of all)
    total += (await runFromNow(findMatches(entries, bound.search, budget), 'normal')).length;
  return total;
}

/** Objects that may match. */
interface Candidates extends Pick<FoundWords, 'timestamp'> {
  /** Whether no other object may match: they are at most the limit. */
  readonly areAll: boolean;
  /** Absent: the whole list. */
  readonly ids?: readonly string[] | undefined;
  /** Number of objects that the index has found; absent: it was not used. */
  readonly read?: number | undefined;
}

async function findCandidates(
  storage: StorageReader,
  list: ListKey,
  { ids, budget }: Pick<Selection, 'ids' | 'budget'>,
  { search, isComplete }: BoundSearch,
  limit: number,
): Promise<Candidates> {
  if (isComplete) {
    const { timestamp, ids: found, more } = await storage.findWords(list, wordSearchOf(search, budget), limit);
    const allowed = ids && new Set(ids);
    const candidates = withoutRepetition(allowed === undefined ? found : found.filter((id) => allowed.has(id)));
    if (!more) return { timestamp, areAll: true, ids: candidates, read: found.length };
  }
  const timestamp = await storage.resourceTimestamp(list);
  const size = ids?.length ?? (await storage.countAll(list, { filters: [] }));
  return { timestamp, areAll: size <= limit, ids };
}

async function* readCandidates(
  storage: StorageReader,
  list: ListKey,
  { filters, budget }: Pick<Selection, 'filters' | 'budget'>,
  { ids }: Candidates,
  { requireRoom }: BoundSearch,
): AsyncGenerator<readonly StoredEntry[]> {
  if (ids === undefined) yield* walk(storage, list, { filters, budget }, requireRoom);
  for (let start = 0; start < (ids?.length ?? 0); start += candidatesPerRead) {
    const some = ids?.slice(start, start + candidatesPerRead);
    yield* walk(storage, list, { filters, budget, ids: some }, requireRoom);
  }
}

interface FoundObject extends Match {
  readonly place: Place;
}

/** Returns the position of an object in the order of a list. */
function* positionOf({ entry, score }: Match, sort: readonly SortKey[]): Steps<PagePosition> {
  const position = yield* positionInSteps(entry, sort);
  return position.map((value, number) => (isScoreField(sort[number]!.field) ? score : value));
}

/** Collects the matching objects of a page, and one more. */
class FoundObjects {
  /** Limits the work of the query. */
  readonly budget: QueryBudget | undefined;
  readonly #sort: readonly SortKey[];
  readonly #after: PagePosition | undefined;
  readonly #limit: number;
  readonly #first: TopN<FoundObject>;
  #count = 0;

  constructor({ sort, after, limit, maxBytes = Infinity, budget }: PageQuery) {
    this.budget = budget;
    this.#sort = sort;
    this.#after = after;
    this.#limit = limit;
    this.#first = new TopN(limit + 1, (a, b) => comparePlaces(a.place, b.place, sort), {
      weigh: ({ entry }) => charsOf(entry),
      max: maxBytes,
    });
  }

  /** Whether a page is found, when entries come in the order of the page. */
  get isFull(): boolean {
    return this.#count > this.#limit;
  }

  /** @param equal what stands for the score of each object; default: its own */
  *add(matches: readonly Match[], equal?: number): Steps<void> {
    for (const match of matches) {
      const found = { entry: match.entry, score: equal ?? match.score };
      const place = yield* placeInSteps(yield* positionOf(found, this.#sort), this.#sort);
      if (this.#after !== undefined && comparePlaces(place, this.#after, this.#sort) <= 0) continue;
      this.#count++;
      yield* this.#first.add({ ...found, place }) ?? [];
    }
  }

  /** Returns the objects in the order of the page. */
  finish(): Steps<readonly FoundObject[]> {
    return this.#first.finish();
  }
}

/** A matching object. */
interface Match {
  readonly entry: StoredEntry;
  readonly score: number;
}

function* addMatches(
  page: FoundObjects,
  entries: readonly StoredEntry[],
  search: TextSearch,
  equal?: number,
): Steps<void> {
  yield* page.add(yield* findMatches(entries, search, page.budget), equal);
}

/** Returns the entries that match. */
function* findMatches(
  entries: readonly StoredEntry[],
  search: TextSearch,
  ofQuery: QueryBudget | undefined,
): Steps<readonly Match[]> {
  const matches: Match[] = [];
  const budget = new SearchBudget(ofQuery);
  for (const entry of entries) {
    const score = yield* scoreInSteps(entry, search, budget);
    if (score !== undefined) matches.push({ entry, score });
  }
  return matches;
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : Math.min(a, b);
}
