// The sender of a request, as far as permissions depend on it.
import type { JsonObject } from '../base/json.ts';
import { AUTHENTICATED, EVERYONE } from '../core/permissions/principals.ts';

export interface Caller {
  /** Prefixed user id, such as `basicauth:a3d9…`; `undefined` for anonymous callers. */
  readonly userId: string | undefined;
  /** Principals of the caller that are known without a lookup; the user id comes first. */
  readonly knownPrincipals: readonly string[];
  /** User id whose groups count as well; `undefined` when `knownPrincipals` is complete. */
  readonly memberOf: string | undefined;
  /** Returns all principals, groups included. Looks groups up once, so check the known principals first. */
  readonly allPrincipals: () => Promise<readonly string[]>;
  /** The principal that is added to the `write` permission of objects that the caller creates or changes. */
  readonly principal: string;
  /** Facts about the user from the authentication policy; absent when it knows only the id. */
  readonly profile?: JsonObject | undefined;
}

const everyone: readonly string[] = [EVERYONE];

export const anonymous: Caller = {
  userId: undefined,
  knownPrincipals: everyone,
  memberOf: undefined,
  allPrincipals: () => Promise.resolve(everyone),
  principal: EVERYONE,
};

/** Creates an authenticated caller without groups other than the given principals. */
export function authenticatedCaller(userId: string, given: readonly string[], profile?: JsonObject): Caller {
  const principals = principalsOf(userId, given);
  return {
    userId,
    knownPrincipals: principals,
    memberOf: undefined,
    allPrincipals: () => Promise.resolve(principals),
    principal: userId,
    profile,
  };
}

/** Creates an authenticated caller whose groups are looked up when a decision depends on them. */
export function callerInGroups(
  userId: string,
  given: readonly string[],
  readGroups: () => Promise<Iterable<string>>,
  profile?: JsonObject,
): Caller {
  const caller = authenticatedCaller(userId, given, profile);
  let all: Promise<readonly string[]> | undefined;
  const allPrincipals = (): Promise<readonly string[]> =>
    (all ??= readGroups().then((groups) => principalsOf(userId, [...given, ...groups])));
  return { ...caller, memberOf: userId, allPrincipals };
}

/** Looks up the groups of a caller; returns a caller whose `knownPrincipals` are complete. */
export async function completeCaller(caller: Caller): Promise<Caller> {
  if (caller.memberOf === undefined) return caller;
  return { ...caller, knownPrincipals: await caller.allPrincipals(), memberOf: undefined };
}

function principalsOf(userId: string, given: readonly string[]): readonly string[] {
  if (given.length === 0) return [userId, EVERYONE, AUTHENTICATED];
  return [...new Set([userId, EVERYONE, AUTHENTICATED, ...given])];
}
