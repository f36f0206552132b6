// `_expected` and `_since` in the addresses of monitored changes: what clients that come through caches send, and how
// long their answers may be kept.
import { invalidParameters } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import type { ServiceResponse, ResponseHeaders } from '../../engine/exchange.ts';
import { expiredAt } from '../../engine/respond.ts';
import { cacheHeaders } from '../../http/target.ts';
import { integer } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';

/** Later ones are no timestamps but mistakes: the year 2100. */
const maxTimestamp = 4_102_444_800_000;

/** Value of a parameter, the last one when it is repeated. */
export function parameter({ query }: Context, name: string): string | undefined {
  return query.findLast(([candidate]) => candidate === name)?.[1];
}

/** The value without the quotes that entity tags have. */
export function withoutQuotes(text: string): string {
  return /^"(.*)"$/s.exec(text)?.[1] ?? text;
}

/**
 * `_since` of a changeset.
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

/** How long an answer may be cached: long when its address changes with its content. */
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
  /** Where to, instead of the host that was asked; `''`: the same. */
  readonly host: string;
  readonly ttlSeconds: number;
}

/** 307 to the same path with other parameters. */
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

/** The redirect to the whole list for clients that were away for too long, so that caches hold few variants. */
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
