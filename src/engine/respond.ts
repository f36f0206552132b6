// Responses of resources: envelopes concatenated from stored texts, and their headers.
import { formatJson, type JsonObject } from '../base/json.ts';
import type { ObjectPermissions } from '../contracts/permission.ts';
import { formatEtag, formatHttpDate } from '../core/objects/etag.ts';
import { storedId } from '../core/objects/object-id.ts';
import { entryPieces, formatEntry, type StoredObject } from '../core/objects/stored.ts';
import type { ResponseHeaders, ServiceResponse } from './exchange.ts';
import { presentObject, visiblePermissions } from './visibility.ts';
import type { Scope } from './scope.ts';

/** Returns `ETag` and `Last-Modified` for a timestamp, and other headers, in a new object. */
export function timestampHeaders(timestamp: number, others?: ResponseHeaders): ResponseHeaders {
  // Many times faster than spreading both into one literal, and every response comes through here.
  return Object.assign({ ETag: formatEtag(timestamp), 'Last-Modified': formatHttpDate(timestamp) }, others);
}

/** Maximum cache lifetime that HTTP caches distinguish; larger values could exceed the range of dates. */
const longestCachingSeconds = 2_147_483_647;

const uncached: ResponseHeaders = { 'Cache-Control': 'no-cache, no-store' };

/** Returns the cache headers of a GET or HEAD. Only responses to anonymous callers may be cached, if a setting says so. */
export function cacheControl(scope: Scope): Readonly<ResponseHeaders> | Promise<Readonly<ResponseHeaders>> {
  const { kind, context, options } = scope;
  const { cacheSeconds } = kind;
  if (context.caller.userId !== undefined || cacheSeconds === undefined) return uncached;
  const now = options.clock.now();
  if (typeof cacheSeconds === 'number') return cachedFor(cacheSeconds, now);
  return cacheSeconds(context).then((seconds) => cachedFor(seconds, now));
}

function cachedFor(lifetime: number | undefined, now: number): Readonly<ResponseHeaders> {
  if (lifetime === undefined || lifetime < 0) return uncached;
  const headers = lifetimeHeaders(lifetime, now);
  // Callers with credentials may get other responses.
  if (lifetime > 0) headers['Vary'] = 'Authorization';
  return headers;
}

/**
 * Returns the cache headers of a response that is the same for all callers who get it, in a new object.
 *
 * @param lifetime in seconds; `undefined` and negative numbers mean no caching
 */
export function lifetimeHeaders(lifetime: number | undefined, now: number): ResponseHeaders {
  if (lifetime === undefined || lifetime < 0) return { 'Cache-Control': 'no-cache, no-store' };
  if (lifetime === 0) return expiredAt(now);
  const seconds = Math.min(lifetime, longestCachingSeconds);
  return { 'Cache-Control': `max-age=${seconds}`, Expires: formatHttpDate(now + seconds * 1000) };
}

/** Returns headers that keep every cache from reusing a response, also caches without `Cache-Control`. */
function expiredAt(now: number): ResponseHeaders {
  return {
    'Cache-Control': 'max-age=0, must-revalidate, no-cache, no-store',
    Expires: formatHttpDate(now),
    Pragma: 'no-cache',
  };
}

/**
 * Creates the response `{"permissions": …, "data": …}`; user resources have no permissions.
 *
 * @param byGroup whether a group of the caller may write the object; `undefined`: not known yet
 */
export async function objectResponse(
  scope: Scope,
  status: number,
  object: StoredObject,
  permissions: ObjectPermissions,
  headers: ResponseHeaders = {},
  byGroup?: boolean,
): Promise<ServiceResponse> {
  const presented = presentObject(scope, object);
  const shown = scope.kind.isShareable
    ? JSON.stringify(
        await visiblePermissions(scope, storedId(object.id), permissions, { isNew: status === 201, byGroup }),
      )
    : undefined;
  const start = shown === undefined ? '{"data":' : `{"permissions":${shown},"data":`;
  const body = presented.isLarge ? [start, ...entryPieces(presented), '}'] : `${start}${formatEntry(presented)}}`;
  return { status, headers: timestampHeaders(object.lastModified, headers), body };
}

/** Creates the response `{"data": …}` with a part of an object. */
export function partialResponse(timestamp: number, data: JsonObject, headers: ResponseHeaders = {}): ServiceResponse {
  return { status: 200, headers: timestampHeaders(timestamp, headers), body: `{"data":${formatJson(data)}}` };
}

/** Creates a 304 response with the headers of the full response. */
export function notModified(timestamp: number, headers: ResponseHeaders): ServiceResponse {
  return { status: 304, headers: timestampHeaders(timestamp, headers), body: '' };
}
