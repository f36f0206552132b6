// The one permission check. Every way to an object asks here: what a rule requires is settled when the service starts,
// and a request only fills in the ids of its path.
import { ServiceError } from '../core/errors.ts';
import type { PermissionRule } from '../core/permissions/inheritance.ts';
import type { Caller } from './caller.ts';
import type { PathIds } from './context.ts';
import type { Reader } from './session.ts';

/** Who may do one thing: principals named by settings, and those in any of the granting entries. */
export interface AccessRule {
  /** From settings such as `record_create_principals`. */
  readonly principals: ReadonlySet<string>;
  /** Entries on objects in the path; none where only settings, or authentication, decide. */
  readonly entries: PermissionRule | undefined;
  /** Whether every authenticated caller passes, as with user resources. */
  readonly authenticated: boolean;
}

/** Whether the caller may do what the rule is about. */
export async function isAllowed(rule: AccessRule, caller: Caller, reader: Reader, ids: PathIds): Promise<boolean> {
  if (rule.authenticated) return caller.userId !== undefined;
  if (isNamedBySettings(rule, caller)) return true;
  const bound = rule.entries?.bind(ids) ?? [];
  return bound.length > 0 && reader.permission.checkPermission(caller.principals, bound);
}

/** Whether settings alone let the caller do it. */
export function isNamedBySettings(rule: AccessRule, caller: Caller): boolean {
  if (rule.principals.size === 0) return false;
  return caller.principals.some((principal) => rule.principals.has(principal));
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
}

/**
 * Access to a list: the whole of it, or else the objects shared one by one, or else nothing of it for those who may
 * create there.
 *
 * @param list.own rule for single objects; its entries on the listed objects themselves count
 * @throws ServiceError missingAuthToken, forbidden
 */
export async function requireListAccess(
  list: { readonly uri: string; readonly whole: AccessRule; readonly create: AccessRule; readonly own: AccessRule },
  caller: Caller,
  reader: Reader,
  ids: PathIds,
): Promise<ListAccess> {
  if (await isAllowed(list.whole, caller, reader, ids)) return { ids: undefined };
  const bound = list.own.entries?.bindList(ids) ?? [];
  if (bound.length > 0) {
    const found = await reader.permission.getAccessibleObjects(caller.principals, { bound, withChildren: false });
    if (found.size > 0) return { ids: Array.from(found.keys(), (uri) => uri.slice(list.uri.length + 1)) };
  }
  if (await isAllowed(list.create, caller, reader, ids)) return { ids: [] };
  throw refusal(caller);
}
