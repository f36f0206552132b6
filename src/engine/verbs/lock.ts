// How every write to one object begins: grant access, settle everything that is wrong with the request, then take the
// right to the list's next timestamp and look at the object under it.
import type { LockedState } from '../../contracts/storage.ts';
import { isAllowed, refusal, requireAllowed, type AccessRule } from '../access.ts';
import type { PathIds } from '../context.ts';
import { findMissingHeldParent, requireNoIssues, requireValidId, type Scope } from '../scope.ts';
import type { Writer } from '../session.ts';

/** Throws unless the caller may do this to the object, which exists or not. */
export type Authorize = (exists: boolean, writer: Writer) => Promise<void>;

/** Access by one rule for objects that exist and another for those that do not. */
export function byRule({ context }: Scope, ids: PathIds, choose: (exists: boolean) => AccessRule): Authorize {
  return (exists, writer) => requireAllowed(choose(exists), context.caller, writer, ids);
}

/**
 * Access for changing what must exist: `write`; that the object does not exist may be known by those who may read
 * the list.
 */
export function forChange({ kind, context }: Scope): Authorize {
  const { caller, ids } = context;
  return async (exists, writer) => {
    if (await isAllowed(kind.rules.write, caller, writer, ids)) return;
    if (!exists && (await isAllowed(kind.rules.readList, caller, writer, ids))) return;
    throw refusal(caller);
  };
}

/**
 * Locks the list and reads the object.
 *
 * @throws ServiceError missingAuthToken, forbidden, missingParent, invalidParameters, in this order
 */
export async function lockObject(scope: Scope, id: string, authorize: Authorize): Promise<[Writer, LockedState]> {
  const { list, context } = scope;
  const writer = await context.session.writer();
  // Asked for together, but complained about in order: a missing parent only to those who have access.
  const [object, complaint] = await Promise.all([writer.storage.get(list, id), findMissingHeldParent(scope, writer)]);
  const exists = object !== undefined;
  await authorize(exists, writer);
  if (complaint !== undefined) throw complaint;
  requireNoIssues(scope);
  requireValidId(scope, id);
  const state = await writer.storage.lock(list, id);
  const existsNow = state.object !== undefined;
  if (existsNow !== exists) await authorize(existsNow, writer);
  return [writer, await withTimestamp(scope, writer, state)];
}

/** A failed precondition tells the clock of the list, so a list never touched before needs one. */
async function withTimestamp({ context, list }: Scope, writer: Writer, state: LockedState): Promise<LockedState> {
  if (state.timestamp !== undefined || context.request.headers['if-match'] === undefined) return state;
  return { ...state, timestamp: await writer.storage.touch(list) };
}
