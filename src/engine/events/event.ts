// Events: what happened to the objects of one list in one unit of work. One event for each list and action, however
// many requests of a batch had a part in it.
import type { JsonObject } from '../../base/json.ts';
import type { Action, ChangeAction, PayloadSource } from '../../core/events/payload.ts';
import type { ListKey, StoredEntry } from '../../core/objects/stored.ts';
import type { ServiceRequest, ServiceResponse } from '../exchange.ts';
import type { Change } from '../kind.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

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

/** What a subscriber inside the unit of work may do beside looking. */
export interface EventScope {
  /** Its writes are kept or undone together with what the event is about, and may cause further events. */
  readonly unit: UnitOfWork;
  /** The answer to the outer request; another one may be put in its place. */
  response: ServiceResponse;
}
