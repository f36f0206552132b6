// Plans how a subset is read: which lists with which conditions, order and number of rows. The rows together contain every
// row that the query accepts in the part of its order that it asked for.
import type { IR, LoadSubsetOptions } from '@tanstack/db';
import type { Codecs } from './codecs.ts';
import { bothOf, conjuncts, fieldOf, translatePredicate, type Condition, type Translated } from './selector.ts';

/** One list to read. */
export interface Segment {
  readonly selector: Condition | undefined;
  /** What to do with the order; absent: all rows, in any order. */
  readonly order?: Order | undefined;
  /** Number of accepted rows that are needed; absent: all. */
  readonly need?: number;
  /** Whether a row counts. */
  readonly accepts: (row: object) => boolean;
  /** Read only if segments before it have less than `need`. */
  readonly isContinuation?: boolean;
}

export interface Order {
  readonly name: string;
  readonly isDescending: boolean;
  /** Whether texts sort by code point on both sides. */
  readonly sortsTexts: boolean;
  readonly isSystem: boolean;
}

export interface Plan {
  /** The condition of all rows of the subset. */
  readonly selector: Translated;
  readonly segments: readonly Segment[];
  /** Whether the query accepts a row, wherever its window is. */
  readonly accepts: (row: object) => boolean;
}

/** How rows are evaluated; from TanStack DB. */
export type Evaluate = (where: IR.BasicExpression | undefined) => (row: object) => boolean;

/** Plans a request of TanStack DB. */
export function planSubset(
  options: LoadSubsetOptions,
  { codecs, evaluate, base }: { codecs: Codecs; evaluate: Evaluate; base: Condition | undefined },
): Plan {
  const { where, cursor, limit, orderBy } = options;
  const own = translatePredicate(where, codecs);
  const selector = bothOf(base ?? true, own);
  const accepts = evaluate(where);
  if (selector === false || limit === 0) return { selector: false, segments: [], accepts };
  const all: Segment = { selector: conditionOf(selector), accepts };
  if (limit === undefined || !Number.isFinite(limit)) return { selector, segments: [all], accepts };

  const order = orderOf(orderBy, codecs);
  if (orderBy !== undefined && orderBy.length > 0 && order === undefined) return { selector, segments: [all], accepts };
  const need = cursor === undefined ? limit + (options.offset ?? 0) : limit;
  const from = cursor === undefined ? true : translatePredicate(cursor.whereFrom, codecs);
  const acceptsFrom = evaluate(cursor?.whereFrom);
  const acceptsBoth = (row: object): boolean => accepts(row) && acceptsFrom(row);
  const segments = orderedSegments(bothOf(selector, from), {
    order,
    need,
    accepts: acceptsBoth,
    nulls: nullsOf(orderBy),
  });
  if (cursor !== undefined) {
    // Rows that equal the last one of the page before.
    const ties = bothOf(selector, translatePredicate(cursor.whereCurrent, codecs));
    if (ties !== false) segments.push({ selector: conditionOf(ties), accepts: evaluate(cursor.whereCurrent) });
  }
  return { selector, segments, accepts };
}

function orderedSegments(
  selector: Translated,
  given: { order: Order | undefined; need: number; accepts: Segment['accepts']; nulls: 'first' | 'last' },
): Segment[] {
  const { order, need, accepts, nulls } = given;
  if (selector === false) return [];
  if (order === undefined || order.isSystem) return [{ selector: conditionOf(selector), order, need, accepts }];
  const { name } = order;
  const values = bothOf(selector, { [name]: { $ne: null, $exists: true } });
  const absent = bothOf(selector, { $or: [{ [name]: null }, { [name]: { $exists: false } }] });
  const valueSegment: Segment = { selector: conditionOf(values), order, need, accepts };
  const absentSegment: Segment = { selector: conditionOf(absent), need, accepts, isContinuation: nulls === 'last' };
  return [valueSegment, absentSegment];
}

/** Returns the leading term of the order, if the service can sort by it. Ties are requested by TanStack DB. */
function orderOf(orderBy: IR.OrderBy | undefined, codecs: Codecs): Order | undefined {
  const [leading] = orderBy ?? [];
  if (leading === undefined) return undefined;
  const field = fieldOf(leading.expression, codecs);
  if (field === undefined || field.name.includes(',') || field.name.startsWith('-')) return undefined;
  const { codec, name, isSystem } = field;
  if (codec !== undefined && codec.comparable !== 'order') return undefined;
  const { direction, stringSort } = leading.compareOptions;
  const sortsTexts = codec !== undefined || stringSort === 'lexical';
  // Ids are texts.
  if (name === 'id' && !sortsTexts) return undefined;
  return { name, isDescending: direction === 'desc', sortsTexts, isSystem };
}

function nullsOf(orderBy: IR.OrderBy | undefined): 'first' | 'last' {
  return orderBy?.[0]?.compareOptions.nulls ?? 'first';
}

/** Condition of rows whose value has another type than those of a page. Where they sort is not the same on both sides. */
export function othersOf(segment: Segment, type: string): Condition {
  const { name } = segment.order!;
  const others = ['string', 'number', 'boolean', 'array', 'object'].filter((other) => other !== type);
  return conditionOf(bothOf(segment.selector ?? true, { [name]: { $type: others } }))!;
}

function conditionOf(selector: Translated): Condition | undefined {
  return typeof selector === 'object' ? selector : undefined;
}

/** Whether everything that the second condition finds is found by the first one. */
export function covers(wide: Condition | undefined, narrow: Condition | undefined): boolean {
  if (wide === undefined) return true;
  if (narrow === undefined) return false;
  const has = new Set(conjuncts(narrow).map((condition) => JSON.stringify(condition)));
  return conjuncts(wide).every((condition) => has.has(JSON.stringify(condition)));
}

/** Longest condition in a query string, percent-encoded: servers and proxies refuse long addresses. */
const maxEncoded = 6000;

/**
 * Splits a condition that is too long for an address at its longest list of values. A condition that remains too long is
 * replaced by the base, which finds more.
 */
export function splitLong(
  selector: Condition | undefined,
  base: Condition | undefined,
): readonly (Condition | undefined)[] {
  if (selector === undefined || encodedLength(selector) <= maxEncoded) return [selector];
  const parts = conjuncts(selector);
  let longest: { readonly index: number; readonly name: string; readonly values: readonly unknown[] } | undefined;
  for (const [index, part] of parts.entries()) {
    for (const [name, inner] of Object.entries(part)) {
      const values = (inner as { $in?: unknown } | null)?.$in;
      if (Array.isArray(values) && values.length > (longest?.values.length ?? 1)) longest = { index, name, values };
    }
  }
  if (longest === undefined) return [base];
  const { index, name, values } = longest;
  const middle = Math.ceil(values.length / 2);
  return [values.slice(0, middle), values.slice(middle)].flatMap((half) => {
    const part = { ...parts[index], [name]: { $in: half } };
    return splitLong({ $and: parts.with(index, part) }, base);
  });
}

function encodedLength(selector: Condition): number {
  return encodeURIComponent(JSON.stringify(selector)).length;
}
