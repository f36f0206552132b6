// Shapes of resource responses: envelopes concatenated from stored texts, and the headers of what they show.
import { formatJson, type JsonObject } from '../base/json.ts';
import type { ObjectPermissions } from '../contracts/permission.ts';
import { formatEtag, formatHttpDate } from '../core/objects/etag.ts';
import { formatEntry, type StoredObject } from '../core/objects/stored.ts';
import type { ResponseHeaders, ServiceResponse } from './exchange.ts';
import { presentObject, visiblePermissions } from './ownership.ts';
import type { Scope } from './scope.ts';

/** `ETag` and `Last-Modified` of an object or a list. */
export function timestampHeaders(timestamp: number): ResponseHeaders {
  return { ETag: formatEtag(timestamp), 'Last-Modified': formatHttpDate(timestamp) };
}

/** Longer is the same as this to HTTP caches, and dates have an end. */
const longestCachingSeconds = 2_147_483_647;

/** Cache headers of a GET or HEAD: answers to anonymous callers may be kept where a setting says so. */
export async function cacheControl({ kind, context, options }: Scope): Promise<ResponseHeaders> {
  if (context.caller.userId === undefined && kind.declaration.cacheSeconds !== undefined) {
    const asked = await kind.declaration.cacheSeconds(context);
    if (asked !== undefined && asked > 0) {
      const seconds = Math.min(asked, longestCachingSeconds);
      const expires = new Date(options.clock.now() + seconds * 1000).toUTCString();
      return { 'Cache-Control': `max-age=${seconds}`, Expires: expires };
    }
  }
  return { 'Cache-Control': 'no-cache, no-store' };
}

/** `{"permissions": …, "data": …}`; user resources have no permissions. */
export async function objectResponse(
  scope: Scope,
  status: number,
  object: StoredObject,
  permissions: ObjectPermissions,
  headers: ResponseHeaders = {},
): Promise<ServiceResponse> {
  const data = `"data":${formatEntry(presentObject(scope, object))}}`;
  const shown = scope.kind.isShareable
    ? `"permissions":${JSON.stringify(await visiblePermissions(scope, permissions, { isNew: status === 201 }))},`
    : '';
  const body = `{${shown}${data}`;
  return { status, headers: { ...timestampHeaders(object.lastModified), ...headers }, body };
}

/** `{"data": …}` of a value that is not the whole object. */
export function partialResponse(timestamp: number, data: JsonObject, headers: ResponseHeaders = {}): ServiceResponse {
  return { status: 200, headers: { ...timestampHeaders(timestamp), ...headers }, body: `{"data":${formatJson(data)}}` };
}

/** 304 with the headers the full answer would have had. */
export function notModified(timestamp: number, headers: ResponseHeaders): ServiceResponse {
  return { status: 304, headers: { ...timestampHeaders(timestamp), ...headers }, body: '' };
}
