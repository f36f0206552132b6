// `If-Match` and `If-None-Match` against stored state. Writes check under the lock of the list, so of several writers with
// the same precondition exactly one succeeds. See docs/reference/http-api/preconditions.md.
import { ServiceError } from '../core/errors.ts';
import { parsePrecondition, type Precondition, type PreconditionHeader } from '../core/objects/etag.ts';
import { formatEntry, type StoredObject } from '../core/objects/stored.ts';
import type { LockedState } from '../contracts/storage.ts';
import type { Context } from './context.ts';
import { timestampHeaders } from './respond.ts';

export interface Preconditions {
  readonly ifMatch: Precondition | undefined;
  readonly ifNoneMatch: Precondition | undefined;
}

const none: Preconditions = { ifMatch: undefined, ifNoneMatch: undefined };

/** Reads the preconditions of a request. Malformed ones go to its issues. */
export function readPreconditions({ request, issues }: Context): Preconditions {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
  if (ifMatch === undefined && ifNoneMatch === undefined) return none;
  const parse = (header: PreconditionHeader, value: string | undefined): Precondition | undefined => {
    if (value === undefined) return undefined;
    const parsed = parsePrecondition(header, value);
    if ('precondition' in parsed) return parsed.precondition;
    issues.push(parsed.issue);
    return undefined;
  };
  return { ifMatch: parse('If-Match', ifMatch), ifNoneMatch: parse('If-None-Match', ifNoneMatch) };
}

/** Returns whether the response to a read is 304. */
export function isUnchanged({ ifNoneMatch }: Preconditions, timestamp: number): boolean {
  return ifNoneMatch !== undefined && !ifNoneMatch.any && ifNoneMatch.timestamp === timestamp;
}

/**
 * Requires the preconditions to hold for an existing object, or for a whole list.
 *
 * @throws ServiceError preconditionFailed
 */
export function requireMatch({ ifMatch, ifNoneMatch }: Preconditions, timestamp: number, object?: StoredObject): void {
  if (ifNoneMatch?.any === true) throw preconditionFailed(timestamp, object, object && existsAlready);
  if (ifMatch === undefined || ifMatch.any || ifMatch.timestamp === timestamp) return;
  throw preconditionFailed(timestamp, object);
}

/**
 * Requires the preconditions to hold for a write that creates an object or finds an existing one.
 *
 * @param absent timestamp that `If-Match` is compared with if the object does not exist
 * @throws ServiceError preconditionFailed
 */
export function requireWritable(preconditions: Preconditions, state: LockedState, absent: number | undefined): void {
  const { object, timestamp } = state;
  if (object !== undefined) return requireMatch(preconditions, object.lastModified, object);
  const { ifMatch } = preconditions;
  if (ifMatch === undefined || (!ifMatch.any && ifMatch.timestamp === absent)) return;
  throw preconditionFailed(timestamp);
}

/** Message of 412 when `If-None-Match: *` meets an existing object. */
export const existsAlready = 'The object exists already, and If-None-Match: * requires that it does not.';

/** Creates the 412 error. With `object` its body shows the existing object, so the caller must be allowed to read it. */
export function preconditionFailed(
  timestamp: number | undefined,
  object?: StoredObject,
  message?: string,
): ServiceError {
  const options = {
    message,
    headers: timestamp === undefined ? undefined : (timestampHeaders(timestamp) as Record<string, string>),
    // The stored text: parsing a large object could take long.
    detailsText: object === undefined ? undefined : `{"existing":${formatEntry(object)}}`,
  };
  return new ServiceError('preconditionFailed', options);
}
