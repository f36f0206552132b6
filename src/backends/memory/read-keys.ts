// Reads declared indexes in steps: candidates for a page or a count, and pages that an index delivers in its order.
import type { Steps } from '../../base/steps.ts';
import {
  findCandidates,
  findCount,
  type Candidates,
  type KeyRow,
  type KeyRows,
} from '../../core/index/find-entries.ts';
import { keyAfter, planOrderedRanges, type KeyRange } from '../../core/index/page-ranges.ts';
import { cutPage, type EntryPage } from '../../core/objects/page-text.ts';
import type { StoredEntry, StoredObject } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import { bytesOf, type Place } from './key-maps.ts';
import type { ListView } from './list-view.ts';

type View = ListView<StoredEntry>;

/** Finds candidates for a page; `undefined` when a scan is needed. */
export function* searchKeys(view: View, query: PageQuery): Steps<Candidates | undefined> {
  const search = findCandidates(query);
  let next = search.next();
  while (next.done !== true) next = search.next(yield* readAll(view, next.value));
  return next.value;
}

/** Counts the selected objects, or finds candidates; `undefined` when a scan is needed. */
export function* countByKeys(view: View, selection: Selection): Steps<number | Candidates | undefined> {
  const search = findCount(selection);
  let next = search.next();
  while (next.done !== true) next = search.next(yield* readAll(view, next.value));
  const found = next.value;
  if (found === undefined || !('ranges' in found)) return found;
  return found.ranges.reduce((sum, range) => sum + view.keys.countRange(range), 0);
}

function* readAll(view: View, ranges: readonly KeyRange[]): Steps<KeyRows> {
  const rows: (readonly KeyRow[])[] = [];
  for (const range of ranges) {
    const found: KeyRow[] = [];
    yield* visitRange(view, range, (object, key) => {
      return found.push({ id: object.id, key: bytesOf(key), object }) >= range.limit;
    });
    rows.push(found);
  }
  return { rows, live: view.live };
}

/**
 * Returns a page in the order of a declared index, without a test and a sort; `undefined` when none delivers it, and for a
 * report, which is about candidates.
 */
export function* readOrdered(view: View, query: PageQuery): Steps<EntryPage<StoredObject> | undefined> {
  const ordered = query.report === undefined ? planOrderedRanges(query) : undefined;
  if (ordered === undefined) return undefined;
  const { slot, uncertain, ranges, isNewestFirst } = ordered;
  if (uncertain !== undefined && !view.keys.isEmptyRange({ slot, ...uncertain })) return undefined;
  const found: StoredObject[] = [];
  for (const range of ranges) {
    if (found.length > query.limit) break;
    const isInOrder = range.timestamps !== undefined || range.isReverse !== isNewestFirst;
    yield* (isInOrder ? addFirst : addWithTies)(view, range, query.limit, found);
  }
  return cutPage(found, query);
}

/** Adds the first objects of a range, until there are more than the limit. */
function* addFirst(view: View, range: KeyRange, limit: number, found: StoredObject[]): Steps<void> {
  yield* visitRange(view, range, (object) => found.push(object) > limit);
}

/**
 * Adds the first objects of a range whose index has those with equal keys in the opposite order. When the limit is reached,
 * those of the last key may be its last ones instead of the first, and are read again from the other end.
 */
function* addWithTies(view: View, range: KeyRange, limit: number, found: StoredObject[]): Steps<void> {
  let equal: StoredObject[] = [];
  let last: string | undefined;
  yield* visitRange(view, range, (object, key) => {
    if (key !== last) {
      for (const each of equal.reverse()) found.push(each);
      [equal, last] = [[], key];
    }
    return found.length + equal.push(object) > limit;
  });
  if (last === undefined) return;
  const low = bytesOf(last);
  if (found.length + equal.length > limit) {
    yield* addFirst(view, { ...range, low, high: keyAfter(low), isReverse: !range.isReverse }, limit, found);
  } else for (const each of equal.reverse()) found.push(each);
}

/** @param visit returns whether the visit ends here */
function* visitRange(view: View, range: KeyRange, visit: (object: StoredObject, key: string) => boolean): Steps<void> {
  let from: Place | undefined = view.keys.visitStep(range, undefined, visit);
  while (from !== undefined) {
    yield* view.pause();
    from = view.keys.visitStep(range, from, visit);
  }
}
