// Finds the objects of a deletion before its list is locked, where that takes long: others wait for the lock, on some backends all
// writers. Under the lock, these objects and those that were written meanwhile are tested again, so nothing is missed.
import { conditionsOfParsing, workOfEntry } from '../core/query/budget.ts';
import type { Filter, PageQuery, QueryReport } from '../core/query/ast.ts';
import { workWeightOf } from '../core/query/evaluate-steps.ts';
import { isTimestampField, isUniqueField, lastModifiedField } from '../core/query/fields.ts';
import type { ListQuery } from '../core/query/resolve.ts';
import { withIndexes } from './list-indexes.ts';
import { workUnderLock } from './list-query.ts';
import { requireMatch, type Preconditions } from './preconditions.ts';
import type { Above, Scope } from './scope.ts';
import { roomFor } from './stored-work.ts';
import type { Writer } from './unit-of-work.ts';
import { walk } from './walk.ts';

/** Maximum number of ids that are held. Where there are more, they are searched under the lock. */
const maxIds = 20_000;

/** Length of an object, in characters, when it is not known. */
const usualChars = 1000;

const million = 1_000_000;

export interface Selected {
  readonly ids: readonly string[];
  /** Whether there may be more objects, which are not needed unless some of these do not match any longer. */
  readonly isCut: boolean;
  /** Clock of the list before the search. Objects that were written meanwhile have a later timestamp. */
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
 * Returns the objects that the query selects: all, or one more than the page has. Returns `undefined` when they are found
 * quickly, or when the lock is held already.
 *
 * @throws ServiceError preconditionFailed; invalidParameters when the query is too much work
 */
export async function selectAhead(
  scope: Scope,
  { query, preconditions, above, ids, report }: DeletionAhead,
): Promise<Selected | undefined> {
  const { context, list } = scope;
  if (context.unit.isWriting || query.text !== undefined) return undefined;
  const { filters, sort, after, limit, budget } = query;
  if (filters.every(({ field }) => isUniqueField(field)) || !(await takesLong(scope, query, ids))) return undefined;
  const reader = context.unit.reader.storage;
  const clock = await reader.resourceTimestamp(list);
  if (clock === undefined) return undefined;
  requireMatch(preconditions, clock);
  const isByTime = isTimestampField(sort[0]?.field);
  const selection = await withIndexes(scope, above, { filters, ids, budget, report });
  const wanted = (isByTime ? Math.min(limit, maxIds) : maxIds) + 1;
  const found = new Set<string>();
  const pages = walk(reader, list, selection, roomFor(context, 'show'), isByTime ? { sort, start: after } : {});
  for await (const entries of pages) {
    for (const { id } of entries) if (found.size < wanted) found.add(id);
    if (found.size === wanted) break;
  }
  return found.size > maxIds ? undefined : { ids: [...found], isCut: found.size === wanted, clock };
}

/** Whether the query probably takes longer than all queries of a unit of work that holds locks may. */
async function takesLong(
  { context, list, options }: Scope,
  { filters }: ListQuery,
  ids: readonly string[] | undefined,
): Promise<boolean> {
  const objects = ids?.length ?? (await context.unit.reader.storage.countAll(list, { filters: [] }));
  const work = objects * (usualChars + workOfEntry) * (conditionsOfParsing + workWeightOf(filters));
  return work > workUnderLock(options) * million;
}

/** Returns the query of the objects that were selected ahead and of those written since, for the locked list. */
export async function selectAgain(
  { list, context }: Scope,
  { storage }: Writer,
  query: PageQuery,
  { ids, isCut, clock }: Selected,
): Promise<PageQuery> {
  const { filters, sort, budget } = query;
  const isOldestFirst = isTimestampField(sort[0]?.field) && sort[0]?.direction === 'ascending';
  if (isCut && isOldestFirst) {
    // What was written since comes after all others, also after those that are not among these.
    const unchanged: Filter = { field: lastModifiedField, operator: 'max', value: clock };
    return { ...query, ids, filters: [...filters, unchanged] };
  }
  const all = new Set(ids);
  const written: Filter = { field: lastModifiedField, operator: 'gt', value: clock };
  const selection = { filters: [...filters, written], ids: query.ids, budget };
  for await (const entries of walk(storage, list, selection, roomFor(context, 'show'))) {
    for (const { id } of entries) all.add(id);
  }
  return { ...query, ids: [...all] };
}
