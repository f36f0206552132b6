// What one resource operation works on: the kind, the request, and the options of the service. With the few checks
// that every verb shares.
import type { Clock } from '../base/clock.ts';
import { ReadonlyError } from '../contracts/errors.ts';
import type { SecurityState } from '../contracts/security-state.ts';
import { invalidParameters, notFound, type ServiceError } from '../core/errors.ts';
import type { ObjectId, PathIds } from '../core/objects/object-id.ts';
import type { ListKey, StoredObject } from '../core/objects/stored.ts';
import { completeCaller } from './caller.ts';
import type { CompiledKind } from './compiled-kind.ts';
import type { Context } from './context.ts';
import { withOwners } from './owned-lists.ts';
import type { Reader, Writer } from './unit-of-work.ts';

export interface EngineOptions {
  /** Whether whoever creates or changes an object is added to its `write` entry. */
  readonly explicitPermissions: boolean;
  readonly isReadonly: boolean;
  /** Most principals that a permission of an object may name; 0: no limit. */
  readonly maxPrincipals: number;
  /** Longest JSON text that the attributes of an object may have. */
  readonly maxObjectChars: number;
  /** Whether a principal has the form of a group's URI, with ids that no group can have. */
  readonly isImpossibleGroup: (principal: string) => boolean;
  /** Bytes that the objects on a page of a list may have together. */
  readonly maxPageBytes: number;
  /** Bytes that the objects in an answer without pages may have together. */
  readonly maxAnswerBytes: number;
  /** JSON values that an object may have after a change, as `countValues` counts them. */
  readonly maxObjectValues: number;
  /** Page size and its maximum; `undefined`: `maxFetchSize` alone bounds a page. */
  readonly paginateBy: number | undefined;
  readonly maxFetchSize: number;
  readonly maxFilters: number;
  /** Whether lists refuse to tell what changed since a moment when deletions since then were forgotten. */
  readonly refusesOutdatedSince: boolean;
  /** Key that page tokens are signed with; `undefined`: they are not. */
  readonly tokenKey: Buffer | undefined;
  readonly tokenValiditySeconds: number;
  /** Link shown when a deprecated parameter is used. */
  readonly documentationUrl: string;
  /** `/v1` */
  readonly versionPrefix: string;
  readonly securityState: SecurityState;
  /** Whose share of the security state a request from this address uses up. */
  readonly requesterOf: (address: string | undefined) => string | undefined;
  readonly clock: Clock;
}

export interface Scope {
  readonly kind: CompiledKind;
  readonly options: EngineOptions;
  readonly context: Context;
  readonly list: ListKey;
  /** Whether the service itself writes, and not a client. */
  readonly isByService?: boolean;
  /** Whether the request does nothing beside what it asks of this object. */
  readonly isOnlyWrite?: boolean;
}

/**
 * What a request to an address of the kind is about. Where settings name administrators of the kind, all principals of the
 * caller are known from here on.
 */
export async function openScope(
  kind: CompiledKind,
  options: EngineOptions,
  given: Context,
  more: Pick<Scope, 'isByService' | 'isOnlyWrite'> = {},
): Promise<Scope> {
  const context = inOwnLists(kind, given);
  const { ids, caller } = context;
  const list = kind.listKey(ids, caller);
  const { isByService = false, isOnlyWrite = false } = more;
  if (caller.memberOf === undefined || kind.rules.writeList.principals.size === 0)
    return { kind, options, context, list, isByService, isOnlyWrite };
  const completed = { ...context, caller: await completeCaller(caller) };
  return { kind, options, context: completed, list, isByService, isOnlyWrite };
}

/** Returns the context with the owners of the lists in its path, where lists of the kind belong to callers. */
export function inOwnLists(kind: CompiledKind, context: Context): Context {
  if (kind.owned.length === 0) return context;
  return { ...context, ids: withOwners(kind.owned, context.ids, context.caller) };
}

/** Throws everything found wrong with the request so far, if anything. */
export function requireNoIssues({ context }: Scope): void {
  if (context.issues.length > 0) throw invalidParameters(context.issues);
}

/** The ids in the path, with that of an object of the kind. */
export function idsWith({ kind, context }: Pick<Scope, 'kind' | 'context'>, id: ObjectId): PathIds {
  const { ids } = context;
  if (ids[kind.idName] === id) return ids;
  // Spreads take many times longer, and every write asks.
  const others: Record<string, ObjectId> = Object.assign({}, ids);
  others[kind.idName] = id;
  return others;
}

/** The id of the object in the path. */
export function objectId({ kind, context }: Scope): ObjectId {
  return context.ids[kind.idName]!;
}

/**
 * Requires the object above a list to exist.
 *
 * @throws ServiceError missingParent
 */
export async function requireParent(scope: Scope, reader: Reader): Promise<void> {
  const complaint = await findMissingParent(scope, reader);
  if (complaint !== undefined) throw complaint;
}

/**
 * The same for a write, below an object that must not be deleted meanwhile.
 *
 * @throws ServiceError missingParent
 */
export async function holdParent(scope: Scope, writer: Writer): Promise<void> {
  const complaint = await findMissingHeldParent(scope, writer);
  if (complaint !== undefined) throw complaint;
}

/** What is wrong when the object above a list does not exist, for those who have to say something else first. */
export function findMissingParent(scope: Scope, reader: Reader): Promise<ServiceError | undefined> {
  return checkParent(scope, (list, id) => reader.storage.get(list, id));
}

/** The same for a write. */
export function findMissingHeldParent(scope: Scope, writer: Writer): Promise<ServiceError | undefined> {
  // Lists of users lie below no other object.
  const below = scope.kind.isShareable ? scope.list : undefined;
  return checkParent(scope, (list, id) => writer.storage.lockShared(list, id, below));
}

async function checkParent(
  { kind, context }: Scope,
  find: (list: ListKey, id: string) => Promise<StoredObject | undefined>,
): Promise<ServiceError | undefined> {
  const { parent } = kind;
  if (parent === undefined) return undefined;
  const id = context.ids[parent.idName]!;
  if ((await find(parent.listKey(context.ids, context.caller), id)) !== undefined) return undefined;
  return notFound('missingParent', parent.name, id);
}

/** The error for an object that is not there. */
export function missingObject({ kind }: Scope, id: string): ServiceError {
  return notFound('missingObject', kind.name, id);
}

/**
 * The clock of the list; a list never touched before gets one.
 *
 * @throws ReadonlyError when it would have to be written to a storage shared with others in read-only mode
 */
export async function requireTimestamp({ list, context, options }: Scope): Promise<number> {
  const known = await context.unit.reader.storage.resourceTimestamp(list);
  if (known !== undefined) return known;
  if (options.isReadonly && !context.unit.isPrivate) {
    throw new ReadonlyError(
      'The timestamp of this list cannot be written in read-only mode: read the list once from a writable instance.',
    );
  }
  const writer = await context.unit.writer();
  return writer.storage.touch(list);
}
