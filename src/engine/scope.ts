// The scope of one operation on a resource: the kind, the request, and the options of the service; with the checks that
// verbs share.
import type { Principal } from '../core/permissions/principals.ts';
import type { ListIndex } from '../core/query/ast.ts';
import { abbreviateJson } from '../base/abbreviate.ts';
import type { Clock } from '../base/clock.ts';
import type { JsonValue } from '../base/json.ts';
import { ReadonlyError } from '../contracts/errors.ts';
import type { SecurityState } from '../contracts/security-state.ts';
import { invalidParameters, notFound, type Issue, type ServiceError } from '../core/errors.ts';
import type { IdRule, ObjectId, PathIds } from '../core/objects/object-id.ts';
import type { ListKey, StoredObject } from '../core/objects/stored.ts';
import type { ListParameters } from '../core/query/parameters.ts';
import type { SelectorLimits } from '../core/query/selector.ts';
import type { ListAccess } from './access.ts';
import { completeCaller } from './caller.ts';
import type { ServiceResponse } from './exchange.ts';
import type { CompiledKind } from './compiled-kind.ts';
import type { CompleteLists } from './complete-lists.ts';
import type { Context } from './context.ts';
import { withOwners } from './owned-lists.ts';
import { roomFor } from './stored-work.ts';
import type { Reader, Writer } from './unit-of-work.ts';

/** Options that writes depend on. */
export interface WriteOptions {
  /** Whether the caller is added to the `write` entry of objects that they create or change. */
  readonly explicitPermissions: boolean;
  /** Maximum number of principals per permission of an object; 0 means unlimited. */
  readonly maxPrincipals: number;
  /** Maximum length of the attributes of an object as JSON, in characters. */
  readonly maxObjectChars: number;
  /** Returns whether a principal has the form of a group URI with ids that no group can have. */
  readonly isImpossibleGroup: (principal: Principal) => boolean;
  /** Maximum number of JSON values in an object after a change, as `countValues` counts them. */
  readonly maxObjectValues: number;
  readonly clock: Clock;
}

export interface EngineOptions extends WriteOptions {
  readonly isReadonly: boolean;
  /** Maximum size of the objects on a page of a list, in bytes. */
  readonly maxPageBytes: number;
  /** Maximum size of the objects in a response without pages, in bytes. */
  readonly maxAnswerBytes: number;
  /** Default and maximum page size; `undefined`: only `maxFetchSize` limits a page. */
  readonly paginateBy: number | undefined;
  readonly maxFetchSize: number;
  readonly maxFilters: number;
  readonly selectors: SelectorLimits;
  /** Maximum length of a text query, in characters. */
  readonly maxSearchChars: number;
  /** Maximum work of a query, in millions. */
  readonly maxQueryWork: number;
  /** Whether the storage finds objects by words. */
  readonly searchesText: boolean;
  /** Whether lists respond 410 to `_since` older than the horizon. */
  readonly refusesOutdatedSince: boolean;
  /** Key that signs page tokens; `undefined`: tokens are not signed. */
  readonly tokenKey: Buffer | undefined;
  readonly tokenValiditySeconds: number;
  /** Link shown when a deprecated parameter is used. */
  readonly documentationUrl: string;
  /** `/v1` */
  readonly versionPrefix: string;
  readonly securityState: SecurityState;
  /** Serves live updates of lists; absent: there are none. */
  readonly live?: LiveLists | undefined;
  /** Makes declared indexes complete; absent: they stay as they are. */
  readonly indexing?: Indexing | undefined;
  /** Returns the requester whose share of the security state counts for a client address. */
  readonly requesterOf: (address: string | undefined) => string | undefined;
}

/** What makes declared indexes complete. */
export interface Indexing {
  /** Lists whose declared indexes were all complete a moment ago. */
  readonly complete: CompleteLists;
  /** Looks after the indexes of a list in the background. */
  wake(list: ListKey): void;
  /** Notes that a query uses indexes of a list. */
  used(list: ListKey, indexes: readonly ListIndex[], now: number): void;
}

/** Serves live updates of lists. */
export interface LiveLists {
  /**
   * Responds with a stream of the changes of the list.
   *
   * @param access of the caller to the list, which was just checked
   * @throws ServiceError invalidParameters, changesForgotten, overloaded
   */
  follow(scope: Scope, access: ListAccess, parameters: ListParameters): Promise<ServiceResponse>;

  /**
   * Responds with the page as soon as it has entries, or when the time to wait is over.
   *
   * @param page read just now, without entries
   * @param read reads the page again
   * @throws ServiceError overloaded
   */
  wait(
    scope: Scope,
    parameters: ListParameters,
    page: ServiceResponse,
    read: (scope: Scope) => Promise<ServiceResponse>,
  ): ServiceResponse;
}

/** @typeParam Options what the operation needs of the options; `unknown`: nothing */
export interface Scope<Options = EngineOptions> {
  readonly kind: CompiledKind;
  readonly options: Options;
  readonly context: Context;
  readonly list: ListKey;
  /** Whether the service itself writes, not a client; default `false`. */
  readonly isByService?: boolean;
  /** Whether the request consists of this operation alone, so that its write may commit by itself; default `false`. */
  readonly isOnlyOperation?: boolean;
}

/**
 * Opens the scope of a request to an address of a kind. If settings name administrators of the kind, the groups of the
 * caller are looked up.
 */
export async function openScope<Options>(
  kind: CompiledKind,
  options: Options,
  given: Context,
  more: Pick<Scope, 'isByService' | 'isOnlyOperation'> = {},
): Promise<Scope<Options>> {
  const context = inOwnLists(kind, given);
  const { ids, caller } = context;
  const list = kind.listKey(ids, caller);
  const { isByService = false, isOnlyOperation = false } = more;
  if (caller.memberOf === undefined || kind.rules.writeList.principals.size === 0)
    return { kind, options, context, list, isByService, isOnlyOperation };
  const completed = { ...context, caller: await completeCaller(caller) };
  return { kind, options, context: completed, list, isByService, isOnlyOperation };
}

/** Returns the context with the owners of the owned lists in its path. */
export function inOwnLists(kind: CompiledKind, context: Context): Context {
  if (kind.owned.length === 0) return context;
  return { ...context, ids: withOwners(kind.owned, context.ids, context.caller) };
}

/**
 * Reports the faults of the request found so far.
 *
 * @throws ServiceError invalidParameters if there are any
 */
export function requireNoIssues({ context }: Scope<unknown>): void {
  if (context.issues.length > 0) throw invalidParameters(context.issues);
}

/** Returns the ids in the path with the id of an object of the kind. */
export function idsWith({ kind, context }: Pick<Scope, 'kind' | 'context'>, id: ObjectId): PathIds {
  const { ids } = context;
  if (ids[kind.idName] === id) return ids;
  // A spread takes many times longer, and every write comes through here.
  const others: Record<string, ObjectId> = Object.assign({}, ids);
  others[kind.idName] = id;
  return others;
}

/** Returns the id of the object in the path. */
export function objectId({ kind, context }: Scope<unknown>): ObjectId {
  return context.ids[kind.idName]!;
}

/** The object above a list: absent for lists at the root; `missing` is the error when it does not exist. */
export interface Above {
  readonly object?: StoredObject;
  readonly missing?: ServiceError;
}

/** Finds the object above a list, for callers with errors to report before a missing one. */
export function findAbove(scope: Scope<unknown>, reader: Reader): Promise<Above> {
  return lookAbove(scope, (list, id) => reader.storage.get(list, id, roomFor(scope.context, 'show')));
}

/** Finds the object above a list, and keeps it from being deleted until the commit. */
export function holdAbove(scope: Scope<unknown>, writer: Writer): Promise<Above> {
  // Lists of users have no object above.
  const below = scope.kind.isShareable ? scope.list : undefined;
  return lookAbove(scope, (list, id) => writer.storage.lockShared(list, id, below));
}

const atRoot: Above = {};

async function lookAbove(
  { kind, context }: Scope<unknown>,
  find: (list: ListKey, id: string) => Promise<StoredObject | undefined>,
): Promise<Above> {
  const { parent } = kind;
  if (parent === undefined) return atRoot;
  const id = context.ids[parent.idName]!;
  const object = await find(parent.listKey(context.ids, context.caller), id);
  return object === undefined ? { missing: notFound('missingParent', parent.name, id) } : { object };
}

/** Creates the error for an object that does not exist. */
export function missingObject({ kind }: Scope<unknown>, id: string): ServiceError {
  return notFound('missingObject', kind.name, id);
}

/** Creates the issue for an id that its kind does not accept. */
export function refusedId(location: 'path' | 'body', id: JsonValue, { form }: Pick<IdRule, 'form'>): Issue {
  return { location, name: null, description: `the id ${abbreviateJson(id, 0)} is not allowed. Allowed: ${form}` };
}

/**
 * Returns the timestamp of the list. A list without one gets it now.
 *
 * @throws ReadonlyError when the service is read-only and the timestamp would be written to a durable storage
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
