// Reads of a list that save work for its backend. A remote backend reads the page in the round trip that checks the access. A
// local one reads the clock of the list first, which is enough for most polls. Verbs do not distinguish backends.
import type { Page } from '../contracts/storage.ts';
import { ServiceError } from '../core/errors.ts';
import { isUniqueField } from '../core/query/fields.ts';
import { parseParameters, type ListParameters } from '../core/query/parameters.ts';
import { planPage, planSelection } from '../core/query/plan-page.ts';
import type { ListQuery } from '../core/query/resolve.ts';
import { everyTimestamp } from '../core/query/timestamp-range.ts';
import { readQuery } from './list-query.ts';
import type { Scope } from './scope.ts';

/** A page that is read before the access to the list is known. */
export interface Ahead {
  readonly parameters: ListParameters;
  readonly query: ListQuery;
  /** Number of entries to read ahead. */
  readonly limit: number;
}

/** Maximum number of entries that the database reads for callers without access. */
const maxEntriesAhead = 200;

/** Returns the page to read while the access to the whole list is being checked; `undefined` when nothing is read ahead. */
export function planAhead(scope: Scope): Ahead | undefined {
  return scope.context.unit.isRemote ? planIndexedPage(scope) : undefined;
}

/**
 * Returns the page of the request if an index finds it. Returns `undefined` otherwise, and for an invalid request, which is
 * reported later.
 */
export function planIndexedPage(scope: Scope): Ahead | undefined {
  const { context } = scope;
  const parameters = parseParameters(context.query, { now: context.now, use: 'list' });
  if (parameters.issues.length > 0 || parameters.live === 'sse' || parameters.explain) return undefined;
  const query = findListQuery(scope, parameters);
  if (query === undefined || query.text !== undefined) return undefined;
  const { by, residual } = planPage(query);
  const isQuick = by !== 'scan' && residual.every(({ field }) => isUniqueField(field));
  return isQuick ? { parameters, query, limit: Math.min(query.limit, maxEntriesAhead) } : undefined;
}

function findListQuery(scope: Scope, parameters: ListParameters): ListQuery | undefined {
  try {
    return readListQuery(scope, parameters);
  } catch (error) {
    // The query is read again for callers with access, and the error is reported to them.
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** Returns the query of a request to a list. */
export function readListQuery({ kind, context, options }: Scope, parameters: ListParameters): ListQuery {
  // The number of objects that match does not depend on how others are shown.
  const asked = context.request.method === 'HEAD' ? { ...parameters, gone: false } : parameters;
  return readQuery(asked, context, options, kind.traits);
}

/**
 * Returns the empty page of a list that has not changed since the requested time, which its clock alone shows: the usual
 * result of a poll. A client that has seen all changes up to the clock has missed none, so the horizon does not matter.
 * Remote backends compare the clock themselves, in the same round trip.
 */
export async function findUnchanged({ context, list }: Scope, { filters }: ListQuery): Promise<Page | undefined> {
  if (context.unit.isRemote || filters.length === 0) return undefined;
  const { low } = planSelection({ filters }).range;
  if (low <= everyTimestamp.low) return undefined;
  const timestamp = await context.unit.reader.storage.resourceTimestamp(list);
  return timestamp !== undefined && timestamp < low ? { timestamp, horizon: 0, entries: [], more: false } : undefined;
}
