// The parameters `_expected` and `_since` of clients behind caches, and the cache headers and redirects that follow.
import { invalidParameters } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import type { ServiceResponse, ResponseHeaders } from '../../engine/exchange.ts';
import { expiredAt } from '../../engine/respond.ts';
import { cacheHeaders } from '../../http/target.ts';
import { integer } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';

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

/** Returns the cache headers. A response may be cached longer if its URL changes with its content. */
export function cacheHeadersFor(
  settings: Settings,
  { bucket, collection }: { readonly bucket: string; readonly collection: string },
  hasExpected: boolean,
  now: number,
): ResponseHeaders {
  const name = hasExpected ? 'maximum' : 'minimum';
  const prefix = `${bucket}.${collection}.record_cache`;
  const read = (key: string): number | undefined => settings.lookupWith(integer({ min: 0 }), key);
  const seconds = read(`${prefix}_${name}_expires_seconds`) ?? read(`${prefix}_expires_seconds`);
  if (seconds === undefined) return { 'Cache-Control': 'no-cache, no-store' };
  return seconds === 0 ? expiredAt(now) : cacheHeaders(seconds);
}

export interface RedirectOptions {
  readonly versionPrefix: string;
  /** Target host; `''` keeps the host of the request. */
  readonly host: string;
  readonly ttlSeconds: number;
}

/** Returns a 307 to the same path with other parameters. */
export function redirect(
  { request, path }: Context,
  query: readonly (readonly [string, string])[],
  { ttlSeconds, versionPrefix, host }: RedirectOptions,
): ServiceResponse {
  const search = query.map((pair) => pair.map((part) => encodeURIComponent(part)).join('=')).join('&');
  const origin = host === '' ? request.origin : `${request.origin.split('://')[0]}://${host}`;
  const location = `${origin}${versionPrefix}${encodeURI(path)}${search === '' ? '' : `?${search}`}`;
  return { status: 307, headers: { Location: location, ...cacheHeaders(ttlSeconds) }, body: '' };
}

/** Returns a redirect to the whole list if `_since` is too old, so that caches hold few variants. */
export function redirectWhenTooOld(
  context: Context,
  since: number | undefined,
  maxAgeDays: number,
  options: RedirectOptions,
): ServiceResponse | undefined {
  if (since === undefined || maxAgeDays < 0 || since >= context.now - maxAgeDays * 86_400_000) return undefined;
  return redirect(
    context,
    context.query.filter(([name]) => name !== '_since'),
    options,
  );
}
