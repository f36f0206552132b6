// The one permission check, for every access to objects. Rules are compiled when the service starts; a request only fills
// in the ids of its path.
import { pause } from '../base/steps.ts';
import type { RequireRoomForObjects } from '../contracts/permission.ts';
import { ServiceError } from '../core/errors.ts';
import { storedId, type ObjectId, type PathIds } from '../core/objects/object-id.ts';
import type { PermissionRule } from '../core/permissions/inheritance.ts';
import type { Principal } from '../core/permissions/principals.ts';
import { withoutRepetition } from '../core/query/plan-page.ts';
import { completeCaller, type Caller } from './caller.ts';
import type { Context } from './context.ts';
import type { ResourceKind } from './kind.ts';
import { haveOwners, ownsLists, type OwnedList } from './owned-lists.ts';
import type { Reader } from './unit-of-work.ts';

/** One access that an authorization policy decides. */
export interface AccessQuestion {
  /** Kind of the objects, such as `record`. */
  readonly kind: string;
  /** `read`, `write`, `create`, or a permission that a plugin has added. Changes and deletions are `write`. */
  readonly permission: string;
  /** `object`: one object. `list`: a whole list with all of its objects. */
  readonly on: 'object' | 'list';
  /** Ids in the path by name, including that of the object where it is known. */
  readonly ids: PathIds;
  readonly caller: Caller;
  readonly reader: Reader;
  /** Decides by settings and entries. Evaluated only when called. */
  readonly byDefault: () => Promise<boolean>;
}

/** Makes the final decision on every access: to single objects, to lists, and by entries of a batch. */
export interface AuthorizationPolicy {
  /**
   * Returns whether the access is allowed. An exception fails the request. Must have no side effects, because some
   * decisions are discarded.
   */
  readonly decide: (question: AccessQuestion) => boolean | Promise<boolean>;
  /**
   * Returns the ids of the objects in a list that the caller may see or change without access to the whole list.
   *
   * @param shared ids of the objects that entries share with the caller individually and `decide` has confirmed
   */
  readonly selectObjects?: (
    question: AccessQuestion,
    shared: readonly string[],
  ) => readonly string[] | Promise<readonly string[]>;
}

/** The policy that makes the final decision on a rule, and the access that the rule describes. */
interface Policed {
  readonly policy: AuthorizationPolicy;
  readonly kind: string;
  readonly permission: string;
  readonly on: 'object' | 'list';
}

/** The principals that have one kind of access: those in settings, and those in any of the granting entries. */
export interface AccessRule {
  /** From settings such as `record_create_principals`. */
  readonly principals: ReadonlySet<Principal>;
  /** Entries on objects in the path; `undefined` where only settings or authentication decide. */
  readonly entries: PermissionRule | undefined;
  /** Whether every authenticated caller has access, as to user resources. */
  readonly authenticated: boolean;
  /** Owned lists in the path; absent: none. What settings grant holds in the caller's own lists only. */
  readonly owned?: readonly OwnedList[];
  /** Whether the sole owner of every owned list in the path has access. */
  readonly grantsSoleOwner?: boolean;
  /** Absent: settings and entries decide alone. */
  readonly policed?: Policed | undefined;
}

/** Returns whether the rule grants the caller access. */
export function isAllowed(rule: AccessRule, caller: Caller, reader: Reader, ids: PathIds): Promise<boolean> {
  if (rule.policed === undefined) return isGranted(rule, caller, reader, ids);
  if (isWithoutList(rule, caller, ids)) return Promise.resolve(false);
  return askPolicy(rule.policed, { caller, reader, ids, byDefault: () => isGranted(rule, caller, reader, ids) });
}

/** An anonymous caller never has a user-owned list, so no policy can open one. */
function isWithoutList({ authenticated, owned }: AccessRule, caller: Caller, ids: PathIds): boolean {
  return (authenticated && caller.userId === undefined) || (owned !== undefined && !haveOwners(owned, ids));
}

/** Returns whether the policy, if the rule has one, confirms access that was granted in another way. */
export async function isConfirmed(rule: AccessRule, caller: Caller, reader: Reader, ids: PathIds): Promise<boolean> {
  if (rule.policed === undefined) return true;
  return askPolicy(rule.policed, { caller, reader, ids, byDefault: () => Promise.resolve(true) });
}

async function askPolicy(
  { policy, ...about }: Policed,
  question: Pick<AccessQuestion, 'caller' | 'reader' | 'ids' | 'byDefault'>,
): Promise<boolean> {
  // Policies are external code: any result but `true` is a refusal.
  const answer: unknown = await policy.decide({ ...about, ...question });
  return answer === true;
}

function isGranted(rule: AccessRule, caller: Caller, reader: Reader, ids: PathIds): Promise<boolean> {
  if (rule.authenticated) return Promise.resolve(caller.userId !== undefined);
  const { owned } = rule;
  if (owned !== undefined && !ownsLists(owned, ids, caller)) {
    // In lists of other owners only entries on the objects count.
    return haveOwners(owned, ids) ? isInEntries(rule, caller, reader, ids) : Promise.resolve(false);
  }
  if (rule.grantsSoleOwner === true && owned?.every(({ isSoleOwner }) => isSoleOwner(caller)) === true) {
    return Promise.resolve(true);
  }
  if (isNamedBySettings(rule, caller)) return Promise.resolve(true);
  const isInEntry = isInEntries(rule, caller, reader, ids);
  if (caller.memberOf === undefined || rule.principals.size === 0) return isInEntry;
  // Settings may name groups as well. Both checks are started together: each may be a round trip.
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
 * Requires settings, or entries on the objects whose ids are known, to grant one of the rules. For paths with an id that is
 * not acceptable: no such object exists, so no entry on it can grant anything. Authorization policies are not called,
 * because they may rely on the missing ids.
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

/** Returns whether settings alone grant access, by a principal or by a group that is looked up now. */
export async function isNamed(rule: Pick<AccessRule, 'principals'>, caller: Caller): Promise<boolean> {
  if (rule.principals.size === 0) return false;
  if (isNamedBySettings(rule, caller)) return true;
  return caller.memberOf !== undefined && isNamedBySettings(rule, await completeCaller(caller));
}

/** Returns whether settings alone grant access, by a principal that is already known. */
export function isNamedBySettings(rule: Pick<AccessRule, 'principals'>, caller: Caller): boolean {
  if (rule.principals.size === 0) return false;
  return caller.knownPrincipals.some((principal) => rule.principals.has(principal));
}

/** Objects of one list whose access is checked together. */
export interface AskedObjects {
  readonly uri: string;
  /** Name of the id of its objects in paths, `record_id`. */
  readonly idName: string;
  /** Rule for single objects. */
  readonly rule: AccessRule;
  /** Reserves memory when the caller has entries on very many objects of the list. */
  readonly requireRoom: RequireRoomForObjects | undefined;
}

/**
 * Returns the ids of those objects of a list to which `isAllowed` grants access. Makes the same number of queries for any
 * number of objects.
 *
 * @param ids ids in the path of the list
 */
export async function filterAllowed(
  { uri, idName, rule, requireRoom }: AskedObjects,
  objectIds: ReadonlySet<ObjectId>,
  caller: Caller,
  reader: Reader,
  ids: PathIds,
): Promise<ReadonlySet<string>> {
  const [only] = objectIds;
  if (only === undefined) return new Set();
  if (objectIds.size === 1) {
    return (await isAllowed(rule, caller, reader, { ...ids, [idName]: only })) ? objectIds : new Set();
  }
  // Without the id of an object, entries on the objects above it and settings decide. These are the same for all objects.
  const areAllGranted = await isGranted(rule, caller, reader, ids);
  const granted = areAllGranted ? objectIds : await findGranted({ uri, rule, requireRoom }, caller, reader, ids);
  const { policed } = rule;
  if (policed !== undefined && isWithoutList(rule, caller, ids)) return new Set();
  const allowed = new Set<string>();
  for (const id of objectIds) {
    const byDefault = (): Promise<boolean> => Promise.resolve(granted.has(id));
    const isOne =
      policed === undefined
        ? granted.has(id)
        : await askPolicy(policed, { caller, reader, ids: { ...ids, [idName]: id }, byDefault });
    if (isOne) allowed.add(id);
  }
  return allowed;
}

/** Returns the ids of the objects of a list on which entries of their own grant the caller access. */
async function findGranted(
  { uri, rule, requireRoom }: Omit<AskedObjects, 'idName'>,
  { knownPrincipals, memberOf }: Caller,
  reader: Reader,
  ids: PathIds,
): Promise<ReadonlySet<string>> {
  const bound = rule.entries?.bindList(ids) ?? [];
  if (bound.length === 0) return new Set();
  const options = { bound, withChildren: false, memberOf, requireRoom };
  const found = await reader.permission.getAccessibleObjects(knownPrincipals, options);
  const granted = new Set<string>();
  for (const object of found.keys()) {
    granted.add(object.slice(uri.length + 1));
    if (granted.size % idsPerTurn === 0) await pause('urgent');
  }
  return granted;
}

/** Returns the error for a refused access: 401 for callers without valid credentials, 403 for others. */
export function refusal(caller: Caller): ServiceError {
  return new ServiceError(caller.userId === undefined ? 'missingAuthToken' : 'forbidden');
}

/**
 * Requires the rule to allow the access.
 *
 * @throws ServiceError missingAuthToken, forbidden
 */
export async function requireAllowed(rule: AccessRule, caller: Caller, reader: Reader, ids: PathIds): Promise<void> {
  if (!(await isAllowed(rule, caller, reader, ids))) throw refusal(caller);
}

/** The objects of a list that a caller may see or delete. */
export interface ListAccess {
  /** Ids of these objects; `undefined`: all objects. */
  readonly ids: readonly string[] | undefined;
  /** Whether the search stopped at its limit, so that more ids may exist; default `false`. */
  readonly isPartial?: boolean;
}

/** A list to check access to. */
export interface AskedList {
  readonly uri: string;
  /** Name of the id of its objects in paths, `record_id`. */
  readonly idName: string;
  readonly whole: AccessRule;
  readonly create: AccessRule;
  /** Rule for single objects; its entries on the listed objects count. */
  readonly own: AccessRule;
  /** Reserves memory when very many objects are shared individually. */
  readonly requireRoom: RequireRoomForObjects | undefined;
  /** Returns what its objects show of other kinds; absent: nothing. */
  readonly shows: ResourceKind['shows'];
}

/** Bytes per object that is shared individually: its URI, its permissions, and its id. */
export const bytesOfShared = 400;

/**
 * Returns the accessible part of a list: the whole list, otherwise the objects shared individually, otherwise nothing for
 * callers who may create objects in it.
 *
 * @param findLimit returns the number of shared objects at which the search stops; called only if objects are searched
 * @throws ServiceError missingAuthToken, forbidden
 */
export async function requireListAccess(
  list: AskedList,
  caller: Caller,
  reader: Reader,
  ids: PathIds,
  findLimit?: () => number | undefined,
): Promise<ListAccess> {
  const access = await findListAccess(list, caller, reader, ids, findLimit);
  if (access === undefined || !(await isShownConfirmed(list, caller, reader, ids))) throw refusal(caller);
  return access;
}

async function findListAccess(
  list: AskedList,
  caller: Caller,
  reader: Reader,
  ids: PathIds,
  findLimit: (() => number | undefined) | undefined,
): Promise<ListAccess | undefined> {
  if (await isAllowed(list.whole, caller, reader, ids)) return { ids: undefined };
  // A policy decides about each object, so all of them are needed.
  const limit = list.whole.policed === undefined ? findLimit?.() : undefined;
  const objects = await findObjects(list, caller, reader, ids, limit);
  if (objects.length > 0) return { ids: objects, isPartial: limit !== undefined && objects.length >= limit };
  return (await isAllowed(list.create, caller, reader, ids)) ? { ids: [] } : undefined;
}

/** Returns whether the policy, if any, confirms `read` on everything that the list shows of other kinds. */
async function isShownConfirmed(
  { shows, whole: { policed } }: AskedList,
  caller: Caller,
  reader: Reader,
  ids: PathIds,
): Promise<boolean> {
  if (policed === undefined || shows === undefined) return true;
  const byDefault = (): Promise<boolean> => Promise.resolve(true);
  for await (const { kind, on, ids: shown } of shows(ids, reader)) {
    const about = { policy: policed.policy, kind, permission: 'read', on };
    if (!(await askPolicy(about, { caller, reader, ids: shown, byDefault }))) return false;
  }
  return true;
}

/** Number of ids that are read from URIs before other requests run. */
const idsPerTurn = 10_000;

/**
 * Returns the ids of the objects of a list that are shared with the caller individually.
 *
 * @param limit maximum number of ids without a policy; default all
 */
export async function findObjects(
  { uri, idName, own, whole, requireRoom }: AskedList,
  caller: Caller,
  reader: Reader,
  ids: PathIds,
  limit?: number,
): Promise<readonly string[]> {
  const { knownPrincipals, memberOf } = caller;
  const bound = own.entries?.bindList(ids) ?? [];
  const options = { bound, withChildren: false, memberOf, limit, requireRoom };
  const found =
    bound.length === 0 ? [] : (await reader.permission.getAccessibleObjects(knownPrincipals, options)).keys();
  const shared: string[] = [];
  for (const object of found) {
    shared.push(object.slice(uri.length + 1));
    if (shared.length % idsPerTurn === 0) await pause('normal');
  }
  const { policed } = whole;
  if (policed === undefined) return withoutRepetition(shared);
  const confirmed: string[] = [];
  for (const id of shared) {
    if (await isConfirmed(own, caller, reader, { ...ids, [idName]: storedId(id) })) confirmed.push(id);
  }
  const { policy, ...about } = policed;
  if (policy.selectObjects === undefined || isWithoutList(whole, caller, ids)) return confirmed;
  const byDefault = (): Promise<boolean> => isGranted(whole, caller, reader, ids);
  return policy.selectObjects({ ...about, caller, reader, ids, byDefault }, confirmed);
}
