// The sender of a request, as far as permissions depend on it.
import type { JsonObject } from '../base/json.ts';
import type { OnceCredentials } from '../contracts/authentication.ts';
import { AUTHENTICATED, EVERYONE, type Principal, type UserId } from '../core/permissions/principals.ts';

export interface Caller {
  /** Prefixed user id, such as `basicauth:a3d9…`; `undefined` for anonymous callers. */
  readonly userId: UserId | undefined;
  /** Principals of the caller that are known without a lookup; the user id comes first. */
  readonly knownPrincipals: readonly Principal[];
  /** User id whose groups count as well; `undefined` when `knownPrincipals` is complete. */
  readonly memberOf: UserId | undefined;
  /** Returns all principals, groups included. Looks groups up once, so check the known principals first. */
  readonly allPrincipals: () => Promise<readonly Principal[]>;
  /** Principals that are known from other sources than groups; absent for callers whose groups are not looked up. */
  readonly given?: readonly Principal[];
  /** The principal that is added to the `write` permission of objects that the caller creates or changes. */
  readonly principal: Principal;
  /** Facts about the user from the authentication policy; absent when it knows only the id. */
  readonly profile?: JsonObject | undefined;
  /** Text that changes with what proves the identity of the user; absent when the authentication policy has none. */
  readonly proof?: string | undefined;
  /** Credentials for this single request, which a refusal makes usable again. */
  readonly once?: OnceCredentials | undefined;
}

type ReadGroups = (userId: UserId) => Promise<Iterable<Principal>>;

const everyone: readonly Principal[] = [EVERYONE];

export const anonymous: Caller = {
  userId: undefined,
  knownPrincipals: everyone,
  memberOf: undefined,
  allPrincipals: () => Promise.resolve(everyone),
  principal: EVERYONE,
};

/** Creates an authenticated caller without groups. */
export function authenticatedCaller(userId: UserId): Caller {
  const principals = principalsOf(userId, []);
  return {
    userId,
    knownPrincipals: principals,
    memberOf: undefined,
    allPrincipals: () => Promise.resolve(principals),
    principal: userId,
  };
}

/** Creates an authenticated caller whose groups are looked up when a decision depends on them. */
export function callerInGroups(
  userId: UserId,
  given: readonly Principal[],
  readGroups: ReadGroups,
  { profile, proof }: Pick<Caller, 'profile' | 'proof'> = {},
): Caller {
  let all: Promise<readonly Principal[]> | undefined;
  const allPrincipals = (): Promise<readonly Principal[]> =>
    (all ??= readGroups(userId).then((groups) => principalsOf(userId, [...given, ...groups])));
  const knownPrincipals = principalsOf(userId, given);
  return { userId, knownPrincipals, memberOf: userId, allPrincipals, given, principal: userId, profile, proof };
}

/** Returns the caller with groups that are looked up anew. */
export function renewCaller(caller: Caller, readGroups: ReadGroups): Caller {
  const { userId, given } = caller;
  return userId === undefined || given === undefined ? caller : callerInGroups(userId, given, readGroups, caller);
}

/** Looks up the groups of a caller; returns a caller whose `knownPrincipals` are complete. */
export async function completeCaller(caller: Caller): Promise<Caller> {
  if (caller.memberOf === undefined) return caller;
  return { ...caller, knownPrincipals: await caller.allPrincipals(), memberOf: undefined };
}

function principalsOf(userId: UserId, given: readonly Principal[]): readonly Principal[] {
  if (given.length === 0) return [userId, EVERYONE, AUTHENTICATED];
  return [...new Set([userId, EVERYONE, AUTHENTICATED, ...given])];
}
