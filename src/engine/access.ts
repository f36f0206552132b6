// The one permission check. Every way to an object asks here: what a rule requires is settled when the service starts,
// and a request only fills in the ids of its path.
import { ServiceError } from '../core/errors.ts';
import { storedId, type PathIds } from '../core/objects/object-id.ts';
import type { PermissionRule } from '../core/permissions/inheritance.ts';
import { completeCaller, type Caller } from './caller.ts';
import type { Context } from './context.ts';
import { haveOwners, ownsLists, type OwnedList } from './owned-lists.ts';
import type { Reader } from './unit-of-work.ts';

/** What an authorization policy is asked. */
export interface AccessQuestion {
  /** Kind of the objects it is about, `record`. */
  readonly kind: string;
  /** `read`, `write`, `create`, or one that a plugin has added. Changing and deleting are `write`. */
  readonly permission: string;
  /** Whether it is about one object, or about a list as a whole, all of its objects included. */
  readonly on: 'object' | 'list';
  /** Ids in the path by name, that of the object included where it is known. */
  readonly ids: PathIds;
  readonly caller: Caller;
  readonly reader: Reader;
  /** What settings and entries say; costs nothing unless it is called. */
  readonly byDefault: () => Promise<boolean>;
}

/** Has the last word on every access: of single objects, of lists, and of the entries of a batch. */
export interface AuthorizationPolicy {
  /**
   * Whether the caller may. Throwing fails the request. It is asked about what may turn out not to matter, so it must have
   * no effect of its own.
   */
  readonly decide: (question: AccessQuestion) => boolean | Promise<boolean>;
  /**
   * The ids of the objects of a list that the caller may see or change, when not the list as a whole.
   *
   * @param shared those that entries share with the caller one by one, and `decide` has confirmed
   */
  readonly selectObjects?: (
    question: AccessQuestion,
    shared: readonly string[],
  ) => readonly string[] | Promise<readonly string[]>;
}

/** What a rule is about, for the policy that has the last word on it. */
interface Policed {
  readonly policy: AuthorizationPolicy;
  readonly kind: string;
  readonly permission: string;
  readonly on: 'object' | 'list';
}

/** Who may do one thing: principals named by settings, and those in any of the granting entries. */
export interface AccessRule {
  /** From settings such as `record_create_principals`. */
  readonly principals: ReadonlySet<string>;
  /** Entries on objects in the path; none where only settings, or authentication, decide. */
  readonly entries: PermissionRule | undefined;
  /** Whether every authenticated caller passes, as with user resources. */
  readonly authenticated: boolean;
  /** Lists in the path that belong to callers; absent: none. What settings grant holds in the caller's own lists only. */
  readonly owned?: readonly OwnedList[];
  /** Whether a caller passes who shares none of the owned lists in the path with others. */
  readonly grantsSoleOwner?: boolean;
  /** Absent: settings and entries decide alone. */
  readonly policed?: Policed | undefined;
}

/** Whether the caller may do what the rule is about. */
export function isAllowed(rule: AccessRule, caller: Caller, reader: Reader, ids: PathIds): Promise<boolean> {
  if (rule.policed === undefined) return isGranted(rule, caller, reader, ids);
  if (isWithoutList(rule, caller, ids)) return Promise.resolve(false);
  return askPolicy(rule.policed, { caller, reader, ids, byDefault: () => isGranted(rule, caller, reader, ids) });
}

/** An anonymous caller never has a list of their own, so that no policy can open one. */
function isWithoutList({ authenticated, owned }: AccessRule, caller: Caller, ids: PathIds): boolean {
  return (authenticated && caller.userId === undefined) || (owned !== undefined && !haveOwners(owned, ids));
}

/** Whether the policy, if there is one, leaves it at what has been granted in another way. */
export async function isConfirmed(rule: AccessRule, caller: Caller, reader: Reader, ids: PathIds): Promise<boolean> {
  if (rule.policed === undefined) return true;
  return askPolicy(rule.policed, { caller, reader, ids, byDefault: () => Promise.resolve(true) });
}

async function askPolicy(
  { policy, ...about }: Policed,
  question: Pick<AccessQuestion, 'caller' | 'reader' | 'ids' | 'byDefault'>,
): Promise<boolean> {
  // Whatever else a policy of somebody else's returns is no permission.
  const answer: unknown = await policy.decide({ ...about, ...question });
  return answer === true;
}

function isGranted(rule: AccessRule, caller: Caller, reader: Reader, ids: PathIds): Promise<boolean> {
  if (rule.authenticated) return Promise.resolve(caller.userId !== undefined);
  const { owned } = rule;
  if (owned !== undefined && !ownsLists(owned, ids, caller)) {
    // In the lists of others only entries on their objects count.
    return haveOwners(owned, ids) ? isInEntries(rule, caller, reader, ids) : Promise.resolve(false);
  }
  if (rule.grantsSoleOwner === true && owned?.every(({ isSoleOwner }) => isSoleOwner(caller)) === true) {
    return Promise.resolve(true);
  }
  if (isNamedBySettings(rule, caller)) return Promise.resolve(true);
  const isInEntry = isInEntries(rule, caller, reader, ids);
  if (caller.memberOf === undefined || rule.principals.size === 0) return isInEntry;
  // Settings may name groups as well. Both are asked at once, for each may be a way to another machine.
  return Promise.all([isNamed(rule, caller), isInEntry]).then(([named, granted]) => named || granted);
}

function isInEntries(
  { entries }: AccessRule,
  { knownPrincipals, memberOf }: Caller,
  reader: Reader,
  ids: PathIds,
): Promise<boolean> {
  const bound = entries?.bind(ids) ?? [];
  return bound.length > 0
    ? reader.permission.checkPermission(knownPrincipals, bound, memberOf)
    : Promise.resolve(false);
}

/**
 * Requires settings, or entries on the objects whose ids are known, to grant one of the rules. For paths in which an id is
 * not acceptable: no such object exists, so no entry on it can grant anything. Authorization policies are not asked, for
 * they may rely on ids that are missing here.
 *
 * @throws ServiceError missingAuthToken, forbidden
 */
export async function requireGranted(
  rules: readonly AccessRule[],
  { caller, unit, ids }: Pick<Context, 'caller' | 'unit' | 'ids'>,
): Promise<void> {
  for (const rule of rules) if (await isGranted(rule, caller, unit.reader, ids)) return;
  throw refusal(caller);
}

/** The same as `isNamedBySettings` for a caller whose groups may not be known yet. */
export async function isNamed(rule: Pick<AccessRule, 'principals'>, caller: Caller): Promise<boolean> {
  if (rule.principals.size === 0) return false;
  if (isNamedBySettings(rule, caller)) return true;
  return caller.memberOf !== undefined && isNamedBySettings(rule, await completeCaller(caller));
}

/** Whether settings alone let the caller do it, by a principal that is known. */
export function isNamedBySettings(rule: Pick<AccessRule, 'principals'>, caller: Caller): boolean {
  if (rule.principals.size === 0) return false;
  return caller.knownPrincipals.some((principal) => rule.principals.has(principal));
}

/** The refusal: 401 for callers without valid credentials, 403 for others. */
export function refusal(caller: Caller): ServiceError {
  return new ServiceError(caller.userId === undefined ? 'missingAuthToken' : 'forbidden');
}

/** @throws ServiceError missingAuthToken, forbidden */
export async function requireAllowed(rule: AccessRule, caller: Caller, reader: Reader, ids: PathIds): Promise<void> {
  if (!(await isAllowed(rule, caller, reader, ids))) throw refusal(caller);
}

/** Which objects of a list a caller may see or delete. */
export interface ListAccess {
  /** Only these ids; `undefined`: all. */
  readonly ids: readonly string[] | undefined;
  /** Whether there are more ids, which nobody has asked for yet. */
  readonly isPartial?: boolean;
}

/** A list that access is asked for. */
export interface AskedList {
  readonly uri: string;
  /** Name of the id of its objects in paths, `record_id`. */
  readonly idName: string;
  readonly whole: AccessRule;
  readonly create: AccessRule;
  /** For single objects; its entries on the listed objects themselves count. */
  readonly own: AccessRule;
}

/**
 * Access to a list: the whole of it, or else the objects shared one by one, or else nothing of it for those who may
 * create there.
 *
 * @param findLimit how many shared objects are enough to know that there are many; asked only where it matters
 * @throws ServiceError missingAuthToken, forbidden
 */
export async function requireListAccess(
  list: AskedList,
  caller: Caller,
  reader: Reader,
  ids: PathIds,
  findLimit?: () => number | undefined,
): Promise<ListAccess> {
  if (await isAllowed(list.whole, caller, reader, ids)) return { ids: undefined };
  // A policy that has the last word is asked about each of them.
  const limit = list.whole.policed === undefined ? findLimit?.() : undefined;
  const objects = await findObjects(list, caller, reader, ids, limit);
  if (objects.length > 0) return { ids: objects, isPartial: limit !== undefined && objects.length >= limit };
  if (await isAllowed(list.create, caller, reader, ids)) return { ids: [] };
  throw refusal(caller);
}

/**
 * Ids of the single objects of a list that the caller has access to.
 *
 * @param limit so many of them are enough; default all
 */
export async function findObjects(
  { uri, idName, own, whole }: AskedList,
  caller: Caller,
  reader: Reader,
  ids: PathIds,
  limit?: number,
): Promise<readonly string[]> {
  const { knownPrincipals, memberOf } = caller;
  const bound = own.entries?.bindList(ids) ?? [];
  const found =
    bound.length === 0
      ? []
      : (
          await reader.permission.getAccessibleObjects(knownPrincipals, { bound, withChildren: false, memberOf, limit })
        ).keys();
  const shared = Array.from(found, (object) => object.slice(uri.length + 1));
  const { policed } = whole;
  if (policed === undefined) return shared;
  const confirmed: string[] = [];
  for (const id of shared) {
    if (await isConfirmed(own, caller, reader, { ...ids, [idName]: storedId(id) })) confirmed.push(id);
  }
  const { policy, ...about } = policed;
  if (policy.selectObjects === undefined || isWithoutList(whole, caller, ids)) return confirmed;
  const byDefault = (): Promise<boolean> => isGranted(whole, caller, reader, ids);
  return policy.selectObjects({ ...about, caller, reader, ids, byDefault }, confirmed);
}
