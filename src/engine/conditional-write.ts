// Single-statement writes. Where a request is one write to one object and nothing follows from it, its verb reads and
// decides without locks, and the database writes only if what was read is still there (`Database.writeConditionally`).
// That saves the transaction. If the condition fails, the verb runs again in a transaction. Everything about when and how
// this happens is here; verbs do not know which way their write takes.
import type { ConditionalWrite } from '../contracts/database.ts';
import type { LockedState } from '../contracts/storage.ts';
import type { ServiceResponse } from './exchange.ts';
import type { Above, Scope } from './scope.ts';
import type { Reader, Writer } from './unit-of-work.ts';

/** Where a write goes, as `beginWrite` has decided. */
export interface WriteTarget {
  /** The view that the write is decided on. */
  readonly reader: Reader;
  /** The transaction, with the list locked; `undefined`: the write becomes a single statement. */
  readonly writer: Writer | undefined;
  /** The object above the list. */
  readonly above: Above;
}

/** Signals that the state a verb has read without locks is not the one to decide on. Nothing was written. */
export class StaleState extends Error {}

/** Runs a verb, and again in a transaction if the state that it has read turns out to be stale. */
export async function runVerb(
  verb: (scope: Scope) => Promise<ServiceResponse>,
  opening: Promise<Scope>,
): Promise<ServiceResponse> {
  const scope = await opening;
  try {
    return await verb(scope);
  } catch (error) {
    if (!(error instanceof StaleState)) throw error;
    return verb({ ...scope, isOnlyOperation: false });
  }
}

/**
 * Returns whether the write of a request may be a single statement: the request does nothing else, no hook of the kind and
 * no subscriber depends on the write, and no precondition needs the timestamp of the list.
 *
 * @param id of the object; `undefined` for a new one whose id the service generates
 * @param action on an existing object
 */
export function mayWriteConditionally(
  scope: Scope,
  { id, action }: { readonly id: string | undefined; readonly action: 'update' | 'delete' },
): boolean {
  const { kind, context, list, isOnlyOperation = false } = scope;
  const { unit } = context;
  const { afterChange, confirmCaller } = kind.declaration;
  if (!isOnlyOperation || !unit.canWriteConditionally(list)) return false;
  if (afterChange !== undefined || confirmCaller !== undefined) return false;
  if (unit.hasSubscribers(kind.name, action) || (action === 'update' && unit.hasSubscribers(kind.name, 'create')))
    return false;
  return id !== undefined || !needsListTimestamp(scope, false);
}

/** Returns whether a failed precondition would report the timestamp of the list: only where the object does not exist. */
export function needsListTimestamp({ context }: Scope, exists: boolean): boolean {
  const { headers } = context.request;
  return !exists && (headers['if-match'] !== undefined || headers['if-none-match'] !== undefined);
}

/**
 * Returns the timestamp of the list, which only a locked list has.
 *
 * @throws StaleState where the list is not locked
 */
export function lockedTimestamp(target: WriteTarget & { readonly state: LockedState }): number | undefined {
  if (target.writer === undefined) throw new StaleState();
  return target.state.timestamp;
}

/**
 * Writes one object, and the entries of a new one, in a single statement; returns the timestamp of the write.
 *
 * @throws StaleState when the object or the one above it has changed since it was read, or the write changes entries of an
 *   existing object, whose condition does not cover them
 */
export async function writeConditionally(
  { kind, context, list }: Scope<unknown>,
  above: Above,
  { id, expected, isFresh = false, text, lastModified, keys, uri, entries }: Omit<ConditionalWrite, 'list' | 'holder'>,
): Promise<number> {
  if (expected !== undefined && Object.keys(entries).length > 0) throw new StaleState();
  const { unit, ids, caller } = context;
  const { parent } = kind;
  // With another version of the object above, the list may have other indexes.
  const version = kind.indexes === 'parent' && text !== undefined ? above.object?.lastModified : undefined;
  const holder =
    parent === undefined
      ? undefined
      : { list: parent.listKey(ids, caller), id: ids[parent.idName]!, lastModified: version };
  // Written out, because a spread that adds keys takes many times longer.
  const write = { list, holder, id, expected, isFresh, text, lastModified, keys, uri, entries };
  const timestamp = await unit.writeConditionally(write);
  if (timestamp === undefined) throw new StaleState();
  return timestamp;
}
