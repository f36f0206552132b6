// Events: the changes and reads in one list in one unit of work. All entries of a batch share one event per list and
// action.
import type { JsonObject } from '../../base/json.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { Action, ChangeAction, PayloadSource } from '../../core/events/payload.ts';
import type { PathIds } from '../../core/objects/object-id.ts';
import type { ListKey, StoredEntry, StoredObject } from '../../core/objects/stored.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Caller } from '../caller.ts';
import type { ServiceRequest } from '../exchange.ts';

/** A change that was written in the open transaction. */
export interface Change {
  readonly action: ChangeAction;
  readonly kind: string;
  readonly list: ListKey;
  readonly uri: ObjectUri;
  /** Ids in the URI of the object, including its own. */
  readonly ids: PathIds;
  readonly old: StoredObject | undefined;
  readonly new: StoredEntry;
  /** Entries of the object after the change; none for user resources and deleted objects. */
  readonly permissions: ObjectPermissions;
  readonly caller: Caller;
  /** Whether the service itself wrote it (`Objects`), not a client; default `false`. */
  readonly isByService?: boolean;
  /** URI of the object whose attributes the service has copied; absent for other writes. */
  readonly copiedFrom?: string | undefined;
}

interface EventOf<A extends Action> extends PayloadSource {
  readonly action: A;
  readonly list: ListKey;
  /** The first request that contributed to it. */
  readonly request: ServiceRequest;
}

/** Objects of a list were created, updated or deleted. */
export interface ChangeEvent extends EventOf<ChangeAction> {
  /** Changes in order; one for each change of an object. */
  readonly changes: readonly Change[];
}

/** Objects of a list were read. */
export interface ReadEvent extends EventOf<'read'> {
  readonly entries: readonly StoredEntry[];
}

export type ResourceEvent = ChangeEvent | ReadEvent;

/** An event of a plugin, by a name of its own, such as `ReviewRequested`. */
export interface NamedEvent {
  readonly name: string;
  /** Payload that may leave the process. */
  readonly payload: JsonObject;
  /** The changes that caused it. */
  readonly changes: readonly Change[];
  readonly request: ServiceRequest;
}

/** Everything was deleted. */
export interface FlushEvent {
  readonly request: ServiceRequest;
}
