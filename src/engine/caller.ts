// Who sends a request, as far as permissions are concerned.
import type { JsonObject } from '../base/json.ts';
import { AUTHENTICATED, EVERYONE } from '../core/permissions/principals.ts';

export interface Caller {
  /** Prefixed id, `basicauth:a3d9…`; `undefined` for anonymous callers. */
  readonly userId: string | undefined;
  /** What stands in access-control entries for this caller and is known without asking; the user id comes first. */
  readonly knownPrincipals: readonly string[];
  /** The user whose groups count as well; `undefined` when `knownPrincipals` are all there are. */
  readonly memberOf: string | undefined;
  /** Everything that may stand in an entry for this caller, groups included; asks once, so check what is known first. */
  readonly allPrincipals: () => Promise<readonly string[]>;
  /** The principal that becomes writer of what the caller creates or changes. */
  readonly principal: string;
  /** What the way of authentication knows about the user; absent when it knows no more than the id. */
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

/** An authenticated caller who is in no groups but those given. */
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

/** An authenticated caller whose groups are looked up when something depends on them. */
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

/** The same caller with all principals known. */
export async function completeCaller(caller: Caller): Promise<Caller> {
  if (caller.memberOf === undefined) return caller;
  return { ...caller, knownPrincipals: await caller.allPrincipals(), memberOf: undefined };
}

function principalsOf(userId: string, given: readonly string[]): readonly string[] {
  if (given.length === 0) return [userId, EVERYONE, AUTHENTICATED];
  return [...new Set([userId, EVERYONE, AUTHENTICATED, ...given])];
}
