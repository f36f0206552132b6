// Finds the entries of a page, or counts those of a selection, in declared indexes. The indexes give few candidates, which
// the backend then looks up, tests and sorts like any other objects that a query names by id. Backends only read ranges of
// keys: they run these generators, and answer the ranges that are yielded.
import type { EntryPage } from '../objects/page-text.ts';
import type { StoredEntry, StoredObject } from '../objects/stored.ts';
import type { PageQuery, Selection } from '../query/ast.ts';
import { compareEntries } from '../query/sort.ts';
import { beginningOf, isCutOff } from './definition.ts';
import { keyAfter, partOf, type KeyRange } from './page-ranges.ts';
import {
  endOf,
  orderOf,
  planIndexes,
  type FixedSpan,
  type IndexOrder,
  type IndexPlan,
  type KeySpan,
} from './plan-index.ts';

/** An object in an index. */
export interface KeyRow {
  readonly id: string;
  readonly key: Buffer;
  /** The object; absent when the backend has not read it with the key. */
  readonly object?: StoredObject | undefined;
}

/** What a backend answers to ranges: the rows of each, and the number of live objects of the list. */
export interface KeyRows {
  readonly rows: readonly (readonly KeyRow[])[];
  readonly live: number;
}

/** Candidates for a page. */
export interface Candidates {
  readonly ids: readonly string[];
  /** The candidates themselves; `undefined` when some of them were not read. */
  readonly objects: readonly StoredObject[] | undefined;
  /** Whether all candidates are known to match the filters, as they were when their keys were read. */
  readonly allMatch: boolean;
  /** Whether a page that these do not fill may miss entries, so that the list has to be scanned. */
  readonly mayMiss: boolean;
  /** Objects after which, in the order of the page, further entries may follow that are no candidates. */
  readonly frontier: readonly KeyRow[];
}

/** Returns the query for the candidates among its entries. Those that are read later may have changed since. */
export function amongCandidates<T extends Selection>(query: T, { ids, objects, allMatch }: Candidates): T {
  return { ...query, ids, indexes: undefined, ...(allMatch && objects !== undefined ? { filters: [] } : {}) };
}

/**
 * Whether a page of candidates is the page of the query.
 *
 * @param frontier the objects of the frontier; `undefined` for one that is not known
 */
export function isWholePage(
  { report, sort }: PageQuery,
  { more, entries }: Pick<EntryPage, 'more' | 'entries'>,
  candidates: Candidates,
  frontier: readonly (StoredEntry | undefined)[] = candidates.frontier.map(({ object }) => object),
): boolean {
  if (!candidates.mayMiss) return true;
  const last = entries.at(-1);
  const compare = compareEntries(sort);
  const isBeforeAll =
    last !== undefined && frontier.every((object) => object !== undefined && compare(last, object) <= 0);
  if (more && isBeforeAll) return true;
  report?.scanned();
  return false;
}

/** A search in indexes: yields ranges to read, and returns `undefined` when a scan of the list is faster. */
export type Search<T> = Generator<readonly KeyRange[], T | undefined, KeyRows>;

/** Objects are read with their keys for ranges of at most so many, and with texts up to this length in bytes. */
export const maxInlineObjects = 1000;
export const maxInlineBytes = 16_384;

/** Returns the length in bytes up to which texts are read with keys, so that together they do not exceed a page. */
export function inlineBytesOf({ maxBytes = Infinity }: Pick<PageQuery, 'maxBytes'>, { limit }: KeyRange): number {
  return limit > maxInlineObjects ? 0 : Math.min(maxInlineBytes, Math.floor(maxBytes / limit));
}

/** Candidates that are looked up rather than a whole list scanned: at least so many, or this part of the list. */
const minCandidates = 500;
const maxCandidates = 20_000;
const candidatesPart = 0.05;

/** Number of keys of all ranges that are read together. */
const maxKeys = 20_000;
const minKeys = 20;

/** Finds candidates for a page. */
export function* findCandidates(query: PageQuery): Search<Candidates> {
  const plans = planIndexes(query, query.sort);
  if (plans === undefined) return undefined;
  query.report?.begun();
  const found = (yield* findFirst(query, plans)) ?? (yield* findAll(plans, query));
  if (found === undefined) return undefined;
  const { rows, isOrdered } = found;
  query.report?.found(
    plans.map(({ index }) => index),
    { candidates: rows.size, residual: Math.max(...plans.map((plan) => plan.residual.length)), isOrdered },
  );
  const objects = [...rows.values()].flatMap(({ object }) => object ?? []);
  return {
    ids: [...rows.keys()],
    objects: objects.length === rows.size ? objects : undefined,
    allMatch: !found.hasUncertain && plans.every(({ residual }) => residual.length === 0),
    mayMiss: found.mayMiss,
    frontier: found.frontier,
  };
}

interface Found extends Pick<Candidates, 'mayMiss' | 'frontier'> {
  readonly rows: ReadonlyMap<string, KeyRow>;
  readonly isOrdered: boolean;
  /** Whether there are rows with keys that were cut off. */
  readonly hasUncertain: boolean;
}

/** Reads the first keys of each span in the order of the page; `undefined` when the indexes do not have that order. */
function* findFirst(query: PageQuery, plans: readonly IndexPlan[]): Search<Found> {
  const parts: Part[] = [];
  for (const plan of plans) {
    const order = orderOf(plan, query.sort);
    if (order === undefined) return undefined;
    for (const span of plan.spans) {
      // Without conditions left, the first entries of the span are enough.
      const isExact = plan.residual.length === 0 && span.part === 'whole';
      const limit = isExact ? query.limit + 1 : Math.max(query.limit + 1, minCandidates);
      const ranges = partOf(plan, span, order, { query, limit });
      if (ranges === undefined) return undefined;
      parts.push(...ranges.map((range) => ({ range, order, span, isExact })));
    }
  }
  if (parts.reduce((sum, { range }) => sum + range.limit, 0) > maxKeys && parts.length > 1) return undefined;
  const answer = yield parts.map(({ range }) => range);
  query.report?.read(countRows(answer));
  const rows = new Map<string, KeyRow>();
  const frontier: KeyRow[] = [];
  /** Keys of which all objects have to be read, since those that were read are not the first ones. */
  const unread: { readonly group: KeyRange; readonly part: Part; readonly last: KeyRow }[] = [];
  for (const [number, part] of parts.entries()) {
    const read = answer.rows[number] ?? [];
    let last = read.length < part.range.limit ? undefined : read.at(-1);
    let group = last && (part.span.part === 'cut' ? sameBeginning(last, part.range) : wrongTies(last, part));
    const other = read.at(-2);
    if (part.span.part !== 'cut' && group !== undefined && other !== undefined && !isWithin(other, group)) {
      // All objects before the last one are the first ones of their keys, and the last one shows that there are more.
      [last, group] = [other, undefined];
    }
    if (last !== undefined && group !== undefined) unread.push({ group, part, last });
    else if (last !== undefined && !part.isExact) frontier.push(last);
    for (const row of read) if (group === undefined || !isWithin(row, group)) rows.set(row.id, row);
  }
  if (unread.length > 0) {
    const others = yield unread.map(({ group }) => group);
    query.report?.read(countRows(others));
    for (const [number, { group, part, last }] of unread.entries()) {
      const read = others.rows[number] ?? [];
      const isFull = read.length === group.limit;
      if (isFull && part.span.part === 'cut') return undefined;
      if (!part.isExact) frontier.push((isFull ? read.at(-1) : undefined) ?? last);
      for (const row of read) rows.set(row.id, row);
    }
  }
  // All entries of a single range come before its end.
  const isSingle = answer.rows.filter(({ length }) => length > 0).length === 1 && !frontier.some(isCutOff);
  const hasUncertain = hasUncertainRows(
    answer.rows,
    parts.map(({ span }) => span),
  );
  return { rows, isOrdered: true, hasUncertain, mayMiss: frontier.length > 0, frontier: isSingle ? [] : frontier };
}

/** Reads all keys of the spans, unless they are so many that a scan of the list is faster. */
function* findAll(plans: readonly IndexPlan[], { report }: PageQuery): Search<Found> {
  const spans = plans.flatMap((plan) => plan.spans);
  const ranges = plans.flatMap(({ index: { slot }, spans: own }) =>
    own.map(({ low, high }) => ({ low, high, slot, isReverse: false })),
  );
  const rows: (readonly KeyRow[])[] = ranges.map(() => []);
  // The first read is short: most searches find few keys, and only then it is known how many are too many.
  let most = minCandidates;
  let open = [...ranges.keys()];
  let limit = Math.max(minKeys, Math.min(most + 1, Math.floor(maxKeys / Math.max(1, open.length))));
  while (open.length > 0) {
    const answer = yield open.map((number) => ({ ...ranges[number]!, limit }));
    report?.read(countRows(answer));
    for (const [position, number] of open.entries()) rows[number] = answer.rows[position] ?? [];
    most = Math.min(maxCandidates, Math.max(minCandidates, answer.live * candidatesPart));
    if (rows.reduce((sum, { length }) => sum + length, 0) > most) return undefined;
    open = open.filter((number) => rows[number]!.length === limit);
    limit = Math.ceil(most / Math.max(1, open.length)) + 1;
  }
  const found = new Map(rows.flat().map((row) => [row.id, row]));
  const hasUncertain = hasUncertainRows(rows, spans);
  return { rows: found, isOrdered: false, hasUncertain, mayMiss: false, frontier: [] };
}

/** Whether there are rows in spans of keys that were cut off. */
function hasUncertainRows(rows: KeyRows['rows'], spans: readonly FixedSpan[]): boolean {
  return spans.some(({ part }, number) => part !== 'whole' && rows[number]?.length !== 0);
}

function countRows({ rows }: KeyRows): number {
  return rows.reduce((sum, { length }) => sum + length, 0);
}

/** A range to read of a span of a plan. */
interface Part {
  readonly range: KeyRange;
  readonly order: IndexOrder;
  readonly span: FixedSpan;
  /** Whether all objects in the range match. */
  readonly isExact: boolean;
}

/**
 * Returns the range of the last key that was read, when objects with equal keys are wanted in the opposite order: those that
 * were read are then the last ones of that key instead of the first.
 */
function wrongTies({ key }: KeyRow, { range, order: { isReverse, isNewestFirst } }: Part): KeyRange | undefined {
  if (isReverse !== isNewestFirst || range.timestamps !== undefined) return undefined;
  return { ...range, low: key, high: keyAfter(key), isReverse: !isReverse };
}

/** Returns the range of the keys that were cut off after the same bytes as one, whose order is unknown. */
function sameBeginning({ key }: KeyRow, range: KeyRange): KeyRange {
  const low = beginningOf(key);
  return { ...range, low, high: endOf(low), limit: minCandidates };
}

function isWithin({ key }: KeyRow, { low, high }: KeySpan): boolean {
  return Buffer.compare(key, low) >= 0 && Buffer.compare(key, high) < 0;
}

/** What a count needs: numbers of objects in ranges, or candidates to test. */
export type Counting = { readonly ranges: readonly KeyRange[] } | Candidates;

/**
 * Finds what a count of the selected entries needs. Ranges are disjoint, and all objects in them match.
 */
export function* findCount(selection: Selection): Search<Counting> {
  const plans = planIndexes(selection, []);
  const [plan] = plans ?? [];
  if (plans === undefined || plan === undefined) return undefined;
  if (plans.length === 1 && plan.residual.length === 0) {
    const { slot } = plan.index;
    const ranges = plan.spans.map(({ part, low, high }) => ({ part, low, high, slot, isReverse: false, limit: 1 }));
    const uncertain = ranges.filter(({ part }) => part !== 'whole');
    const rows = uncertain.length === 0 ? [] : (yield uncertain).rows;
    if (rows.every((each) => each.length === 0)) {
      selection.report?.found([plan.index], { candidates: 0, residual: 0, isOrdered: false });
      return { ranges: ranges.filter(({ part }) => part === 'whole').map((range) => ({ ...range, limit: Infinity })) };
    }
  }
  return yield* findCandidates({ ...selection, sort: [], limit: Infinity });
}
