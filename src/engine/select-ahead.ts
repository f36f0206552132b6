// Finds the objects of a deletion before its list is locked, where that takes long: others wait for the lock, on some backends all
// writers. Under the lock, those whose timestamp has changed and those with a later one are tested. Only an object that a client
// wrote meanwhile with a past `last_modified` of its own can be missed, or deleted untested when it has the timestamp of before.
import { inChunks } from '../base/in-chunks.ts';
import { runFromNow } from '../base/steps.ts';
import type { StoredEntry } from '../core/objects/stored.ts';
import { conditionsOfParsing, isTooMuchWork, workOfEntry } from '../core/query/budget.ts';
import type { Filter, PageQuery, QueryReport } from '../core/query/ast.ts';
import { workWeightOf } from '../core/query/evaluate-steps.ts';
import { isTimestampField, lastModifiedField } from '../core/query/fields.ts';
import { isExact, planPage, planSelection } from '../core/query/plan-page.ts';
import type { ListQuery } from '../core/query/resolve.ts';
import { filterWanted } from '../core/query/select-among.ts';
import { withIndexes } from './list-indexes.ts';
import { workUnderLock } from './list-query.ts';
import { requireMatch, type Preconditions } from './preconditions.ts';
import type { Above, Scope } from './scope.ts';
import { roomFor } from './stored-work.ts';
import type { UnitOfWork, Writer } from './unit-of-work.ts';
import { walk } from './walk.ts';

/** Maximum number of ids that are held. Where there are more, they are searched under the lock. */
const maxIds = 20_000;

/** Number of selected objects that are read at once under the lock. Long pages of many ids would find all of them for each page. */
const idsAtOnce = 100;

/** Assumed length of an object, in characters. A deletion that then takes too long under the lock runs again. */
const usualChars = 1000;

const million = 1_000_000;

export interface Selected {
  /** Timestamps of the objects by id. */
  readonly timestamps: ReadonlyMap<string, number>;
  /** The last of these objects, where there may be more after it. `undefined`: there are no more. */
  readonly cut: StoredEntry | undefined;
  /** Clock of the list before the search. What was written meanwhile has a later timestamp, unless the client chose a past one. */
  readonly clock: number;
}

export interface DeletionAhead {
  readonly query: ListQuery;
  readonly preconditions: Preconditions;
  readonly above: Above;
  /** The only ids that the caller may delete; `undefined`: all. */
  readonly ids: readonly string[] | undefined;
  readonly report: QueryReport | undefined;
}

/**
 * Returns the objects that the query selects: all, or one more than the page has; `'tooMany'` when they are more than can be
 * held. Returns `undefined`, without a search, when they are found quickly, or when the lock is held already.
 *
 * @throws ServiceError preconditionFailed; invalidParameters when the query is too much work
 */
export async function selectAhead(
  scope: Scope,
  { query, preconditions, above, ids, report }: DeletionAhead,
): Promise<Selected | 'tooMany' | undefined> {
  const { context, list } = scope;
  if (!canSelectAhead(context.unit, query)) return undefined;
  if (!context.unit.hasAhead(tooLong) && !(await takesLong(scope, query, ids))) return undefined;
  const { filters, sort, after, limit, budget } = query;
  const reader = context.unit.reader.storage;
  const clock = await reader.resourceTimestamp(list);
  if (clock === undefined) return undefined;
  requireMatch(preconditions, clock);
  const isByTime = isTimestampField(sort[0]?.field);
  const selection = await withIndexes(scope, above, { filters, ids, budget, report });
  const wanted = (isByTime ? Math.min(limit, maxIds) : maxIds) + 1;
  const timestamps = new Map<string, number>();
  let cut: StoredEntry | undefined;
  const pages = walk(reader, list, selection, roomFor(context, 'show'), isByTime ? { sort, start: after } : {});
  for await (const entries of pages) {
    for (const entry of entries) {
      timestamps.set(entry.id, entry.lastModified);
      if (timestamps.size < wanted) continue;
      cut = entry;
      break;
    }
    if (cut !== undefined) break;
  }
  return cut !== undefined && !isByTime ? 'tooMany' : { timestamps, cut, clock };
}

/** Key of the note that a deletion has taken too long under the lock. */
const tooLong = 'selection of objects to delete';

/** Returns whether the objects of a deletion can be selected before the unit of work locks anything. */
export function canSelectAhead(unit: UnitOfWork, { text }: ListQuery): boolean {
  return !unit.isWriting && text === undefined;
}

/**
 * Deletes under the lock. If that takes too long although it was expected to be quick, the request is undone and runs again with
 * a selection ahead.
 *
 * @throws WorkAwaited
 */
export async function deleteOrSelectAhead<T>(unit: UnitOfWork, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // The second time it does nothing.
    if (isTooMuchWork(error)) await unit.ahead(tooLong, () => Promise.resolve());
    throw error;
  }
}

/** Whether the query probably takes longer than all queries of a unit of work that holds locks may. */
async function takesLong(
  { context, list, options }: Scope,
  query: ListQuery,
  ids: readonly string[] | undefined,
): Promise<boolean> {
  if (isExact(planPage({ ...query, ids }))) return false;
  const objects = ids?.length ?? (await context.unit.reader.storage.countAll(list, { filters: [] }));
  const work = objects * (usualChars + workOfEntry) * (conditionsOfParsing + workWeightOf(query.filters));
  return work > workUnderLock(options) * million;
}

/**
 * Returns the query of the objects that were selected ahead and still match, and of those written since, for the locked list.
 *
 * @param query its `ids` are those that the caller may delete now; `undefined`: all
 */
export async function selectAgain(
  { list, context }: Scope,
  { storage }: Writer,
  query: PageQuery,
  { timestamps, cut, clock }: Selected,
): Promise<PageQuery> {
  const { sort, filters, budget } = query;
  const ofTime = (operator: 'gt' | 'max' | 'min', value: number): Filter => ({
    field: lastModifiedField,
    operator,
    value,
  });
  // What has moved beyond the last one comes after objects that are not among these.
  const isOldestFirst = sort[0]?.direction === 'ascending';
  const reachable = cut === undefined ? [] : [ofTime(isOldestFirst ? 'max' : 'min', cut.lastModified)];
  const allowed = query.ids && new Set(query.ids);
  const isAllowed = (id: string): boolean => allowed?.has(id) !== false;
  const ids = new Set<string>();
  const requireRoom = roomFor(context, 'show');
  const plan = planSelection({ filters, budget });
  for (const some of inChunks([...timestamps.keys()].filter(isAllowed), idsAtOnce)) {
    for await (const entries of walk(storage, list, { filters: [], ids: some }, requireRoom)) {
      const isUnchanged = ({ id, lastModified }: StoredEntry): boolean => lastModified === timestamps.get(id);
      const changed = entries.filter((entry) => !isUnchanged(entry));
      const matching = await runFromNow(filterWanted(changed, plan), 'urgent');
      for (const { id } of [...entries.filter(isUnchanged), ...matching]) ids.add(id);
    }
  }
  // By time, and not by ids: most of them were not written.
  const written = { filters: [...filters, ...reachable, ofTime('gt', clock)], budget };
  for await (const entries of walk(storage, list, written, requireRoom)) {
    for (const { id } of entries) if (isAllowed(id)) ids.add(id);
  }
  return { ...query, ids: [...ids], filters: reachable, budget: undefined };
}
