// The declaration every kind of object makes of itself: buckets, groups, collections, records, and whatever plugins
// add. Endpoints, permissions, queries, preconditions and deletion follow from it.
import type { JsonObject } from '../base/json.ts';
import type { Steps } from '../base/steps.ts';
import type { ObjectPermissions } from '../contracts/permission.ts';
import type { ErrorKey } from '../core/errors.ts';
import type { ChangeAction } from '../core/events/payload.ts';
import type { IdGenerator } from '../core/objects/ids.ts';
import type { PathIds } from '../core/objects/object-id.ts';
import type { ListKey, StoredEntry, StoredObject } from '../core/objects/stored.ts';
import type { GrantingEntry, PermissionDeclaration } from '../core/permissions/inheritance.ts';
import type { ListTraits } from '../core/query/resolve.ts';
import type { AttributeDeclaration } from './attributes.ts';
import type { Caller } from './caller.ts';
import type { Context } from './context.ts';
import type { Method } from './endpoint.ts';
import type { UnitOfWork, Writer } from './unit-of-work.ts';

/** Says that an attribute is not acceptable; `name` is relative to the attributes (`members.0`). */
export type Complain = (name: string, description: string) => void;

/** What a request says about attributes besides their values. */
export interface SentAttributes {
  /** Whether the body has `data`. Without it the attributes that are checked are empty, or those of the stored object. */
  readonly hasData: boolean;
}

/** Attributes about to be stored. */
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
  /** As in `ServiceRequest`. */
  readonly clientAddress: string | undefined;
}

/** Somebody who looks at an object, or writes it. */
export interface Viewer {
  readonly caller: Caller;
  /** Whether the setting `<kind>_write_principals` names them, so that every object of the kind is theirs to change. */
  readonly isAdministrator: boolean;
}

/** A change that has been written, inside the transaction. */
export interface Change {
  readonly action: ChangeAction;
  readonly kind: string;
  readonly list: ListKey;
  readonly uri: string;
  /** Ids in the URI of the object, its own included. */
  readonly ids: PathIds;
  readonly old: StoredObject | undefined;
  readonly new: StoredEntry;
  /** Entries on the object after the change; none for user resources and deleted objects. */
  readonly permissions: ObjectPermissions;
  readonly caller: Caller;
  /** Whether the service itself wrote it (`Objects`), and not a client. */
  readonly isByService?: boolean;
  /** URI of the object whose attributes the service has copied; absent for every other write. */
  readonly copiedFrom?: string | undefined;
}

/** A permission that objects of a kind can store beside those it declares itself, such as `publish` on records. */
export interface AddedPermission {
  /** Name of the kind, `record`. */
  readonly kind: string;
  readonly name: string;
  /** Entries any of which grants it, on the object itself or on those in its path. */
  readonly grantedBy: readonly GrantingEntry[];
}

export interface ResourceKind {
  /** `record`; also the name of its id in paths (`record_id`) and of its settings (`record_create_principals`). */
  readonly name: string;
  /** What several are called, for the description of the service; default the name with an s. */
  readonly plural?: string;
  /** Path of its lists below the version prefix, `/buckets/{bucket_id}/groups`. */
  readonly path: string;
  /** What can be done with its lists; default GET, HEAD, POST and DELETE. */
  readonly listMethods?: readonly Method[];
  /**
   * Whether each object has an address; default `true`. Otherwise they are seen in lists only, written by code only, and
   * left out where permissions are listed.
   */
  readonly hasAddresses?: boolean;
  /**
   * `shareable`: every object carries permissions. `user`: each authenticated caller has a list of their own at the
   * same address, and the permission backend is not involved.
   */
  readonly flavour: 'shareable' | 'user';
  /**
   * Returns what the list of a caller is kept under; `undefined`: the caller has no list and is refused. At one address each
   * caller then finds a list of their own, whose objects carry permissions. A list under the user id is that user's alone, who
   * may read and change all of it. Callers for whom it returns the same, such as the name of their team, share a list, and
   * permissions decide about its objects. For shareable kinds.
   */
  readonly parentOf?: (caller: Caller) => string | undefined;
  /** Kind of the object that must exist for a list to exist; none for kinds at the root. */
  readonly parent?: string;
  /**
   * Keeps its lists in a folder of the parent, `history`, and not at the parent itself: for lists that are written in
   * addition to others below that parent. Units of work wait for lists in the order of their parents, and so come to this
   * one last.
   */
  readonly listFolder?: string;
  /** What distinguishes its lists when they are queried; default: nothing is known of the attributes. */
  readonly traits?: ListTraits;
  /**
   * Permission names an object may store and what grants each. Default for shareable kinds: `read` and `write`, inherited from
   * the objects above, and `<child>:create` for each kind below.
   */
  readonly permissions?: PermissionDeclaration;
  /**
   * Principals that have a permission (`create`, `read`, `write`) unless the setting `<kind>_<permission>_principals` says
   * otherwise. Default: `system.Authenticated` may create where `parentOf` gives callers their own lists, else no principal.
   */
  readonly defaultPrincipals?: Readonly<Record<string, readonly string[]>>;
  /** Permission asked on the object for reading it alone; default `read`. */
  readonly readPermission?: string;
  /**
   * The principal that an object belongs to by its id, whoever creates it: accounts. It alone stands in the `write`
   * entry. Clients choose the ids, and authenticated ones only their own unless they are administrators, who may read
   * everything as well.
   */
  readonly ownerOf?: (id: string) => string;
  /** What anonymous callers are told who ask for a list or its deletion; default: the rules decide. */
  readonly anonymousListError?: ErrorKey;
  /** Whether authenticated callers who may see nothing of a list get an empty one instead of a refusal. */
  readonly isListOpen?: boolean;
  /** Name of the id generator unless the setting `<kind>_id_generator` says otherwise; default the setting `id_generator`. */
  readonly idGenerator?: string;
  /** A generator of the kind's own, which no setting replaces. */
  readonly customIds?: IdGenerator;
  /** The attributes by a JSON Schema, which checks and completes them and describes them in the API description. */
  readonly attributes?: AttributeDeclaration;
  /** Whether PUT needs `data` even where the object exists, which else keeps its attributes; default `false`. */
  readonly requiresData?: boolean;
  /**
   * Checks and completes attributes that clients send, after the schema; returns what is stored. Work on large attributes
   * goes in steps.
   */
  readonly checkAttributes?: (
    attributes: JsonObject,
    complain: Complain,
    sent: SentAttributes,
  ) => JsonObject | Steps<JsonObject>;
  /**
   * Slow work on attributes that will probably be written, such as hashing a password, before anybody waits for the
   * list. `beforeWrite` picks up what came out; the attributes it gets may still be others.
   */
  readonly prepareWrite?: (write: PendingWrite) => Promise<void>;
  /** Last word on attributes before they are stored, such as JSON Schema validation; throws to refuse. */
  readonly beforeWrite?: (write: PendingWrite) => Promise<JsonObject>;
  /**
   * JSON Schema of the attributes that the kind knows, for descriptions of the API alone. `checkAttributes` decides what is
   * accepted.
   */
  readonly describesAttributes?: JsonObject;
  /** The object as somebody may see it; default: as it is. */
  readonly present?: (object: StoredObject, viewer: Viewer) => StoredObject;
  /**
   * Attributes, such as a hashed password, that filters and sorting must not find anything out about, and that what
   * leaves the process about events lacks.
   */
  readonly hiddenFields?: readonly string[];
  /** What follows from a change, inside the same transaction: memberships, cascades. */
  readonly afterChange?: (change: Change, writer: Writer) => Promise<void>;
  /**
   * Seconds for which anonymous answers may be cached; 0 makes them expire at once, `undefined` or less leaves them uncached
   * without more headers. Default: the setting `<kind>_cache_expires_seconds`.
   */
  readonly cacheSeconds?: (context: Context) => Promise<number | undefined>;
}

/**
 * The kinds with permissions that others have added to them.
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
      throw new Error(`The permission ${permission} is added to ${name}, which is no kind with permissions.`);
    }
    if (own.names.includes(permission)) throw new Error(`The permission ${permission} of ${name} is declared twice.`);
    const permissions = {
      names: [...own.names, permission],
      granted: { ...own.granted, [permission]: grantedBy },
    };
    return known.map((candidate) => (candidate === kind ? { ...kind, permissions } : candidate));
  }, kinds);
}
