// The parameters `_expected` and `_since` of clients behind caches, and the cache headers and redirects that follow.
import { invalidParameters } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import type { ServiceResponse, ResponseHeaders } from '../../engine/exchange.ts';
import { lifetimeHeaders } from '../../engine/respond.ts';
import { cachingForOne } from '../../http/response-headers.ts';
import { cacheHeaders } from '../../http/target.ts';
import { recordLifetime } from '../../resources/record.ts';
import type { ChangesService, RedirectOptions } from './service.ts';

/** Largest accepted timestamp, the year 2100. Larger values are mistakes. */
const maxTimestamp = 4_102_444_800_000;

/** Returns the value of a parameter, the last one if it is repeated. */
export function parameter({ query }: Context, name: string): string | undefined {
  return query.findLast(([candidate]) => candidate === name)?.[1];
}

/** Returns the value without the quotes of an entity tag. */
export function withoutQuotes(text: string): string {
  return /^"(.*)"$/s.exec(text)?.[1] ?? text;
}

/**
 * Reads `_since` of a changeset.
 *
 * @throws ServiceError invalidParameters
 */
export function readSince(context: Context): number | undefined {
  const text = parameter(context, '_since');
  if (text === undefined) return undefined;
  const since = /^\d{1,15}$/.test(withoutQuotes(text)) ? Number(withoutQuotes(text)) : Number.NaN;
  if (since >= 0 && since <= maxTimestamp) return since;
  throw invalidParameters([
    { location: 'querystring', name: '_since', description: 'expected a timestamp, with or without quotes' },
  ]);
}

/**
 * Returns the cache headers of a changeset or of the list of changes. The URL of a response with `_expected` changes with its
 * content, so the response may be cached longer.
 */
export function cachingOf(
  { lifetimes }: Pick<ChangesService, 'lifetimes'>,
  { caller, now }: Context,
  { bucket, collection }: { readonly bucket: string; readonly collection: string },
  expected: string | undefined,
): ResponseHeaders {
  const name = changesWithContent(expected) ? 'maximum' : 'minimum';
  const own = lifetimes(`${bucket}.${collection}.record_cache_${name}_expires_seconds`);
  const headers = lifetimeHeaders(own ?? recordLifetime(lifetimes, bucket, collection), now);
  // Shared caches must not serve what one caller may read to others.
  if (caller.userId !== undefined) headers['Cache-Control'] = cachingForOne(headers['Cache-Control']);
  return headers;
}

/** Clients send 0 when they expect no timestamp, and a number that begins with 9999 to bypass caches. */
function changesWithContent(expected: string | undefined): boolean {
  if (expected === undefined) return false;
  const text = withoutQuotes(expected);
  return text !== '0' && !text.startsWith('9999');
}

/** Returns a 307 to the same path with other parameters. */
export function redirect(
  { request, path }: Context,
  query: readonly (readonly [string, string])[],
  { ttlSeconds, versionPrefix, host, scheme }: RedirectOptions,
): ServiceResponse {
  const search = query.map((pair) => pair.map((part) => encodeURIComponent(part)).join('=')).join('&');
  const origin = host === '' ? request.origin : `${scheme}://${host}`;
  const location = `${origin}${versionPrefix}${encodeURI(path)}${search === '' ? '' : `?${search}`}`;
  return { status: 307, headers: { Location: location, ...cacheHeaders(ttlSeconds) }, body: '' };
}

/** Parameters of a request for the list of changes, and the cache headers of its response. */
export interface ChangesPoll {
  readonly since: number | undefined;
  readonly expected: string | undefined;
  readonly caching: ResponseHeaders;
}

/**
 * Returns the response to a client that needs no list of changes since its timestamp: 204 after a late notification, or a
 * redirect to the whole list if `_since` is too old, so that caches hold few variants.
 */
export function respondWithoutChanges(
  { values, redirects }: Pick<ChangesService, 'values' | 'redirects'>,
  context: Context,
  { since, expected = '', caching }: ChangesPoll,
): ServiceResponse | undefined {
  if (since === undefined) return undefined;
  const notified = Number(withoutQuotes(expected));
  // The client has seen a newer change than the one of its notification.
  if (notified > 0 && notified < since) return { status: 204, headers: caching, body: '' };
  const maxAgeDays = values['changes.since_max_age_days'];
  if (maxAgeDays < 0 || since >= context.now - maxAgeDays * 86_400_000) return undefined;
  return redirect(
    context,
    context.query.filter(([name]) => name !== '_since'),
    redirects,
  );
}
