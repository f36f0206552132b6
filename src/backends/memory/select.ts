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
import { liveView, wholeView, type ListView } from './list-view.ts';
import { countByKeys, readOrdered, searchKeys } from './read-keys.ts';
import { lookUp, scan, visitWanted } from './scan.ts';

/** Returns one page of a list, by declared indexes where they help. */
export function* selectPage(contents: ListContents, query: PageQuery): Steps<EntryPage> {
  return yield* selectFrom(viewOf(contents, query), query);
}

/** Returns one page of the live objects of a list, even when the query includes tombstones. */
export function* selectLivePage(contents: ListContents, query: PageQuery): Steps<EntryPage<StoredObject>> {
  return yield* selectFrom(liveView(contents), { ...query, includeDeleted: false });
}

function* selectFrom<T extends StoredEntry>(
  view: ListView<StoredObject | T>,
  query: PageQuery,
): Steps<EntryPage<StoredObject | T>> {
  const ordered = yield* readOrdered(view, query);
  if (ordered !== undefined) return ordered;
  const candidates = yield* searchKeys(view, query);
  if (candidates !== undefined) {
    const page = yield* collect(view, planPage(amongCandidates(query, candidates)));
    if (isWholePage(query, page, candidates)) return page;
  }
  return yield* collect(view, planPage(query));
}

/** Returns the selected live objects, newest first. */
export function* selectNewest(contents: ListContents, { filters, ids }: Selection): Steps<readonly StoredObject[]> {
  const plan = planPage({ filters, ids, sort: newestFirst, limit: Infinity });
  return (yield* collect(liveView(contents), plan)).entries;
}

/** Returns the number of selected entries. */
export function* countSelected(contents: ListContents, selection: Selection): Steps<number> {
  const view = viewOf(contents, selection);
  const indexed = yield* countByKeys(view, selection);
  if (typeof indexed === 'number') return indexed;
  return yield* countScanned(view, indexed === undefined ? selection : amongCandidates(selection, indexed));
}

function* countScanned(view: ListView<StoredEntry>, selection: Selection): Steps<number> {
  const plan = planSelection(selection);
  const isInside = plan.residual.length > 0;
  if (plan.by === 'scan' && !isInside) return view.countRange(plan.range);
  let total = 0;
  yield* visitCandidates(view, plan, isInside, () => {
    total++;
    return undefined;
  });
  return total;
}

function viewOf(contents: ListContents, { includeDeleted = false }: Selection): ListView<StoredEntry> {
  return includeDeleted ? wholeView(contents) : liveView(contents);
}

/** Returns the planned page. */
function* collect<T extends StoredEntry>(view: ListView<T>, plan: PagePlan): Steps<EntryPage<T>> {
  if (plan.by === 'time' || plan.by === 'id') {
    const found: T[] = [];
    yield* scan(view, plan, plan.residual.length > 0, (entry) => found.push(entry) > plan.limit);
    return cutPage(found, plan);
  }
  const first = new FirstEntries<T>(plan);
  yield* visitCandidates(view, plan, true, (entry) => first.add(entry));
  return yield* view.run(first.finish());
}

function visitCandidates<T extends StoredEntry>(
  view: ListView<T>,
  plan: SelectionPlan,
  looksInside: boolean,
  visit: (entry: T) => Steps<void> | undefined,
): Steps<void> {
  if (plan.by === 'lookup') return lookUp(view, plan, looksInside, visit);
  return visitWanted(view, plan, looksInside, visit);
}
