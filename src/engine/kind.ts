// The declaration of a kind of object: buckets, groups, collections, records and the kinds of plugins. Endpoints,
// permissions, queries, preconditions and deletion are derived from it.
import type { JsonArray, JsonObject } from '../base/json.ts';
import type { Steps } from '../base/steps.ts';
import type { ErrorKey } from '../core/errors.ts';
import type { IdGenerator } from '../core/objects/ids.ts';
import type { PathIds } from '../core/objects/object-id.ts';
import type { StoredObject } from '../core/objects/stored.ts';
import type { GrantingEntry, PermissionDeclaration } from '../core/permissions/inheritance.ts';
import type { ListTraits } from '../core/query/resolve.ts';
import type { Caller } from './caller.ts';
import type { Context } from './context.ts';
import type { Method } from './endpoint.ts';
import type { Change } from './events/event.ts';
import type { ServiceRequest } from './exchange.ts';
import type { Reader, UnitOfWork, Writer } from './unit-of-work.ts';

/** Reports an attribute that is not acceptable; `name` is relative to the attributes (`members.0`). */
export type Complain = (name: string, description: string) => void;

/** Facts about sent attributes besides their values. */
export interface SentAttributes {
  /** Whether the body has `data`. Without it the checked attributes are empty, or those of the stored object. */
  readonly hasData: boolean;
}

/** Attributes that are about to be stored. */
export interface PendingWrite {
  readonly action: 'create' | 'update';
  readonly kind: string;
  readonly id: string;
  readonly ids: PathIds;
  readonly attributes: JsonObject;
  /** The object before; `undefined` when it is being created. */
  readonly old: StoredObject | undefined;
  readonly writer: Viewer;
  readonly unit: UnitOfWork;
  readonly request: ServiceRequest;
}

/** A caller who reads or writes an object. */
export interface Viewer {
  readonly caller: Caller;
  /** Whether the setting `<kind>_write_principals` names the caller, who may then change every object of the kind. */
  readonly isAdministrator: boolean;
}

/** The attributes of a kind, declared by a JSON Schema. */
export interface AttributeDeclaration {
  /**
   * JSON Schema of the attributes, in any draft that collections accept. Values of `default` fill missing properties, also in
   * nested objects. Further attributes are allowed unless the schema forbids them.
   */
  readonly schema: Readonly<Record<string, unknown>>;
  /** What happens to attributes that `properties` does not name; default `keep`. */
  readonly unknown?: 'keep' | 'drop' | 'refuse';
  /**
   * Whether scalar values are converted to the `type` of their property where nothing is lost: `"5"` to 5, `"true"` to true,
   * 5 to `"5"`; default `false`.
   */
  readonly coerce?: boolean;
}

/** A permission that a plugin adds to those a kind declares, such as `publish` on records. */
export interface AddedPermission {
  /** Name of the kind, `record`. */
  readonly kind: string;
  readonly name: string;
  /** Entries any of which grants it, on the object itself or on those in its path. */
  readonly grantedBy: readonly GrantingEntry[];
}

/** A list, or an object, that objects of another kind show. */
export interface ShownPlace {
  readonly kind: string;
  readonly on: 'object' | 'list';
  readonly ids: PathIds;
}

export interface ResourceKind {
  /** `record`; also the name of its id in paths (`record_id`) and of its settings (`record_create_principals`). */
  readonly name: string;
  /** Plural of the name, for the API description; default: the name with an s. */
  readonly plural?: string;
  /** Path of its lists below the version prefix, `/buckets/{bucket_id}/groups`. */
  readonly path: string;
  /**
   * Returns the lists and objects of other kinds that the objects of a list show. Callers have access to it only if the
   * authorization policy, when there is one, confirms `read` on all of them. Default: none.
   */
  readonly shows?: (ids: PathIds, reader: Reader) => AsyncIterable<ShownPlace>;
  /** Methods of its lists; default GET, HEAD, POST and DELETE. */
  readonly listMethods?: readonly Method[];
  /**
   * Whether each object has an address; default `true`. Objects without one appear in lists only, are written by code only,
   * and are left out of the list of permissions.
   */
  readonly hasAddresses?: boolean;
  /**
   * `shareable`: every object carries permissions. `user`: each authenticated caller has a list of their own at the
   * same address, and the permission backend is not involved.
   */
  readonly flavour: 'shareable' | 'user';
  /**
   * Returns the owner of the list that a caller finds at the address; `undefined`: the caller has no list and is refused.
   * Objects in owned lists carry permissions. A list owned by a user id belongs to that user alone, who may read and change
   * all of it. Callers with the same owner, such as the name of their team, share a list, and permissions decide about its
   * objects. For shareable kinds.
   */
  readonly parentOf?: (caller: Caller) => string | undefined;
  /** Kind of the object that must exist for a list to exist; none for kinds at the root. */
  readonly parent?: string;
  /**
   * Folder of the parent that holds its lists, such as `history`; absent: the parent itself. For lists that are written in
   * addition to others below that parent: units of work lock lists in the order of their parents, and so lock these last.
   */
  readonly listFolder?: string;
  /**
   * Declared indexes of each of its lists, in the form of the attribute `indexes` of collections. `parent`: that attribute of
   * the object above declares them. Default: none.
   */
  readonly indexes?: JsonArray | 'parent';
  /** Attributes that queries of its lists treat specially; default none. */
  readonly traits?: ListTraits;
  /**
   * Permissions that an object may store and the entries that grant each. Default for shareable kinds: `read` and `write`,
   * inherited from the objects above, and `<child>:create` for each kind below.
   */
  readonly permissions?: PermissionDeclaration;
  /**
   * Default of the settings `<kind>_<permission>_principals`, by permission (`create`, `read`, `write`). Without it,
   * `system.Authenticated` may create if the kind has `parentOf`, else no principal has a permission.
   */
  readonly defaultPrincipals?: Readonly<Record<string, readonly string[]>>;
  /** Permission that is needed to read a single object; default `read`. */
  readonly readPermission?: string;
  /**
   * Returns the principal that owns an object by its id, regardless of its creator, as with accounts. Only this principal is in the
   * `write` entry. Clients choose the ids; authenticated clients only their own, unless they are administrators, who may
   * also read everything.
   */
  readonly ownerOf?: (id: string) => string;
  /** Error for anonymous callers who read or delete a list; default: the rules decide. */
  readonly anonymousListError?: ErrorKey;
  /** Whether authenticated callers without access to any object of a list get an empty list instead of a refusal. */
  readonly isListOpen?: boolean;
  /** Name of the id generator unless the setting `<kind>_id_generator` says otherwise; default the setting `id_generator`. */
  readonly idGenerator?: string;
  /** An id generator that no setting replaces. */
  readonly customIds?: IdGenerator;
  /** Attributes by a JSON Schema, which checks, completes and describes them. */
  readonly attributes?: AttributeDeclaration;
  /** Whether PUT requires `data` also for an existing object, which otherwise keeps its attributes; default `false`. */
  readonly requiresData?: boolean;
  /**
   * Checks and completes attributes that clients send, after the schema; returns the attributes to store. Work on large
   * attributes is done in steps.
   */
  readonly checkAttributes?: (
    attributes: JsonObject,
    complain: Complain,
    sent: SentAttributes,
  ) => JsonObject | Steps<JsonObject>;
  /**
   * Requires the caller to be the same user as when the request began, under the lock of the list and before any change of it.
   * For kinds that authentication depends on: a request may wait long before it gets the lock.
   *
   * @throws ServiceError missingAuthToken
   */
  readonly confirmCaller?: (caller: Caller, unit: UnitOfWork, writer: Writer) => Promise<void>;
  /**
   * Does slow work on attributes that will probably be written, such as hashing a password, before the list is locked.
   * `beforeWrite` uses the result, but may get other attributes. Both do the work by `UnitOfWork.ahead`: earlier entries of a
   * batch may hold locks.
   */
  readonly prepareWrite?: (write: PendingWrite) => Promise<void>;
  /** Returns the attributes to store, in the transaction; throws to refuse them. */
  readonly beforeWrite?: (write: PendingWrite) => Promise<JsonObject>;
  /**
   * JSON Schema of the known attributes, for API descriptions only. `checkAttributes` decides what is accepted.
   */
  readonly describesAttributes?: JsonObject;
  /** Returns the object as a viewer may see it; default: unchanged. */
  readonly present?: (object: StoredObject, viewer: Viewer) => StoredObject;
  /**
   * Attributes, such as a hashed password, that filters and sorting must not reveal, and that event payloads leave out.
   */
  readonly hiddenFields?: readonly string[];
  /** Writes the consequences of a change in the same transaction, such as memberships and cascades. */
  readonly afterChange?: (change: Change, writer: Writer) => Promise<void>;
  /**
   * Returns the cache lifetime of anonymous responses in seconds. 0 makes them expire at once; `undefined` and negative
   * numbers mean no caching and no further headers. Default: the setting `<kind>_cache_expires_seconds`.
   */
  readonly cacheSeconds?: (context: Context) => Promise<number | undefined>;
}

/**
 * Returns the kinds with the added permissions.
 *
 * @throws Error for a kind that does not exist, carries no permissions, or has that permission already
 */
export function withAddedPermissions(
  kinds: readonly ResourceKind[],
  added: readonly AddedPermission[],
): readonly ResourceKind[] {
  return added.reduce<readonly ResourceKind[]>((known, { kind: name, name: permission, grantedBy }) => {
    const kind = known.find((candidate) => candidate.name === name);
    const own = kind?.permissions;
    if (kind === undefined || own === undefined) {
      throw new Error(`The permission ${permission} is added to ${name}, which is not a kind with permissions.`);
    }
    if (own.names.includes(permission)) throw new Error(`The permission ${permission} of ${name} is declared twice.`);
    const permissions = {
      names: [...own.names, permission],
      granted: { ...own.granted, [permission]: grantedBy },
    };
    return known.map((candidate) => (candidate === kind ? { ...kind, permissions } : candidate));
  }, kinds);
}
