// Who sends a request, as far as permissions are concerned.
import type { JsonObject } from '../base/json.ts';
import { AUTHENTICATED, EVERYONE } from '../core/permissions/principals.ts';

export interface Caller {
  /** Prefixed id, `basicauth:a3d9…`; `undefined` for anonymous callers. */
  readonly userId: string | undefined;
  /** Everything that may stand in an access-control entry for this caller; the user id comes first. */
  readonly principals: readonly string[];
  /** The principal that becomes writer of what the caller creates or changes. */
  readonly principal: string;
  /** What the way of authentication knows about the user; absent when it knows no more than the id. */
  readonly profile?: JsonObject;
}

export const anonymous: Caller = { userId: undefined, principals: [EVERYONE], principal: EVERYONE };

/** An authenticated caller with the groups and other principals given to that user id. */
export function authenticatedCaller(userId: string, given: Iterable<string>, profile?: JsonObject): Caller {
  const principals = new Set([userId, EVERYONE, AUTHENTICATED, ...given]);
  return { userId, principals: [...principals], principal: userId, ...(profile === undefined ? {} : { profile }) };
}
