// Events: what happened to the objects of one list in one unit of work. One event for each list and action, however
// many requests of a batch had a part in it.
import type { JsonObject } from '../../base/json.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { Action, ChangeAction, PayloadSource } from '../../core/events/payload.ts';
import type { PathIds } from '../../core/objects/object-id.ts';
import type { ListKey, StoredEntry, StoredObject } from '../../core/objects/stored.ts';
import type { Caller } from '../caller.ts';
import type { ServiceRequest } from '../exchange.ts';

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

interface EventOf<A extends Action> extends PayloadSource {
  readonly action: A;
  readonly list: ListKey;
  /** The first request that had a part in it. */
  readonly request: ServiceRequest;
}

/** Objects of a list were created, updated or deleted. */
export interface ChangeEvent extends EventOf<ChangeAction> {
  /** In the order in which they happened; an object changed twice is here twice. */
  readonly changes: readonly Change[];
}

/** Objects of a list were shown to somebody. */
export interface ReadEvent extends EventOf<'read'> {
  readonly entries: readonly StoredEntry[];
}

export type ResourceEvent = ChangeEvent | ReadEvent;

/** Something that a plugin tells of by a name of its own, such as `ReviewRequested`. */
export interface NamedEvent {
  readonly name: string;
  /** What may leave the process. */
  readonly payload: JsonObject;
  /** The changes that it is about. */
  readonly changes: readonly Change[];
  readonly request: ServiceRequest;
}

/** Everything was deleted. */
export interface FlushEvent {
  readonly request: ServiceRequest;
}
