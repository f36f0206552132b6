// Text search in lists: finds the objects that match the query of `_q`, and ranks them. Indexes of words give candidates. The
// objects are tested and ranked here, in the same way on every backend.
import { TopN } from '../base/top-n.ts';
import { runFromNow, type Steps } from '../base/steps.ts';
import type { FoundWords, Page, StorageReader } from '../contracts/storage.ts';
import { invalidParameters } from '../core/errors.ts';
import { cutPage } from '../core/objects/page-text.ts';
import { charsOf, type ListKey, type StoredEntry } from '../core/objects/stored.ts';
import type { ListIndex, PagePosition, PageQuery, Selection, SortKey } from '../core/query/ast.ts';
import { isScoreField, readEntryField } from '../core/query/fields.ts';
import { issueOf } from '../core/query/parameters.ts';
import { comparePositions, newestFirst } from '../core/query/sort.ts';
import { knownUntil } from '../core/query/timestamp-range.ts';
import { isExactSearch, scoreText, wordSearchOf, type TextQuery, type TextSearch } from '../core/text/text-query.ts';
import { readStates, stateOf } from './index-states.ts';
import { declaredIndexes } from './list-indexes.ts';
import type { Above, Scope } from './scope.ts';
import { walk } from './walk.ts';

/** Maximum number of objects that are ranked. When more have the words, the newest come first. */
const mostRanked = 2000;

/** Maximum number of objects that are looked up to count those that match, rather than a list scanned. */
const mostCounted = 20_000;

/** Number of candidates that are read together. */
const candidatesPerRead = 500;

/** Objects that are tested in one step. */
const testedPerStep = 50;

/** A text query, bound to a list. */
export interface BoundSearch {
  readonly search: TextSearch;
  /** The text index of the list. */
  readonly index: ListIndex;
  /** Whether the index has the words of all objects. */
  readonly isComplete: boolean;
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
  return { search: { ...text, fields }, index, isComplete: state?.status === 'ready' };
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
  const { limit, maxBytes, report } = query;
  const [candidates, state] = await Promise.all([
    findCandidates(storage, list, query, bound, mostRanked),
    // Clients that know the list up to a timestamp may have missed deletions.
    knownUntil(query.filters) === undefined ? undefined : storage.listAll(list, noEntries),
  ]);
  const page = new FoundObjects(query);
  if (candidates.isRanked) {
    report?.read(candidates.read);
    for await (const entries of readCandidates(storage, list, query, candidates)) {
      page.add(await runFromNow(findMatches(entries, bound.search), 'normal'));
    }
    if (candidates.read > 0) {
      const residual = query.filters.length + (isExactSearch(bound.search) ? 0 : 1);
      report?.found([bound.index], { candidates: candidates.read, residual, isOrdered: false });
    }
  } else {
    for await (const entries of walk(storage, list, query, ...unrankedOrder(query))) {
      page.add(await runFromNow(findMatches(entries, bound.search), 'normal'), 0);
      if (page.isFull) break;
    }
  }
  const found = page.finish();
  const { entries, more } = cutPage(
    found.map(({ entry }) => entry),
    { limit, maxBytes },
  );
  return {
    timestamp: state === undefined ? candidates.timestamp : earlier(candidates.timestamp, state.timestamp),
    horizon: state?.horizon ?? 0,
    entries,
    more,
    position: found[entries.length - 1]?.position,
  };
}

const noEntries: PageQuery = { filters: [], ids: [], sort: newestFirst, limit: 1 };

/** Returns the order without the score, and the position in it where the page starts. */
function unrankedOrder({ sort, after }: PageQuery): readonly [readonly SortKey[], PagePosition | undefined] {
  const isKept = sort.map(({ field }) => !isScoreField(field));
  // After a page of ranked objects, the others start from the first one.
  const isContinued = after?.every((value, number) => isKept[number] || value === 0) === true;
  return [
    sort.filter((_, number) => isKept[number]),
    isContinued ? after.filter((_, number) => isKept[number]) : undefined,
  ];
}

/** Returns the number of objects that match the selection and the search. */
export async function countMatches(
  storage: StorageReader,
  list: ListKey,
  selection: Selection,
  bound: BoundSearch,
): Promise<number> {
  const { filters, ids } = selection;
  const isExact = isExactSearch(bound.search) && filters.length === 0 && ids === undefined;
  if (bound.isComplete && isExact) return storage.countWords(list, wordSearchOf(bound.search));
  const candidates = await findCandidates(storage, list, selection, bound, mostCounted);
  const all = candidates.isRanked
    ? readCandidates(storage, list, selection, candidates)
    : walk(storage, list, selection);
  let total = 0;
  for await (const entries of all) total += (await runFromNow(findMatches(entries, bound.search), 'normal')).length;
  return total;
}

/** Objects that may match. */
interface Candidates extends Pick<FoundWords, 'timestamp'> {
  /** Whether they are at most the limit, and so few enough to be ranked. */
  readonly isRanked: boolean;
  /** Absent: the whole list. */
  readonly ids?: readonly string[] | undefined;
  /** Number of objects that the index has found. */
  readonly read: number;
}

async function findCandidates(
  storage: StorageReader,
  list: ListKey,
  { ids }: Pick<Selection, 'ids'>,
  { search, isComplete }: BoundSearch,
  limit: number,
): Promise<Candidates> {
  if (isComplete) {
    const { timestamp, ids: found, more } = await storage.findWords(list, wordSearchOf(search), limit);
    const allowed = ids && new Set(ids);
    const candidates = allowed === undefined ? found : found.filter((id) => allowed.has(id));
    if (!more) return { timestamp, isRanked: true, ids: candidates, read: found.length };
  }
  const timestamp = await storage.resourceTimestamp(list);
  const size = ids?.length ?? (await storage.countAll(list, { filters: [] }));
  return { timestamp, isRanked: size <= limit, ids, read: 0 };
}

async function* readCandidates(
  storage: StorageReader,
  list: ListKey,
  { filters }: Pick<Selection, 'filters'>,
  { ids }: Candidates,
): AsyncGenerator<readonly StoredEntry[]> {
  if (ids === undefined) yield* walk(storage, list, { filters });
  for (let start = 0; start < (ids?.length ?? 0); start += candidatesPerRead) {
    yield* walk(storage, list, { filters, ids: ids?.slice(start, start + candidatesPerRead) });
  }
}

interface FoundObject {
  readonly entry: StoredEntry;
  readonly position: PagePosition;
}

/** Collects the matching objects of a page, and one more. */
class FoundObjects {
  readonly #sort: readonly SortKey[];
  readonly #after: PagePosition | undefined;
  readonly #limit: number;
  readonly #first: TopN<FoundObject>;
  #count = 0;

  constructor({ sort, after, limit, maxBytes = Infinity }: PageQuery) {
    this.#sort = sort;
    this.#after = after;
    this.#limit = limit;
    this.#first = new TopN(limit + 1, (a, b) => comparePositions(a.position, b.position, sort), {
      weigh: ({ entry }) => charsOf(entry),
      max: maxBytes,
    });
  }

  /** Whether a page is found, when entries come in the order of the page. */
  get isFull(): boolean {
    return this.#count > this.#limit;
  }

  /** @param equal what stands for the score of each object; default: its own */
  add(matches: readonly Match[], equal?: number): void {
    for (const { entry, score } of matches) {
      const position = this.#sort.map(({ field }) =>
        isScoreField(field) ? (equal ?? score) : readEntryField(entry, field),
      );
      if (this.#after !== undefined && comparePositions(position, this.#after, this.#sort) <= 0) continue;
      this.#count++;
      this.#first.add({ entry, position });
    }
  }

  /** Returns the objects in the order of the page. */
  finish(): readonly FoundObject[] {
    return this.#first.finish();
  }
}

/** A matching object. */
interface Match {
  readonly entry: StoredEntry;
  readonly score: number;
}

/** Returns the entries that match. */
function* findMatches(entries: readonly StoredEntry[], search: TextSearch): Steps<readonly Match[]> {
  const matches: Match[] = [];
  let chars = 0;
  for (const [number, entry] of entries.entries()) {
    const score = scoreText(entry, search);
    if (score !== undefined) matches.push({ entry, score });
    chars += charsOf(entry);
    if (number % testedPerStep !== testedPerStep - 1 && chars < charsPerStep) continue;
    chars = 0;
    yield;
  }
  return matches;
}

/** Characters of objects that are tested in one step. */
const charsPerStep = 50_000;

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : Math.min(a, b);
}
