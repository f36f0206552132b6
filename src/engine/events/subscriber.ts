// Subscribers to events, and the table that calls the subscribers of an event.
import { actions as allActions, type Action } from '../../core/events/payload.ts';
import type { ServiceResponse } from '../exchange.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import type { Change, ChangeEvent, FlushEvent, NamedEvent, ReadEvent, ResourceEvent } from './event.ts';

/** What a subscriber inside the unit of work may use besides the event. */
export interface EventScope {
  /** Its writes are committed or undone together with the event, and may cause further events. */
  readonly unit: UnitOfWork;
  /** The response to the outer request, which a subscriber may replace. */
  response: ServiceResponse;
}

interface SubscriberOn<Moment extends string, Parameters extends readonly unknown[]> {
  /** Name in logs and metrics. */
  readonly name: string;
  readonly on: Moment;
  readonly handle: (...parameters: Parameters) => void | Promise<void>;
}

interface ResourceFilters {
  /** Absent: all actions that the event can have. */
  readonly actions?: readonly Action[];
  /** Names of kinds, such as `record`; absent: all. */
  readonly kinds?: readonly string[];
  /**
   * Whether the subscriber may read the attributes before an update (`old` of a change); default `true`. If no subscriber
   * does, they need not be read from the database.
   */
  readonly readsReplaced?: boolean;
}

interface NamedFilters {
  /** Names of the events; absent: all. */
  readonly events?: readonly string[];
}

/** Called inside the transaction, before it is committed. Throwing undoes the whole request. */
type ChangeSubscriber = ResourceFilters & SubscriberOn<'ResourceChanged', [event: ChangeEvent, scope: EventScope]>;

/** Called like `ResourceChanged`. */
type ReadSubscriber = ResourceFilters & SubscriberOn<'ResourceRead', [event: ReadEvent, scope: EventScope]>;

/**
 * Called inside the transaction after all events of the request, once, with all of its changes in order, in any list. For
 * subscribers that write a summary once.
 */
type RequestSubscriber = ResourceFilters &
  SubscriberOn<'RequestChanged', [changes: readonly Change[], scope: EventScope]>;

/**
 * Called inside the transaction with a deleted object while the objects below it still exist. The events contain the same
 * change later. Throwing undoes the whole request.
 */
type DeletionSubscriber = ResourceFilters & SubscriberOn<'ResourceDeleting', [change: Change, unit: UnitOfWork]>;

/** Called after the commit. Errors are logged and have no other effect. */
type AfterChangeSubscriber = ResourceFilters & SubscriberOn<'AfterResourceChanged', [event: ChangeEvent]>;

/** Called after the commit. Errors are logged and have no other effect. */
type AfterReadSubscriber = ResourceFilters & SubscriberOn<'AfterResourceRead', [event: ReadEvent]>;

/**
 * Called inside the transaction, after all events of the request, with an object of one of the kinds that the service has
 * copied (`Change.copiedFrom`). The object may have been changed or deleted since.
 */
type CopySubscriber = Required<Pick<ResourceFilters, 'kinds'>> &
  SubscriberOn<'ObjectCopied', [change: Change, scope: EventScope]>;

/** Called before everything is deleted. */
type BeforeFlushSubscriber = SubscriberOn<'BeforeServerFlushed', [event: FlushEvent, unit: UnitOfWork]>;

/** Called inside the transaction after everything was deleted. */
type FlushSubscriber = SubscriberOn<'ServerFlushed', [event: FlushEvent, scope: EventScope]>;

/** Called inside the transaction. Throwing undoes the whole request. */
type NamedSubscriber = NamedFilters & SubscriberOn<'NamedEvent', [event: NamedEvent, scope: EventScope]>;

/** Called after the commit. Errors are logged and have no other effect. */
type AfterNamedSubscriber = NamedFilters & SubscriberOn<'AfterNamedEvent', [event: NamedEvent]>;

/** Subscribers to changes and reads. */
type ResourceSubscriber =
  | ChangeSubscriber
  | ReadSubscriber
  | RequestSubscriber
  | DeletionSubscriber
  | AfterChangeSubscriber
  | AfterReadSubscriber;

export type Subscriber =
  | ResourceSubscriber
  | CopySubscriber
  | BeforeFlushSubscriber
  | FlushSubscriber
  | NamedSubscriber
  | AfterNamedSubscriber;

/** A call of a subscriber with one event, after the commit. */
export interface AfterCall {
  readonly name: string;
  readonly handle: () => void | Promise<void>;
}

/** All subscribers of the service. Calls are made in the order of registration. */
export class Subscribers {
  static readonly none: Subscribers = new Subscribers([]);

  readonly #all: readonly Subscriber[];
  /** For each action, the kinds that any subscriber wants, or `all`. */
  readonly #wanted: ReadonlyMap<Action, ReadonlySet<string> | 'all'>;
  /** The kinds of which any subscriber may read replaced attributes, or `all`. */
  readonly #readingReplaced: ReadonlySet<string> | 'all';

  constructor(all: readonly Subscriber[]) {
    this.#all = all;
    this.#wanted = new Map(allActions.map((action) => [action, wantedKinds(all, action)]));
    const reading = all.filter((subscriber) => !isResourceSubscriber(subscriber) || subscriber.readsReplaced !== false);
    this.#readingReplaced = wantedKinds(reading, 'update');
  }

  /** Returns whether any subscriber wants an event. Every request calls it, and creates no event without subscribers. */
  wants(kind: string, action: Action): boolean {
    const kinds = this.#wanted.get(action)!;
    return kinds === 'all' || kinds.has(kind);
  }

  /** Returns whether a subscriber may read the attributes that an update of an object of the kind replaces. */
  readReplaced(kind: string): boolean {
    return this.#readingReplaced === 'all' || this.#readingReplaced.has(kind);
  }

  /** Returns whether a subscriber to `RequestChanged` wants such changes. */
  collects(kind: string, action: Action): boolean {
    return this.#all.some((subscriber) => subscriber.on === 'RequestChanged' && isWantedBy(subscriber, kind, action));
  }

  /** Returns whether a subscriber wants copied objects of a kind. */
  wantsCopies(kind: string): boolean {
    return this.#all.some((subscriber) => subscriber.on === 'ObjectCopied' && subscriber.kinds.includes(kind));
  }

  /** Returns whether a subscriber wants events of this name. */
  wantsNamed(name: string): boolean {
    return this.#all.some((subscriber) => isNamedWantedBy(subscriber, name));
  }

  /** Calls the subscribers to a change or a read before the commit. */
  async deliver(event: ResourceEvent, scope: EventScope): Promise<void> {
    for (const subscriber of this.#all) {
      if (!isWantedBy(subscriber, event.kind, event.action)) continue;
      if (event.action === 'read') {
        if (subscriber.on === 'ResourceRead') await subscriber.handle(event, scope);
      } else if (subscriber.on === 'ResourceChanged') await subscriber.handle(event, scope);
    }
  }

  /** Calls the subscribers to all changes of a request before the commit. */
  async deliverAll(changes: readonly Change[], scope: EventScope): Promise<void> {
    for (const subscriber of this.#all) {
      if (subscriber.on !== 'RequestChanged') continue;
      const wanted = changes.filter(({ kind, action }) => isWantedBy(subscriber, kind, action));
      if (wanted.length > 0) await subscriber.handle(wanted, scope);
    }
  }

  /** Calls the subscribers to an object that the service has copied, before the commit. */
  async deliverCopy(change: Change, scope: EventScope): Promise<void> {
    for (const subscriber of this.#all) {
      if (subscriber.on === 'ObjectCopied' && subscriber.kinds.includes(change.kind)) {
        await subscriber.handle(change, scope);
      }
    }
  }

  /** Calls the subscribers to the event of a plugin before the commit. */
  async deliverNamed(event: NamedEvent, scope: EventScope): Promise<void> {
    for (const subscriber of this.#all) {
      if (subscriber.on === 'NamedEvent' && isNamedWantedBy(subscriber, event.name)) {
        await subscriber.handle(event, scope);
      }
    }
  }

  /** Calls the subscribers before the commit after everything was deleted. */
  async deliverFlush(event: FlushEvent, scope: EventScope): Promise<void> {
    for (const subscriber of this.#all) if (subscriber.on === 'ServerFlushed') await subscriber.handle(event, scope);
  }

  /** Calls the subscribers before everything is deleted. */
  async beforeFlush(event: FlushEvent, unit: UnitOfWork): Promise<void> {
    for (const subscriber of this.#all) {
      if (subscriber.on === 'BeforeServerFlushed') await subscriber.handle(event, unit);
    }
  }

  /** Calls the subscribers to a deletion before the objects below are deleted. */
  async beforeCascade(change: Change, unit: UnitOfWork): Promise<void> {
    for (const subscriber of this.#all) {
      if (subscriber.on !== 'ResourceDeleting' || !isWantedBy(subscriber, change.kind, change.action)) continue;
      await subscriber.handle(change, unit);
    }
  }

  /** Returns the calls to make for a change or a read after the commit. */
  after(event: ResourceEvent): readonly AfterCall[] {
    return this.#all.flatMap((subscriber): AfterCall[] => {
      if (!isWantedBy(subscriber, event.kind, event.action)) return [];
      const { name } = subscriber;
      if (event.action === 'read') {
        return subscriber.on === 'AfterResourceRead' ? [{ name, handle: () => subscriber.handle(event) }] : [];
      }
      return subscriber.on === 'AfterResourceChanged' ? [{ name, handle: () => subscriber.handle(event) }] : [];
    });
  }

  /** Returns the calls to make for the event of a plugin after the commit. */
  afterNamed(event: NamedEvent): readonly AfterCall[] {
    return this.#all.flatMap((subscriber) =>
      subscriber.on === 'AfterNamedEvent' && isNamedWantedBy(subscriber, event.name)
        ? [{ name: subscriber.name, handle: () => subscriber.handle(event) }]
        : [],
    );
  }
}

const changeActions: readonly Action[] = ['create', 'update', 'delete'];

/** The actions of the events at each moment. Other moments have no actions. */
const actionsOf: Readonly<Record<ResourceSubscriber['on'], readonly Action[]>> = {
  ResourceChanged: changeActions,
  RequestChanged: changeActions,
  AfterResourceChanged: changeActions,
  ResourceDeleting: ['delete'],
  ResourceRead: ['read'],
  AfterResourceRead: ['read'],
};

function isResourceSubscriber(subscriber: Subscriber): subscriber is ResourceSubscriber {
  return Object.hasOwn(actionsOf, subscriber.on);
}

function isNamedWantedBy(subscriber: Subscriber, name: string): boolean {
  if (subscriber.on !== 'NamedEvent' && subscriber.on !== 'AfterNamedEvent') return false;
  return subscriber.events?.includes(name) !== false;
}

function isWantedBy(subscriber: Subscriber, kind: string, action: Action): boolean {
  return wantsAction(subscriber, action) && subscriber.kinds?.includes(kind) !== false;
}

function wantsAction(subscriber: Subscriber, action: Action): subscriber is ResourceSubscriber {
  if (!isResourceSubscriber(subscriber) || !actionsOf[subscriber.on].includes(action)) return false;
  return subscriber.actions?.includes(action) !== false;
}

function wantedKinds(all: readonly Subscriber[], action: Action): ReadonlySet<string> | 'all' {
  const subscribers = all.filter((subscriber) => wantsAction(subscriber, action));
  const kinds = subscribers.map(({ kinds: wanted }) => wanted);
  return kinds.includes(undefined) ? 'all' : new Set(kinds.flatMap((wanted) => wanted ?? []));
}
