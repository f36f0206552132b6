// Finds the entries of a page, or counts those of a selection, as planned. Long reads are divided into steps.
import { TopN } from '../../base/top-n.ts';
import type { Steps } from '../../base/steps.ts';
import { cutPage, type EntryPage } from '../../core/objects/page-text.ts';
import { isTombstone, type StoredEntry, type StoredObject } from '../../core/objects/stored.ts';
import type { PagePosition, PageQuery, Selection } from '../../core/query/ast.ts';
import { planPage, planSelection, type PagePlan, type SelectionPlan } from '../../core/query/plan-page.ts';
import { compareEntries, comparePositions, isAfter, newestFirst, positionOf } from '../../core/query/sort.ts';
import type { ListContents } from './list-table.ts';
import { bothIndexes, liveIndexes, lookUp, scan, type Indexes } from './scan.ts';

/** Returns one page of a list. */
export function* selectPage(contents: ListContents, plan: PagePlan): Steps<EntryPage> {
  return cutPage(yield* collect<StoredEntry>(indexesOf(contents, plan), plan), plan);
}

/** Returns one page of the live objects of a list, even when the query includes tombstones. */
export function* selectLivePage(contents: ListContents, query: PageQuery): Steps<EntryPage<StoredObject>> {
  const plan = planPage(query);
  return cutPage(yield* collect(liveIndexes(contents), plan), plan);
}

/** Returns the selected live objects, newest first. */
export function selectNewest(contents: ListContents, { filters, ids }: Selection): Steps<readonly StoredObject[]> {
  return collect(liveIndexes(contents), planPage({ filters, ids, sort: newestFirst, limit: Infinity }));
}

/** Returns the number of selected entries. */
export function* countSelected(contents: ListContents, selection: Selection): Steps<number> {
  const plan = planSelection(selection);
  const indexes = indexesOf(contents, plan);
  const isInside = plan.residual.length > 0;
  if (plan.by === 'scan' && !isInside) return indexes.countRange(plan.range);
  let total = 0;
  yield* visitCandidates(indexes, plan, isInside, () => {
    total++;
  });
  return total;
}

function indexesOf(contents: ListContents, { includeDeleted }: Pick<PagePlan, 'includeDeleted'>): Indexes<StoredEntry> {
  return includeDeleted ? bothIndexes(contents) : liveIndexes(contents);
}

/** Returns the planned entries in order, one more than the limit when there are more. */
function* collect<T extends StoredEntry>(indexes: Indexes<T>, plan: PagePlan): Steps<readonly T[]> {
  const wanted = plan.limit + 1;
  if (plan.by === 'time' || plan.by === 'id') {
    const found: T[] = [];
    yield* scan(indexes, plan, plan.residual.length > 0, (entry) => found.push(entry) >= wanted);
    return found;
  }
  const { after, sort } = plan;
  // Large objects do not keep their parsed attributes. Parsing one for each comparison would take very long.
  const positions = new Map<StoredEntry, PagePosition>();
  const compareOthers = compareEntries(sort);
  const placeOf = (entry: T): PagePosition => positions.get(entry) ?? positionOf(entry, sort);
  const compare = (a: T, b: T): number =>
    positions.size === 0 ? compareOthers(a, b) : comparePositions(placeOf(a), placeOf(b), sort);
  const first = new TopN<T>(wanted, compare);
  yield* visitCandidates(indexes, plan, true, (entry) => {
    if (after !== undefined && !isAfter(entry, sort, after)) return;
    if (!isTombstone(entry) && entry.isLarge) positions.set(entry, positionOf(entry, sort));
    first.add(entry);
  });
  return first.finish();
}

function visitCandidates<T extends StoredEntry>(
  indexes: Indexes<T>,
  plan: SelectionPlan,
  looksInside: boolean,
  visit: (entry: T) => void,
): Steps<void> {
  if (plan.by === 'lookup') return lookUp(indexes, plan, looksInside, visit);
  return scan(indexes, { ...plan, by: 'time', direction: 'descending' }, looksInside, (entry) => {
    visit(entry);
    return false;
  });
}
