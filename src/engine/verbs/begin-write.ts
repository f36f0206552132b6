// How every write to one object begins: grant access and settle everything that is wrong with the request, so that
// nobody without access and no broken request ever holds others up; then take the right to the list's next timestamp
// and look at the object under it.
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { LockedState } from '../../contracts/storage.ts';
import type { ServiceError } from '../../core/errors.ts';
import type { PathIds } from '../../core/objects/object-id.ts';
import type { StoredObject } from '../../core/objects/stored.ts';
import { isAllowed, refusal, requireAllowed, type AccessRule } from '../access.ts';
import { findMissingHeldParent, findMissingParent, requireNoIssues, type Scope } from '../scope.ts';
import type { Reader, Writer } from '../unit-of-work.ts';
import { requireRoom } from '../stored-work.ts';
import { canWriteConditionally } from './write.ts';

/** Throws unless the caller may do this to the object, which exists or not. */
export type Authorize = (exists: boolean, reader: Reader) => Promise<void>;

/** Access by one rule for objects that exist and another for those that do not. */
export function byRule({ context }: Scope, ids: PathIds, choose: (exists: boolean) => AccessRule): Authorize {
  return (exists, reader) => requireAllowed(choose(exists), context.caller, reader, ids);
}

/**
 * Access for changing what must exist: `write`; that the object does not exist may be known by those who may read
 * the list.
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
  /** Of the object; `undefined` for a new one that gets its id from the server. */
  readonly id: string | undefined;
  /** What becomes of an object that exists. */
  readonly action: 'update' | 'delete';
  readonly authorize: Authorize;
  /**
   * What to ask access for before it is known whether the object exists, where asking is a way to another machine; what turns
   * out otherwise is asked then.
   */
  readonly expects: readonly boolean[];
  /** Whether the attributes of an object that exists may be parsed and written again. */
  readonly rewrites?: boolean;
  /** Whether the entries of an object that exists will be needed. */
  readonly readsPermissions?: boolean;
  /** Looks at the request once access is granted; what is wrong goes to the issues of the request. */
  readonly check: () => T | Promise<T>;
  /** Slow work on a request that is in order, before the list is locked; `object` may have changed when it is. */
  readonly prepare?: (checked: T, object: StoredObject | undefined) => Promise<void> | undefined;
}

export interface BegunWrite<T> {
  /** `undefined`: nothing is locked, and the write is to be done alone, from what was read ahead. */
  readonly writer: Writer | undefined;
  readonly state: LockedState;
  /** The entries of the object, read with it; `undefined` where they were not asked for, or have to be again. */
  readonly permissions: ObjectPermissions | undefined;
  /** What `check` returned. */
  readonly checked: T;
}

/**
 * Grants access, checks the request, and locks the list.
 *
 * @throws ServiceError missingAuthToken, forbidden, missingParent, invalidParameters, in this order
 */
export async function beginWrite<T>(scope: Scope, plan: WritePlan<T>): Promise<BegunWrite<T>> {
  const { id, authorize, check, prepare } = plan;
  const { kind, list, context } = scope;
  const reader = context.unit.asksInside ? await context.unit.writer() : context.unit.reader;
  const readsPermissions = plan.readsPermissions === true && kind.isShareable;
  const isAlone = mayBeAlone(scope, plan);
  const { object, permissions, orphaned } = await lookAhead(scope, plan, reader, isAlone && readsPermissions);
  const exists = object !== undefined;
  const room = requireRoom(context, object, plan.rewrites === true ? 'rewrite' : 'show');
  if (room !== undefined) await room;
  const checking = check();
  const checked = checking instanceof Promise ? await checking : checking;
  if (orphaned !== undefined) throw orphaned;
  requireNoIssues(scope);
  await prepare?.(checked, object);

  // Whether a precondition fails on what is not there depends on the clock of the list.
  if (isAlone && (exists || !hasPreconditions(scope))) {
    const state = { timestamp: undefined, object, tombstone: undefined };
    return { writer: undefined, state, permissions: exists ? permissions : undefined, checked };
  }
  const writer = await context.unit.writer();
  const held = await holdAndLock(scope, writer, id, readsPermissions && exists);
  const { state } = held;
  const existsNow = state.object !== undefined;
  if (existsNow !== exists) await authorize(existsNow, writer);
  const needsClock = state.timestamp === undefined && context.request.headers['if-match'] !== undefined;
  // A failed precondition tells the clock of the list, so a list never touched before needs one.
  const told = needsClock ? { ...state, timestamp: await writer.storage.touch(list) } : state;
  return { writer, state: told, permissions: held.permissions, checked };
}

interface Outlook {
  readonly object: StoredObject | undefined;
  readonly permissions: ObjectPermissions | undefined;
  /** What is wrong when there is nothing that the list belongs to. */
  readonly orphaned: ServiceError | undefined;
}

/** What is known before anything is locked, for who has access. */
async function lookAhead<T>(
  scope: Scope,
  { id, authorize, expects }: WritePlan<T>,
  reader: Reader,
  readsPermissions: boolean,
): Promise<Outlook> {
  const { kind, list, context } = scope;
  const find = (): Promise<StoredObject | undefined> | undefined =>
    id === undefined ? undefined : reader.storage.get(list, id);
  const readEntries = (): Promise<ObjectPermissions> | undefined =>
    readsPermissions ? reader.permission.getObjectPermissions(kind.objectUri(context.ids)) : undefined;
  if (!context.unit.isRemote) {
    const [object, permissions] = readsPermissions ? await Promise.all([find(), readEntries()]) : [await find()];
    await authorize(object !== undefined, reader);
    return { object, permissions, orphaned: await findMissingParent(scope, reader) };
  }
  // What is a way to another machine is asked for together, and complained about in order.
  const [object, permissions, orphaned, answers] = await Promise.all([
    find(),
    readEntries(),
    findMissingParent(scope, reader),
    Promise.all(expects.map((exists) => askAhead(authorize, exists, reader))),
  ]);
  const answer = answers.find(({ exists }) => exists === (object !== undefined));
  if (answer === undefined) await authorize(object !== undefined, reader);
  else if (answer.refusal !== undefined) throw answer.refusal.error;
  return { object, permissions, orphaned };
}

/**
 * Takes the right to write the list, below an object that stays there.
 *
 * @throws ServiceError missingParent
 */
async function holdAndLock(
  scope: Scope,
  writer: Writer,
  id: string | undefined,
  readsPermissions: boolean,
): Promise<{ readonly state: LockedState; readonly permissions: ObjectPermissions | undefined }> {
  const { kind, list, context } = scope;
  const { hasOneTransaction } = context.unit;
  const [orphaned, state, permissions] = await Promise.all([
    findMissingHeldParent(scope, writer),
    writer.storage.lock(list, id),
    // After the lock, as calls of one transaction take effect in their order.
    readsPermissions && hasOneTransaction
      ? writer.permission.getObjectPermissions(kind.objectUri(context.ids))
      : undefined,
  ]);
  if (orphaned !== undefined) throw orphaned;
  return { state, permissions };
}

/** Whether the write can be done from what is read ahead. A failed precondition of a new object tells the list's clock. */
function mayBeAlone(scope: Scope, { id, action }: Pick<WritePlan<unknown>, 'id' | 'action'>): boolean {
  if (id === undefined && hasPreconditions(scope)) return false;
  return canWriteConditionally(scope, action) && (action === 'delete' || canWriteConditionally(scope, 'create'));
}

function hasPreconditions({ context }: Scope): boolean {
  const { headers } = context.request;
  return headers['if-match'] !== undefined || headers['if-none-match'] !== undefined;
}

interface AccessAnswer {
  readonly exists: boolean;
  readonly refusal: { readonly error: unknown } | undefined;
}

/** The answer that may not be needed: a refusal counts only once it is known that it is about what is there. */
async function askAhead(authorize: Authorize, exists: boolean, reader: Reader): Promise<AccessAnswer> {
  try {
    await authorize(exists, reader);
    return { exists, refusal: undefined };
  } catch (error) {
    return { exists, refusal: { error } };
  }
}
