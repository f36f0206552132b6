// Shapes of resource responses: envelopes concatenated from stored texts, and the headers of what they show.
import { formatJson, type JsonObject } from '../base/json.ts';
import type { ObjectPermissions } from '../contracts/permission.ts';
import { formatEtag, formatHttpDate } from '../core/objects/etag.ts';
import { storedId } from '../core/objects/object-id.ts';
import { formatEntry, type StoredObject } from '../core/objects/stored.ts';
import type { ResponseHeaders, ServiceResponse } from './exchange.ts';
import { presentObject, visiblePermissions } from './visibility.ts';
import type { Scope } from './scope.ts';

/** `ETag` and `Last-Modified` of an object or a list, and others. The object is the caller's to change. */
export function timestampHeaders(timestamp: number, others?: ResponseHeaders): ResponseHeaders {
  // Many times faster than spreading both into one literal, and every answer comes through here.
  return Object.assign({ ETag: formatEtag(timestamp), 'Last-Modified': formatHttpDate(timestamp) }, others);
}

/** Longer is the same as this to HTTP caches, and dates have an end. */
const longestCachingSeconds = 2_147_483_647;

const uncached: ResponseHeaders = { 'Cache-Control': 'no-cache, no-store' };

/** Cache headers of a GET or HEAD: answers to anonymous callers may be kept where a setting says so. */
export function cacheControl(scope: Scope): Readonly<ResponseHeaders> | Promise<Readonly<ResponseHeaders>> {
  const { kind, context, options } = scope;
  const { cacheSeconds } = kind;
  if (context.caller.userId !== undefined || cacheSeconds === undefined) return uncached;
  const now = options.clock.now();
  if (typeof cacheSeconds === 'number') return cachedFor(cacheSeconds, now);
  return cacheSeconds(context).then((seconds) => cachedFor(seconds, now));
}

function cachedFor(asked: number | undefined, now: number): Readonly<ResponseHeaders> {
  if (asked === undefined || asked < 0) return uncached;
  if (asked === 0) return expiredAt(now);
  const seconds = Math.min(asked, longestCachingSeconds);
  return {
    'Cache-Control': `max-age=${seconds}`,
    Expires: formatHttpDate(now + seconds * 1000),
    // Callers with credentials may see more.
    Vary: 'Authorization',
  };
}

/** Headers that keep every cache from using an answer, also caches that do not know `Cache-Control`. */
export function expiredAt(now: number): ResponseHeaders {
  return {
    'Cache-Control': 'max-age=0, must-revalidate, no-cache, no-store',
    Expires: formatHttpDate(now),
    Pragma: 'no-cache',
  };
}

/**
 * `{"permissions": …, "data": …}`; user resources have no permissions.
 *
 * @param byGroup whether a group of the caller may write the object, where that is known already
 */
export async function objectResponse(
  scope: Scope,
  status: number,
  object: StoredObject,
  permissions: ObjectPermissions,
  headers: ResponseHeaders = {},
  byGroup?: boolean,
): Promise<ServiceResponse> {
  const data = `"data":${formatEntry(presentObject(scope, object))}}`;
  const shown = scope.kind.isShareable
    ? JSON.stringify(
        await visiblePermissions(scope, storedId(object.id), permissions, { isNew: status === 201, byGroup }),
      )
    : undefined;
  const body = shown === undefined ? `{${data}` : `{"permissions":${shown},${data}`;
  return { status, headers: timestampHeaders(object.lastModified, headers), body };
}

/** `{"data": …}` of a value that is not the whole object. */
export function partialResponse(timestamp: number, data: JsonObject, headers: ResponseHeaders = {}): ServiceResponse {
  return { status: 200, headers: timestampHeaders(timestamp, headers), body: `{"data":${formatJson(data)}}` };
}

/** 304 with the headers the full answer would have had. */
export function notModified(timestamp: number, headers: ResponseHeaders): ServiceResponse {
  return { status: 304, headers: timestampHeaders(timestamp, headers), body: '' };
}
