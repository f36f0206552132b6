// The first half of every write to one object: authorizes the caller, reports all faults of the request,
// and only then locks the list and reads the object under the lock. Refused requests never hold locks.
import type { ObjectPermissions } from '../contracts/permission.ts';
import type { LockedState, ReadNeeds } from '../contracts/storage.ts';
import type { PathIds } from '../core/objects/object-id.ts';
import type { StoredObject } from '../core/objects/stored.ts';
import { isAllowed, refusal, requireAllowed, type AccessRule } from './access.ts';
import { mayWriteConditionally, needsListTimestamp, type WriteTarget } from './conditional-write.ts';
import { hasUniqueIndex } from './list-indexes.ts';
import { findAbove, holdAbove, idsWith, requireNoIssues, type Above, type Scope } from './scope.ts';
import { requireRoom, roomFor, type StoredWork } from './stored-work.ts';
import type { Reader, Writer } from './unit-of-work.ts';

/** Throws unless the caller may write the object, given whether it exists. */
export type Authorize = (exists: boolean, reader: Reader) => Promise<void>;

/** Authorizes by a rule that depends on whether the object exists. */
export function byRule({ context }: Scope, ids: PathIds, choose: (exists: boolean) => AccessRule): Authorize {
  return (exists, reader) => requireAllowed(choose(exists), context.caller, reader, ids);
}

/**
 * Authorizes a change of an existing object by `write`. Callers who may read the list pass for a missing object, and so get
 * a 404 instead of a refusal.
 */
export function forChange({ kind, context }: Scope): Authorize {
  const { caller, ids } = context;
  return async (exists, reader) => {
    if (await isAllowed(kind.rules.write, caller, reader, ids)) return;
    if (!exists && (await isAllowed(kind.rules.readList, caller, reader, ids))) return;
    throw refusal(caller);
  };
}

export interface WritePlan<T> {
  /** Id of the object; `undefined` for a new one whose id the service generates. */
  readonly id: string | undefined;
  /** Action on an existing object. */
  readonly action: 'update' | 'delete';
  readonly authorize: Authorize;
  /**
   * Values of `exists` for which access is checked while the object is being read, if the backend is remote. Any other
   * outcome is checked afterwards.
   */
  readonly expects: readonly boolean[];
  /** Whether the attributes of an existing object may be parsed and written again; default `false`. */
  readonly rewrites?: boolean;
  /** Returns whether the write replaces the attributes of an existing object without reading them; absent: it does not. */
  readonly replaces?: (checked: T) => boolean;
  /** Whether the entries of an existing object are needed; default `false`. */
  readonly readsPermissions?: boolean;
  /** Reads the request once access is granted. Faults go to the issues of the request. */
  readonly check: () => T | Promise<T>;
  /** Does slow work on a valid request before the list is locked. The object may have changed when it is. */
  readonly prepare?: (checked: T, object: StoredObject | undefined) => Promise<void> | undefined;
}

export interface BegunWrite<T> extends WriteTarget {
  readonly state: LockedState;
  /** The entries of an existing object of a shareable kind, if the plan has `readsPermissions`. */
  readonly permissions: ObjectPermissions | undefined;
  /** Result of `check`. */
  readonly checked: T;
}

/**
 * Authorizes, checks and prepares the write, and locks the list unless the write becomes a single statement.
 *
 * @throws ServiceError missingAuthToken, forbidden, missingParent, invalidParameters, in this order; missingAuthToken when the
 *   credentials of the caller have changed meanwhile
 */
export async function beginWrite<T>(scope: Scope, plan: WritePlan<T>): Promise<BegunWrite<T>> {
  const { authorize, check, prepare } = plan;
  const { kind, list, context } = scope;
  const viewing = context.unit.readerForWrite();
  const reader = viewing instanceof Promise ? await viewing : viewing;
  const readsPermissions = plan.readsPermissions === true && kind.isShareable;
  if (plan.id !== undefined) announceSiblings(scope);
  const isSingleStatement = mayWriteConditionally(scope, plan);
  const needs = { defersText: plan.replaces !== undefined && mayDefer(scope) };
  const ahead = await readAhead(scope, plan, reader, {
    needs,
    readsPermissions: isSingleStatement && readsPermissions,
  });
  const { object, permissions, above } = ahead;
  const exists = object !== undefined;
  const isDeferred = object?.isDeferred === true;
  const room = isDeferred ? undefined : requireRoom(context, object, workOf(plan));
  if (room !== undefined) await room;
  const checking = check();
  const checked = checking instanceof Promise ? await checking : checking;
  if (isDeferred && plan.replaces?.(checked) !== true) await requireRoom(context, object, workOf(plan));
  if (above.missing !== undefined) throw above.missing;
  requireNoIssues(scope);
  await prepare?.(checked, object);

  if (isSingleStatement && !needsListTimestamp(scope, exists) && !hasUniqueIndex(kind, above)) {
    const state = { timestamp: undefined, object, tombstone: undefined };
    return { reader, writer: undefined, above, state, permissions: exists ? permissions : undefined, checked };
  }
  const writer = await context.unit.writer();
  const locked = await lockList(scope, writer, plan.id, { needs, readsPermissions, existed: exists });
  if (kind.declaration.confirmCaller !== undefined) {
    await kind.declaration.confirmCaller(context.caller, context.unit, writer);
  }
  let { state } = locked;
  const existsNow = state.object !== undefined;
  if (existsNow !== exists) await authorize(existsNow, writer);
  if (state.timestamp === undefined && context.request.headers['if-match'] !== undefined) {
    // A failed precondition reports the timestamp of the list, so a list without one gets it now.
    state = { ...state, timestamp: await writer.storage.touch(list) };
  }
  return { reader: writer, writer, above: locked.above, state, permissions: locked.permissions, checked };
}

/** Announces the objects that the entries of the batch write in this list, so that the backend can read them together. */
function announceSiblings(scope: Scope): void {
  const { kind, context, list } = scope;
  const texts = context.unit.isWriting ? context.request.siblings?.take() : undefined;
  if (texts === undefined || texts.length < 2) return;
  const ids = texts.map((text) => kind.ids.parse(text)).filter((id) => id !== undefined);
  const uris = kind.isShareable ? ids.map((id) => kind.objectUri(idsWith(scope, id))) : [];
  context.unit.expect({ list, ids, uris });
}

/** Returns whether nothing that follows from an update reads the attributes before. */
function mayDefer({ kind, context }: Scope): boolean {
  return kind.declaration.afterChange === undefined && !context.unit.readsReplaced(kind.name);
}

function workOf({ rewrites = false }: Pick<WritePlan<unknown>, 'rewrites'>): StoredWork {
  return rewrites ? 'rewrite' : 'show';
}

interface Ahead {
  readonly object: StoredObject | undefined;
  readonly permissions: ObjectPermissions | undefined;
  readonly above: Above;
}

/** Reads what the write depends on before anything is locked, and authorizes the caller. */
async function readAhead<T>(
  scope: Scope,
  plan: WritePlan<T>,
  reader: Reader,
  { needs, readsPermissions }: { readonly needs: ReadNeeds; readonly readsPermissions: boolean },
): Promise<Ahead> {
  const { list, context } = scope;
  const { id, authorize, expects } = plan;
  const find = (): Promise<StoredObject | undefined> | undefined =>
    id === undefined ? undefined : reader.storage.get(list, id, roomFor(context, workOf(plan)), needs);
  const readEntries = (): Promise<ObjectPermissions> | undefined =>
    readsPermissions ? readPermissions(scope, reader) : undefined;
  if (!context.unit.isRemote) {
    const [object, permissions] = readsPermissions ? await Promise.all([find(), readEntries()]) : [await find()];
    await authorize(object !== undefined, reader);
    return { object, permissions, above: await findAbove(scope, reader) };
  }
  // The round trips run in parallel. Failures are reported in the usual order.
  const [object, permissions, above, outcomes] = await Promise.all([
    find(),
    readEntries(),
    findAbove(scope, reader),
    Promise.all(expects.map((exists) => tryToAuthorize(authorize, exists, reader))),
  ]);
  const outcome = outcomes.find(({ exists }) => exists === (object !== undefined));
  if (outcome === undefined) await authorize(object !== undefined, reader);
  else if (outcome.refusal !== undefined) throw outcome.refusal.error;
  return { object, permissions, above };
}

function readPermissions({ kind, context }: Scope, reader: Reader): Promise<ObjectPermissions> {
  return reader.permission.getObjectPermissions(kind.objectUri(context.ids));
}

interface Locking {
  readonly needs: ReadNeeds;
  readonly readsPermissions: boolean;
  readonly existed: boolean;
}

/**
 * Locks the list and keeps the object above it from being deleted.
 *
 * @throws ServiceError missingParent
 */
async function lockList(
  scope: Scope,
  writer: Writer,
  id: string | undefined,
  { needs, readsPermissions, existed }: Locking,
): Promise<Omit<BegunWrite<unknown>, 'reader' | 'writer' | 'checked'>> {
  const [above, state, permissions] = await Promise.all([
    holdAbove(scope, writer),
    writer.storage.lock(scope.list, id, needs),
    // Calls of one transaction take effect in their order, so this one reads under the lock.
    readsPermissions && existed && scope.context.unit.hasOneTransaction ? readPermissions(scope, writer) : undefined,
  ]);
  if (above.missing !== undefined) throw above.missing;
  const isMissing = readsPermissions && permissions === undefined && state.object !== undefined;
  return { above, state, permissions: isMissing ? await readPermissions(scope, writer) : permissions };
}

interface AccessOutcome {
  readonly exists: boolean;
  readonly refusal: { readonly error: unknown } | undefined;
}

/** Returns a refusal instead of throwing it: it counts only if the object turns out to exist, or not, as assumed. */
async function tryToAuthorize(authorize: Authorize, exists: boolean, reader: Reader): Promise<AccessOutcome> {
  try {
    await authorize(exists, reader);
    return { exists, refusal: undefined };
  } catch (error) {
    return { exists, refusal: { error } };
  }
}
