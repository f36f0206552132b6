// Finds the entries of a page, or counts those of a selection, as planned. Pages in the order of timestamps fetch only
// their own entries. Other reads fetch all candidates, piece by piece.
import { runFromNow } from '../../base/steps.ts';
import { cutPage, PageFill, type EntryPage } from '../../core/objects/page-text.ts';
import { isTombstone, type StoredEntry } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import { amongCandidates, isWholePage } from '../../core/index/find-entries.ts';
import { FirstEntries } from '../../core/query/first-entries.ts';
import { planPage, planSelection, type PagePlan, type SelectionPlan } from '../../core/query/plan-page.ts';
import { filterWanted } from '../../core/query/select-among.ts';
import type { Part } from './list-reads.ts';
import type { ListView } from './list-view.ts';

/** Maximum number of entries that one script returns when all of them are known to be wanted. */
const maxWantedPiece = 10_001;

/**
 * Returns one page of a list.
 *
 * @param piece number of entries fetched at once when the entries have to be filtered or sorted
 */
export async function selectPage(view: ListView, part: Part, query: PageQuery, piece: number): Promise<EntryPage> {
  const candidates = await view.search(query);
  if (candidates !== undefined) {
    const page = await selectPlanned(view, part, amongCandidates(query, candidates), piece);
    const frontier = await view.committedByIds(candidates.frontier.map(({ id }) => id));
    if (isWholePage(query, page, candidates, frontier)) return page;
  }
  return selectPlanned(view, part, query, piece);
}

async function selectPlanned(view: ListView, part: Part, query: PageQuery, piece: number): Promise<EntryPage> {
  // Redis keeps ids in a hash, which has no order.
  const plan = planPage(query, 'never');
  const { maxBytes } = plan;
  const wanted = plan.limit + 1;
  if (plan.by === 'time') {
    const size = plan.residual.length === 0 ? Math.min(wanted, maxWantedPiece) : piece;
    const found: StoredEntry[] = [];
    const fill = new PageFill(maxBytes);
    for await (const entries of readCandidates(view, part, plan, size)) {
      for (const entry of entries) {
        found.push(entry);
        fill.add(entry);
      }
      if (found.length >= wanted || fill.isFull) break;
    }
    return cutPage(found, plan);
  }
  const first = new FirstEntries<StoredEntry>(plan);
  for await (const entries of readCandidates(view, part, plan, piece)) {
    await runFromNow(first.addAll(entries), 'normal');
  }
  return runFromNow(first.finish(), 'normal');
}

/** Yields all selected entries in pieces, newest first. */
export async function* selectNewest(
  view: ListView,
  part: Part,
  selection: Selection,
  piece: number,
): AsyncGenerator<readonly StoredEntry[], void, undefined> {
  const plan = planSelection(selection);
  // Named entries are read in no order, and in several pieces.
  const named: StoredEntry[] = [];
  for await (const entries of readCandidates(view, part, plan, piece)) {
    if (plan.by === 'lookup') named.push(...entries);
    else yield newestOf(entries);
  }
  if (named.length > 0) yield newestOf(named);
}

function newestOf(entries: readonly StoredEntry[]): readonly StoredEntry[] {
  return entries.toSorted((a, b) => b.lastModified - a.lastModified);
}

/** Returns the number of selected entries. */
export async function countSelected(view: ListView, part: Part, selection: Selection, piece: number): Promise<number> {
  const indexed = await view.countIndexed(selection);
  if (typeof indexed === 'number') return indexed;
  const plan = planSelection(indexed === undefined ? selection : amongCandidates(selection, indexed));
  if (plan.by === 'scan' && plan.residual.length === 0) return view.countRange(part, plan.range);
  let total = 0;
  for await (const entries of readCandidates(view, part, plan, piece)) total += entries.length;
  return total;
}

/** Yields the wanted entries in pieces: in the direction of the plan, newest first for a scan, unordered for a lookup. */
async function* readCandidates(
  view: ListView,
  part: Part,
  plan: PagePlan | SelectionPlan,
  piece: number,
): AsyncGenerator<readonly StoredEntry[], void, undefined> {
  if (plan.by === 'lookup') {
    for await (const found of view.eachById(plan.ids)) {
      const entries = found.filter((entry) => (isTombstone(entry) ? part !== 'live' : part !== 'dead'));
      yield await runFromNow(filterWanted(entries, plan), 'normal');
    }
    return;
  }
  const isDescending = plan.by === 'scan' || plan.direction === 'descending';
  for await (const entries of view.walk(part, plan.range, isDescending, piece)) {
    yield await runFromNow(filterWanted(entries, plan), 'normal');
  }
}
