// Finds the objects of a deletion before its list is locked, because others wait for the lock: on some backends all writers.
// Under the lock only these objects are tested again. One that matches later was written while the deletion was running.
import { ServiceError } from '../core/errors.ts';
import type { QueryReport } from '../core/query/ast.ts';
import { isTimestampField, isUniqueField } from '../core/query/fields.ts';
import type { ListParameters } from '../core/query/parameters.ts';
import { withIndexes } from './list-indexes.ts';
import { readQuery } from './list-query.ts';
import type { Above, Scope } from './scope.ts';
import { roomFor } from './stored-work.ts';
import { walkIds } from './walk.ts';

/** Maximum number of ids that are held. Where there are more, they are searched under the lock. */
const maxIds = 20_000;

export interface Selected {
  readonly ids: readonly string[];
  /** Whether there may be more objects, which are not needed unless some of these do not match any longer. */
  readonly isCut: boolean;
}

export interface DeletionAhead {
  readonly parameters: ListParameters;
  readonly above: Above;
  /** The only ids that the caller may delete; `undefined`: all. */
  readonly ids: readonly string[] | undefined;
  readonly report: QueryReport | undefined;
}

/**
 * Returns the objects that the query selects: all, or one more than the page has. Returns `undefined` when the query tests no
 * attributes, when it cannot be resolved, which is reported later, or when the lock is held already.
 *
 * @throws ServiceError invalidParameters when the query is too much work
 */
export async function selectAhead(
  scope: Scope,
  { parameters, above, ids, report }: DeletionAhead,
): Promise<Selected | undefined> {
  const { context, list, options, kind } = scope;
  if (context.unit.isWriting) return undefined;
  const query = resolve(() => readQuery(parameters, context, options, kind.traits));
  if (query === undefined || query.text !== undefined) return undefined;
  const { filters, sort, after, limit, budget } = query;
  if (filters.every(({ field }) => isUniqueField(field))) return undefined;
  const isByTime = isTimestampField(sort[0]?.field);
  const selection = await withIndexes(scope, above, { filters, ids, budget, report });
  const order = isByTime ? { sort, start: after } : {};
  const wanted = isByTime ? Math.min(limit + 1, maxIds + 1) : maxIds + 1;
  const found: string[] = [];
  const reader = context.unit.reader.storage;
  for await (const id of walkIds(reader, list, selection, roomFor(context, 'show'), order)) {
    if (found.push(id) === wanted) break;
  }
  return found.length > maxIds ? undefined : { ids: found, isCut: found.length === wanted };
}

/** Returns the result; `undefined` when the query is not valid. */
function resolve<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}
