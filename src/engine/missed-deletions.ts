// Tells those who follow a list by its timestamps when deletions they have not seen cannot be told any more, because the
// tombstones were forgotten, or went with what the list lies in. Without that they would keep deleted objects for ever.
import { formatEtag } from '../core/objects/etag.ts';
import { ServiceError } from '../core/errors.ts';
import type { Filter } from '../core/query/ast.ts';
import { knownUntil } from '../core/query/timestamp-range.ts';
import type { Context } from './context.ts';
import type { ResponseHeaders } from './exchange.ts';
import type { EngineOptions } from './scope.ts';

/** Names the horizon of a list in answers to those who were away for too long. */
export const resyncHeader = 'Resync';

/**
 * Adds the header where it applies.
 *
 * @param horizon of the list, in the snapshot that the answer shows
 * @throws ServiceError changesForgotten where a setting wants such requests refused
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
