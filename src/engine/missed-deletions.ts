// Warns clients that follow a list by `_since` when deletions since then are unknown, because tombstones were purged or
// deleted together with the object above the list. Otherwise such clients would keep deleted objects forever.
import { formatEtag } from '../core/objects/etag.ts';
import { ServiceError } from '../core/errors.ts';
import type { Filter } from '../core/query/ast.ts';
import { knownUntil } from '../core/query/timestamp-range.ts';
import type { Context } from './context.ts';
import type { ResponseHeaders } from './exchange.ts';
import type { EngineOptions } from './scope.ts';

/** Response header with the horizon of a list, for clients whose `_since` is older. */
export const resyncHeader = 'Resync';

/**
 * Adds the header if the filters begin before the horizon.
 *
 * @param horizon of the list, in the same snapshot as the page
 * @throws ServiceError changesForgotten if a setting refuses such requests
 */
export function noteMissedDeletions(
  headers: ResponseHeaders,
  horizon: number,
  filters: readonly Filter[],
  { options, context }: { readonly options: EngineOptions; readonly context: Pick<Context, 'query'> },
): void {
  if (horizon === 0 || filters.length === 0) return;
  const known = knownUntil(filters);
  if (known === undefined || known >= horizon) return;
  headers[resyncHeader] = formatEtag(horizon);
  if (!options.refusesOutdatedSince) return;
  const [name = null] = context.query.find(([each]) => bounds.has(each)) ?? [];
  const description = `deletions up to ${horizon} are not known any more`;
  throw new ServiceError('changesForgotten', {
    details: [{ location: 'querystring', name, description }],
    headers: { [resyncHeader]: formatEtag(horizon) },
  });
}

const bounds: ReadonlySet<string> = new Set(['_since', 'gt_last_modified', 'min_last_modified']);
