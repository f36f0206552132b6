// Finds the entries of a page, or counts those of a selection, in declared indexes. The indexes give few candidates, which
// the backend then looks up, tests and sorts like any other objects that a query names by id. Backends only read ranges of
// keys: they run these generators, and answer the ranges that are yielded.
import type { StoredObject } from '../objects/stored.ts';
import type { PageQuery, Selection } from '../query/ast.ts';
import { comparePositions } from '../query/sort.ts';
import type { TimestampRange } from '../query/timestamp-range.ts';
import { encodeFields } from './definition.ts';
import {
  cutSpan,
  orderOf,
  planIndexes,
  type FixedSpan,
  type IndexOrder,
  type IndexPlan,
  type KeySpan,
} from './plan-index.ts';

/** Objects of one list to read from an index, ordered by key, and the newest first among those with equal keys. */
export interface KeyRange extends KeySpan {
  readonly slot: number;
  /** Whether the last ones are read first, and the oldest first among those with equal keys. */
  readonly isReverse: boolean;
  /** Only objects with such timestamps; absent: all. */
  readonly timestamps?: TimestampRange;
  readonly limit: number;
}

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
  /** Whether a page that these do not fill may miss entries, so that the list has to be scanned. */
  readonly mayMiss: boolean;
}

/** Returns the query for the candidates among its entries. */
export function amongCandidates<T extends Selection>(query: T, { ids }: Candidates): T {
  return { ...query, ids, indexes: undefined };
}

/** Whether a page of candidates is the page of the query. */
export function isWholePage(
  { report }: Selection,
  { more }: { readonly more: boolean },
  { mayMiss }: Candidates,
): boolean {
  if (more || !mayMiss) return true;
  report?.scanned();
  return false;
}

/** A search in indexes: yields ranges to read, and returns `undefined` when a scan of the list is faster. */
export type Search<T> = Generator<readonly KeyRange[], T | undefined, KeyRows>;

/** Objects are read with their keys for ranges of at most so many, and with texts up to this length in bytes. */
export const mostInlineObjects = 1000;
const mostInlineBytes = 16_384;

/** Returns the length in bytes up to which texts are read with keys, so that together they do not exceed a page. */
export function inlineBytesOf({ maxBytes = Infinity }: Pick<PageQuery, 'maxBytes'>, { limit }: KeyRange): number {
  return limit > mostInlineObjects ? 0 : Math.min(mostInlineBytes, Math.floor(maxBytes / limit));
}

/** Candidates that are looked up rather than a whole list scanned: at least so many, or this part of the list. */
const fewestCandidates = 500;
const mostCandidates = 20_000;
const candidatesPart = 0.05;

/** Finds candidates for a page. */
export function* findCandidates(query: PageQuery): Search<Candidates> {
  const plans = planIndexes(query, query.sort);
  if (plans === undefined) return undefined;
  const orders = plans.map((plan) => orderOf(plan, query.sort));
  const isOrdered = orders.every((order) => order !== undefined);
  const isExact = plans.every(({ residual }) => residual.length === 0);
  // In the order of the page the first entries are enough, unless some of them do not match.
  const enough = isExact ? query.limit + 1 : Math.max(query.limit + 1, fewestCandidates);
  const limit = isOrdered ? enough : mostCandidates + 1;
  const parts: Part[] = [];
  for (const [number, plan] of plans.entries()) {
    for (const span of plan.spans) {
      const part = partOf(plan, span, isOrdered ? orders[number] : undefined, { query, limit });
      if (part === undefined) return undefined;
      parts.push(part);
    }
  }
  const cutRanges = cutRangesOf(plans);
  const { rows, live } = yield [...cutRanges, ...parts.flatMap(({ ranges }) => ranges)];
  query.report?.read(rows.reduce((sum, { length }) => sum + length, 0));
  const cut = rows.slice(0, cutRanges.length);
  if (cut.some((each) => each.length > fewestCandidates)) return undefined;
  const candidates = new Map<string, KeyRow>();
  for (const each of cut) for (const row of each) candidates.set(row.id, row);
  const unread: KeyRange[] = [];
  let isCutShort = false;
  let position = cutRanges.length;
  for (const { ranges, order } of parts) {
    for (const range of ranges) {
      const found = rows[position++] ?? [];
      const isFull = found.length === range.limit;
      isCutShort ||= isFull;
      const group = isFull && order !== undefined ? wrongTies(found, range, order) : undefined;
      if (group !== undefined) unread.push(group);
      for (const row of found) if (group === undefined || !row.key.equals(group.low)) candidates.set(row.id, row);
    }
  }
  const most = Math.min(mostCandidates, Math.max(fewestCandidates, live * candidatesPart));
  if (!isOrdered && (isCutShort || candidates.size > most)) return undefined;
  if (unread.length > 0) {
    const answer = yield unread;
    for (const each of answer.rows) for (const row of each) candidates.set(row.id, row);
  }
  query.report?.found(
    plans.map(({ index }) => index),
    { candidates: candidates.size, residual: Math.max(...plans.map((plan) => plan.residual.length)), isOrdered },
  );
  const objects = [...candidates.values()].flatMap(({ object }) => object ?? []);
  return {
    ids: [...candidates.keys()],
    objects: objects.length === candidates.size ? objects : undefined,
    mayMiss: isCutShort && !isExact,
  };
}

/** A span of a plan, as ranges to read. */
interface Part {
  readonly ranges: readonly KeyRange[];
  readonly order: IndexOrder | undefined;
}

/** Returns the ranges of a span for a page; `undefined` when the position of the page is not in the index. */
function partOf(
  plan: IndexPlan,
  span: FixedSpan,
  order: IndexOrder | undefined,
  { query, limit }: { readonly query: PageQuery; readonly limit: number },
): Part | undefined {
  const { slot } = plan.index;
  if (order === undefined)
    return { order, ranges: [{ low: span.low, high: span.high, slot, isReverse: false, limit }] };
  const { isReverse, isNewestFirst } = order;
  const whole = { low: span.low, high: span.high, slot, isReverse, limit };
  if (query.after === undefined) return { order, ranges: [whole] };
  const comparison = compareToPosition(plan, span, query);
  if (comparison === undefined) return undefined;
  if (comparison < 0) return { order, ranges: [] };
  if (comparison > 0) return { order, ranges: [whole] };
  const last = positionIn(plan, span, query);
  const time = query.after.at(-1);
  if (last === undefined || typeof time !== 'number') return undefined;
  const next = keyAfter(last);
  const timestamps = isNewestFirst
    ? { low: 0, high: Math.ceil(time) - 1 }
    : { low: Math.floor(time) + 1, high: Number.MAX_SAFE_INTEGER };
  const ties = { low: last, high: next, slot, isReverse: !isNewestFirst, timestamps, limit };
  const rest = isReverse ? { ...whole, high: lower(span.high, last) } : { ...whole, low: higher(span.low, next) };
  return { order, ranges: [ties, rest].filter(({ low, high }) => Buffer.compare(low, high) < 0) };
}

/**
 * Orders the values that a span has fixed and those at the position of the page. Returns `undefined` unless the sort begins
 * with the fields that it has in common with these values.
 */
function compareToPosition(
  { index, fixed }: IndexPlan,
  span: FixedSpan,
  { sort, after = [] }: PageQuery,
): number | undefined {
  const names = index.fields.slice(0, fixed).map(({ field }) => field.name);
  const isFixed = sort.map(({ field }) => names.includes(field.name));
  const leading = isFixed.includes(false) ? isFixed.indexOf(false) : sort.length;
  if (isFixed.lastIndexOf(true) >= leading) return undefined;
  const keys = sort.slice(0, leading);
  const values = keys.map(({ field }) => span.values[names.indexOf(field.name)]);
  return comparePositions(values, after.slice(0, leading), keys);
}

/** Returns the key at the position of the page; `undefined` when it was cut off. */
function positionIn({ index, fixed }: IndexPlan, span: FixedSpan, { sort, after = [] }: PageQuery): Buffer | undefined {
  const values = index.fields.slice(fixed).map(({ field }) => {
    const number = sort.findIndex((key) => key.field.name === field.name);
    return after[number];
  });
  const { bytes, isCut } = encodeFields(index, values, fixed);
  return isCut ? undefined : Buffer.concat([span.start, bytes]);
}

/**
 * Returns the range of the last key that was read, when objects with equal keys are wanted in the opposite order: those that
 * were read are then the last ones of that key instead of the first.
 */
function wrongTies(
  found: readonly KeyRow[],
  range: KeyRange,
  { isReverse, isNewestFirst }: IndexOrder,
): KeyRange | undefined {
  const last = found.at(-1);
  if (last === undefined || isReverse !== isNewestFirst || range.timestamps !== undefined) return undefined;
  return { ...range, low: last.key, high: keyAfter(last.key), isReverse: !isReverse };
}

/** Returns the lowest bytes above a key. */
function keyAfter(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.of(0)]);
}

function lower(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) < 0 ? a : b;
}

function higher(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) > 0 ? a : b;
}

function cutRangesOf(plans: readonly IndexPlan[]): readonly KeyRange[] {
  const indexes = new Map(plans.map(({ index }) => [index.slot, index]));
  return [...indexes.values()].map((index) => {
    return { ...cutSpan(index), slot: index.slot, isReverse: false, limit: fewestCandidates + 1 };
  });
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
    const { rows } = yield cutRangesOf(plans);
    if (rows.every((each) => each.length === 0)) {
      const { slot } = plan.index;
      return { ranges: plan.spans.map(({ low, high }) => ({ low, high, slot, isReverse: false, limit: Infinity })) };
    }
  }
  return yield* findCandidates({ ...selection, sort: [], limit: Infinity });
}
