// Finds the page of a list that a query asks for. Ordered by timestamp, only the entries of the page are fetched; by id,
// only the ids named; anything else fetches every entry in question, piece by piece, and keeps the best.
import { fitPage, PageFill } from '../../core/objects/page-text.ts';
import { isTombstone, type StoredEntry } from '../../core/objects/stored.ts';
import type { Filter, PageQuery, Selection } from '../../core/query/ast.ts';
import { matches } from '../../core/query/evaluate.ts';
import { namedIds } from '../../core/query/named-ids.ts';
import { compareEntries, isAfter } from '../../core/query/sort.ts';
import {
  continueRange,
  isTimestampField,
  splitTimestampRange,
  type TimestampRange,
} from '../../core/query/timestamp-range.ts';
import type { Part } from './list-reads.ts';
import type { ListView } from './list-view.ts';

export interface Selected {
  readonly entries: readonly StoredEntry[];
  readonly more: boolean;
}

/** Most entries that one script returns when it is known that all of them are wanted. */
const maxWantedPiece = 10_001;

/**
 * One page of a list.
 *
 * @param piece how many entries to fetch at once where many have to be looked at
 */
export async function selectPage(view: ListView, part: Part, query: PageQuery, piece: number): Promise<Selected> {
  const { range, rest } = splitTimestampRange(query.filters);
  const wanted = query.limit + 1;
  const ids = query.ids ?? namedIds(rest);
  const [first] = query.sort;
  if (ids === undefined && first !== undefined && isTimestampField(first.field)) {
    const ahead = query.after === undefined ? range : continueRange(range, first.direction, query.after);
    if (ahead !== undefined) {
      const size = rest.length === 0 ? Math.min(wanted, maxWantedPiece) : piece;
      const found: StoredEntry[] = [];
      const fill = new PageFill(query.maxBytes);
      for await (const entries of view.walk(part, ahead, first.direction === 'descending', size)) {
        for (const entry of entries) {
          if (!matches(entry, rest)) continue;
          found.push(entry);
          fill.add(entry);
        }
        if (found.length >= wanted || fill.isFull) break;
      }
      return cut(found, query);
    }
  }
  const best = new Best(query, wanted);
  for await (const entries of candidates(view, part, range, rest, ids, piece)) best.offer(entries);
  return cut(best.taken(), query);
}

/** All entries selected, newest first, in pieces. */
export async function* selectNewest(
  view: ListView,
  part: Part,
  { filters, ids }: Selection,
  piece: number,
): AsyncGenerator<readonly StoredEntry[], void, undefined> {
  const { range, rest } = splitTimestampRange(filters);
  for await (const entries of candidates(view, part, range, rest, ids ?? namedIds(rest), piece)) {
    yield entries.toSorted((a, b) => b.lastModified - a.lastModified);
  }
}

/** How many entries are selected. */
export async function countSelected(view: ListView, part: Part, selection: Selection, piece: number): Promise<number> {
  const { range, rest } = splitTimestampRange(selection.filters);
  const ids = selection.ids ?? namedIds(rest);
  if (rest.length === 0 && ids === undefined) return view.countRange(part, range);
  let total = 0;
  for await (const entries of candidates(view, part, range, rest, ids, piece)) total += entries.length;
  return total;
}

/** Everything selected, in pieces; by descending timestamps unless ids are given. */
async function* candidates(
  view: ListView,
  part: Part,
  range: TimestampRange,
  filters: readonly Filter[],
  ids: readonly string[] | undefined,
  piece: number,
): AsyncGenerator<readonly StoredEntry[], void, undefined> {
  if (ids === undefined) {
    for await (const entries of view.walk(part, range, true, piece)) {
      yield entries.filter((entry) => matches(entry, filters));
    }
    return;
  }
  const found = await view.byIds([...new Set(ids)]);
  yield found.filter(
    (entry) =>
      (isTombstone(entry) ? part !== 'live' : part !== 'dead') &&
      entry.lastModified >= range.low &&
      entry.lastModified <= range.high &&
      matches(entry, filters),
  );
}

/** Keeps the first entries in the order of a query, never more than a few pages of them, whether by number or by bytes. */
class Best {
  readonly #query: PageQuery;
  readonly #wanted: number;
  readonly #compare: (a: StoredEntry, b: StoredEntry) => number;
  #kept: StoredEntry[] = [];
  #chars = 0;
  #worst: StoredEntry | undefined;

  constructor(query: PageQuery, wanted: number) {
    this.#query = query;
    this.#wanted = wanted;
    this.#compare = compareEntries(query.sort);
  }

  offer(entries: readonly StoredEntry[]): void {
    const { after, sort, maxBytes = Infinity } = this.#query;
    for (const entry of entries) {
      if (after !== undefined && !isAfter(entry, sort, after)) continue;
      if (this.#worst !== undefined && this.#compare(entry, this.#worst) >= 0) continue;
      this.#kept.push(entry);
      this.#chars += isTombstone(entry) ? 0 : entry.text.length;
      if (this.#kept.length >= 2 * this.#wanted || this.#chars > 2 * maxBytes) this.#trim();
    }
  }

  taken(): readonly StoredEntry[] {
    this.#trim();
    return this.#kept;
  }

  #trim(): void {
    this.#kept.sort(this.#compare);
    const fill = new PageFill(this.#query.maxBytes);
    const kept: StoredEntry[] = [];
    this.#chars = 0;
    for (const entry of this.#kept) {
      if (kept.length === this.#wanted || fill.isFull) break;
      kept.push(entry);
      fill.add(entry);
      this.#chars += isTombstone(entry) ? 0 : entry.text.length;
    }
    // Whatever comes after the last of a full page never gets onto it: others can only move it further back.
    if (kept.length === this.#wanted || fill.isFull) this.#worst = kept.at(-1);
    this.#kept = kept;
  }
}

function cut(found: readonly StoredEntry[], { limit, maxBytes }: PageQuery): Selected {
  return fitPage({ entries: found.slice(0, limit), more: found.length > limit }, maxBytes);
}
