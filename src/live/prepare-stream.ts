// What is decided before the stream of a list opens: what it shows, and from which timestamp.
import { invalidParameters, ServiceError } from '../core/errors.ts';
import { formatEtag } from '../core/objects/etag.ts';
import { lastModifiedField } from '../core/query/fields.ts';
import { issueOf, parseTimestamp, timestampForm, type ListParameters } from '../core/query/parameters.ts';
import type { ListAccess } from '../engine/access.ts';
import { readQuery } from '../engine/list-query.ts';
import { resyncHeader } from '../engine/missed-deletions.ts';
import type { Presentation } from '../engine/page-text.ts';
import { findAbove, requireTimestamp, type Scope } from '../engine/scope.ts';
import { bindSearch } from '../engine/text-search.ts';
import { oldestFirst } from '../engine/walk.ts';
import { parseCursor, type Cursor } from './cursor.ts';

/** A list that is about to be followed. */
export interface Followed {
  readonly scope: Scope;
  readonly access: ListAccess;
  readonly list: Scope['list'];
  readonly presentation: Presentation;
  readonly cursor: number;
  /** Whether the client has a copy from before the stream. */
  readonly isResumed: boolean;
  /** Whether that copy is one of single objects. */
  readonly hadPart: boolean;
  /** Whether what is sent depends on the caller. */
  readonly isPrivate: boolean;
}

/**
 * Checks what depends on the list, before a stream opens.
 *
 * @throws ServiceError invalidParameters, changesForgotten
 */
export async function prepareStream(scope: Scope, access: ListAccess, parameters: ListParameters): Promise<Followed> {
  const { context, kind, list, options } = scope;
  // The cursor takes the place of `_since`. All other filters mark what they exclude.
  const asked = { ...parameters, since: undefined, gone: false };
  const { filters, text, projection } = readQuery(asked, context, options, kind.traits);
  const bound = text && (await bindSearch(scope, await findAbove(scope, context.unit.reader), text));
  const isMarked = filters.length > 0 || bound !== undefined;
  const presentation = { projection, goneUnless: isMarked ? { filters, search: bound?.search } : undefined };
  const clock = await requireTimestamp(scope);
  const given = readCursor(scope, parameters, clock);
  const cursor = given?.timestamp ?? clock;
  const isResumed = given !== undefined && cursor > 0;
  if (isResumed) await requireKnownDeletions(scope, cursor, clock);
  const isPrivate = kind.declaration.present !== undefined || context.unit.hasSubscribers(kind.name, 'read');
  return { scope, access, list, presentation, cursor, isResumed, hadPart: given?.isPart === true, isPrivate };
}

/**
 * Returns the cursor from which the client follows: that of the last frame it received, or `_since`.
 *
 * @throws ServiceError invalidParameters
 */
function readCursor({ context }: Scope, { since }: ListParameters, clock: number): Cursor | undefined {
  const last = context.request.headers['last-event-id'];
  if (last === undefined || last === '') return since === undefined ? undefined : { timestamp: since, isPart: false };
  const cursor = parseCursor(last);
  if (cursor && parseTimestamp(String(cursor.timestamp), Math.max(context.now, clock)) !== undefined) return cursor;
  throw invalidParameters([{ location: 'header', name: 'Last-Event-ID', description: timestampForm }]);
}

/** @throws ServiceError changesForgotten when deletions since the cursor are not known completely */
async function requireKnownDeletions({ context, list }: Scope, cursor: number, clock: number): Promise<void> {
  // Only the horizon counts, so no objects are read.
  const filters = [{ field: lastModifiedField, operator: 'gt', value: clock }] as const;
  const query = { filters, sort: oldestFirst, limit: 1 };
  const page = await context.unit.reader.storage.listAll(list, query);
  if (page.horizon <= cursor) return;
  throw new ServiceError('changesForgotten', {
    details: [{ ...issueOf('_since', `deletions up to ${page.horizon} are not known any more`) }],
    headers: { [resyncHeader]: formatEtag(page.horizon) },
  });
}
