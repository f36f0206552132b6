// Finds the entries of a page, or counts those of a selection, as planned. Long reads are divided into steps.
import type { Steps } from '../../base/steps.ts';
import { cutPage, type EntryPage } from '../../core/objects/page-text.ts';
import type { StoredEntry, StoredObject } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import { amongCandidates, isWholePage } from '../../core/index/find-entries.ts';
import { FirstEntries } from '../../core/query/first-entries.ts';
import { planPage, planSelection, type PagePlan, type SelectionPlan } from '../../core/query/plan-page.ts';
import { newestFirst } from '../../core/query/sort.ts';
import type { ListContents } from './list-table.ts';
import { bothIndexes, liveIndexes, lookUp, scan, visitWanted, type Indexes } from './scan.ts';

/** Returns one page of a list, by declared indexes where they help. */
export function* selectPage(contents: ListContents, query: PageQuery): Steps<EntryPage> {
  return yield* selectFrom<StoredEntry>(contents, indexesOf(contents, query), query);
}

/** Returns one page of the live objects of a list, even when the query includes tombstones. */
export function* selectLivePage(contents: ListContents, query: PageQuery): Steps<EntryPage<StoredObject>> {
  return yield* selectFrom(contents, liveIndexes(contents), { ...query, includeDeleted: false });
}

function* selectFrom<T extends StoredEntry>(
  contents: ListContents,
  indexes: Indexes<T>,
  query: PageQuery,
): Steps<EntryPage<T>> {
  const candidates = yield* contents.byKey.search(query, contents.live.size);
  if (candidates !== undefined) {
    const plan = planPage(amongCandidates(query, candidates));
    const page = yield* collect(indexes, plan);
    if (isWholePage(query, page, candidates)) return page;
  }
  return yield* collect(indexes, planPage(query));
}

/** Returns the selected live objects, newest first. */
export function* selectNewest(contents: ListContents, { filters, ids }: Selection): Steps<readonly StoredObject[]> {
  const plan = planPage({ filters, ids, sort: newestFirst, limit: Infinity });
  return (yield* collect(liveIndexes(contents), plan)).entries;
}

/** Returns the number of selected entries. */
export function* countSelected(contents: ListContents, selection: Selection): Steps<number> {
  const indexed = yield* contents.byKey.count(selection, contents.live.size);
  if (typeof indexed === 'number') return indexed;
  return yield* countScanned(contents, indexed === undefined ? selection : amongCandidates(selection, indexed));
}

function* countScanned(contents: ListContents, selection: Selection): Steps<number> {
  const plan = planSelection(selection);
  const indexes = indexesOf(contents, selection);
  const isInside = plan.residual.length > 0;
  if (plan.by === 'scan' && !isInside) return indexes.countRange(plan.range);
  let total = 0;
  yield* visitCandidates(indexes, plan, isInside, () => {
    total++;
    return undefined;
  });
  return total;
}

function indexesOf(contents: ListContents, { includeDeleted = false }: Selection): Indexes<StoredEntry> {
  return includeDeleted ? bothIndexes(contents) : liveIndexes(contents);
}

/** Returns the planned page. */
function* collect<T extends StoredEntry>(indexes: Indexes<T>, plan: PagePlan): Steps<EntryPage<T>> {
  if (plan.by === 'time' || plan.by === 'id') {
    const found: T[] = [];
    yield* scan(indexes, plan, plan.residual.length > 0, (entry) => found.push(entry) > plan.limit);
    return cutPage(found, plan);
  }
  const first = new FirstEntries<T>(plan);
  yield* visitCandidates(indexes, plan, true, (entry) => first.add(entry));
  return yield* first.finish();
}

function visitCandidates<T extends StoredEntry>(
  indexes: Indexes<T>,
  plan: SelectionPlan,
  looksInside: boolean,
  visit: (entry: T) => Steps<void> | undefined,
): Steps<void> {
  if (plan.by === 'lookup') return lookUp(indexes, plan, looksInside, visit);
  return visitWanted(indexes, plan, looksInside, visit);
}
