// Subscribers to events, and the table that finds the subscribers of an event.
import { actions as allActions, type Action } from '../../core/events/payload.ts';
import type { Change, ChangeEvent, FlushEvent, NamedEvent, ReadEvent, ResourceEvent } from './event.ts';
import type { ServiceResponse } from '../exchange.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** What a subscriber inside the unit of work may use besides the event. */
export interface EventScope {
  /** Its writes are committed or undone together with the event, and may cause further events. */
  readonly unit: UnitOfWork;
  /** The response to the outer request, which a subscriber may replace. */
  response: ServiceResponse;
}

interface Filters {
  /** Name in logs and metrics. */
  readonly name: string;
  /** Absent: all actions that the event can have. */
  readonly actions?: readonly Action[];
  /** Names of kinds, such as `record`; absent: all. */
  readonly kinds?: readonly string[];
}

interface ChangeSubscriber extends Filters {
  /** Called inside the transaction, before it is committed. Throwing undoes the whole request. */
  readonly on: 'ResourceChanged';
  readonly handle: (event: ChangeEvent, scope: EventScope) => void | Promise<void>;
}

interface RequestSubscriber extends Filters {
  /**
   * Called inside the transaction after all events of the request, once, with all of its changes in order, in any list. For
   * subscribers that write a summary once.
   */
  readonly on: 'RequestChanged';
  readonly handle: (changes: readonly Change[], scope: EventScope) => void | Promise<void>;
}

interface CopySubscriber {
  readonly name: string;
  /**
   * Called inside the transaction, after all events of the request, with an object that the service has copied
   * (`Change.copiedFrom`). The object may have been changed or deleted since.
   */
  readonly on: 'ObjectCopied';
  /** Names of kinds, such as `record`. */
  readonly kinds: readonly string[];
  readonly handle: (change: Change, scope: EventScope) => void | Promise<void>;
}

interface DeletionSubscriber extends Filters {
  /**
   * Called inside the transaction with a deleted object while the objects below it still exist. The events contain the same
   * change later. Throwing undoes the whole request.
   */
  readonly on: 'ResourceDeleting';
  readonly handle: (change: Change, unit: UnitOfWork) => void | Promise<void>;
}

interface ReadSubscriber extends Filters {
  readonly on: 'ResourceRead';
  readonly handle: (event: ReadEvent, scope: EventScope) => void | Promise<void>;
}

interface AfterChangeSubscriber extends Filters {
  /** Called after the commit. Errors are logged and have no other effect. */
  readonly on: 'AfterResourceChanged';
  readonly handle: (event: ChangeEvent) => void | Promise<void>;
}

interface AfterReadSubscriber extends Filters {
  readonly on: 'AfterResourceRead';
  readonly handle: (event: ReadEvent) => void | Promise<void>;
}

interface FlushSubscriber {
  readonly name: string;
  readonly on: 'ServerFlushed';
  readonly handle: (event: FlushEvent, scope: EventScope) => void | Promise<void>;
}

interface NamedSubscriber {
  readonly name: string;
  /** Called inside the transaction. Throwing undoes the whole request. */
  readonly on: 'NamedEvent';
  /** Names of the events; absent: all. */
  readonly events?: readonly string[];
  readonly handle: (event: NamedEvent, scope: EventScope) => void | Promise<void>;
}

interface AfterNamedSubscriber {
  readonly name: string;
  /** Called after the commit. Errors are logged and have no other effect. */
  readonly on: 'AfterNamedEvent';
  readonly events?: readonly string[];
  readonly handle: (event: NamedEvent) => void | Promise<void>;
}

interface BeforeFlushSubscriber {
  readonly name: string;
  /** Called before everything is deleted. */
  readonly on: 'BeforeServerFlushed';
  readonly handle: (event: FlushEvent, unit: UnitOfWork) => void | Promise<void>;
}

export type Subscriber =
  | ChangeSubscriber
  | RequestSubscriber
  | CopySubscriber
  | DeletionSubscriber
  | ReadSubscriber
  | AfterChangeSubscriber
  | AfterReadSubscriber
  | FlushSubscriber
  | NamedSubscriber
  | AfterNamedSubscriber
  | BeforeFlushSubscriber;

/** Subscribers to changes and reads. */
type ResourceSubscriber = Exclude<
  Subscriber,
  FlushSubscriber | BeforeFlushSubscriber | CopySubscriber | NamedSubscriber | AfterNamedSubscriber
>;

/** A call of a subscriber with one event, inside the transaction. */
export interface Inside {
  readonly name: string;
  readonly handle: (scope: EventScope) => void | Promise<void>;
}

/** A call of a subscriber with one event, after the commit. */
export interface After {
  readonly name: string;
  readonly handle: () => void | Promise<void>;
}

export class Subscribers {
  static readonly none: Subscribers = new Subscribers([]);

  readonly #all: readonly Subscriber[];
  /** For each action, the kinds that any subscriber wants, or `all`. */
  readonly #wanted: ReadonlyMap<Action, ReadonlySet<string> | 'all'>;

  constructor(all: readonly Subscriber[]) {
    this.#all = all;
    this.#wanted = new Map(allActions.map((action) => [action, wantedKinds(all, action)]));
  }

  /** Returns whether any subscriber wants an event. Every request calls it, and creates no event without subscribers. */
  wants(kind: string, action: Action): boolean {
    const kinds = this.#wanted.get(action)!;
    return kinds === 'all' || kinds.has(kind);
  }

  /** Returns the calls before the commit, in the order of registration. */
  inside(event: ResourceEvent): readonly Inside[] {
    return this.#all.flatMap((subscriber): Inside[] => {
      if (!isWantedBy(subscriber, event.kind, event.action)) return [];
      const { name } = subscriber;
      if (subscriber.on === 'ResourceChanged' && event.action !== 'read') {
        return [{ name, handle: (scope) => subscriber.handle(event, scope) }];
      }
      if (subscriber.on === 'ResourceRead' && event.action === 'read') {
        return [{ name, handle: (scope) => subscriber.handle(event, scope) }];
      }
      return [];
    });
  }

  /** Returns whether a subscriber to `RequestChanged` wants such changes. */
  collects(kind: string, action: Action): boolean {
    return this.#all.some((subscriber) => subscriber.on === 'RequestChanged' && isWantedBy(subscriber, kind, action));
  }

  /** Returns the calls before the commit with all changes. */
  atEnd(changes: readonly Change[]): readonly Inside[] {
    return this.#all.flatMap((subscriber): Inside[] => {
      if (subscriber.on !== 'RequestChanged') return [];
      const wanted = changes.filter(({ kind, action }) => isWantedBy(subscriber, kind, action));
      if (wanted.length === 0) return [];
      return [{ name: subscriber.name, handle: (scope) => subscriber.handle(wanted, scope) }];
    });
  }

  /** Returns whether a subscriber wants copied objects of a kind. */
  wantsCopies(kind: string): boolean {
    return this.#all.some((subscriber) => subscriber.on === 'ObjectCopied' && subscriber.kinds.includes(kind));
  }

  /** Returns the calls before the commit with an object that the service has copied. */
  onCopy(change: Change): readonly Inside[] {
    return this.#all.flatMap((subscriber) =>
      subscriber.on === 'ObjectCopied' && subscriber.kinds.includes(change.kind)
        ? [{ name: subscriber.name, handle: (scope: EventScope) => subscriber.handle(change, scope) }]
        : [],
    );
  }

  /** Calls the subscribers to a deletion before the objects below are deleted. */
  async beforeCascade(change: Change, unit: UnitOfWork): Promise<void> {
    for (const subscriber of this.#all) {
      if (subscriber.on !== 'ResourceDeleting' || !isWantedBy(subscriber, change.kind, change.action)) continue;
      await subscriber.handle(change, unit);
    }
  }

  /** Returns the calls after the commit. */
  after(event: ResourceEvent): readonly After[] {
    return this.#all.flatMap((subscriber): After[] => {
      if (!isWantedBy(subscriber, event.kind, event.action)) return [];
      const { name } = subscriber;
      if (subscriber.on === 'AfterResourceChanged' && event.action !== 'read') {
        return [{ name, handle: () => subscriber.handle(event) }];
      }
      if (subscriber.on === 'AfterResourceRead' && event.action === 'read') {
        return [{ name, handle: () => subscriber.handle(event) }];
      }
      return [];
    });
  }

  /** Returns whether a subscriber wants events of this name. */
  wantsNamed(name: string): boolean {
    return this.#all.some((subscriber) => isNamedWantedBy(subscriber, name));
  }

  /** Returns the calls before the commit with the event of a plugin. */
  onNamed(event: NamedEvent): readonly Inside[] {
    return this.#all.flatMap((subscriber) =>
      subscriber.on === 'NamedEvent' && isNamedWantedBy(subscriber, event.name)
        ? [{ name: subscriber.name, handle: (scope: EventScope) => subscriber.handle(event, scope) }]
        : [],
    );
  }

  /** Returns the calls after the commit with the event of a plugin. */
  afterNamed(event: NamedEvent): readonly After[] {
    return this.#all.flatMap((subscriber) =>
      subscriber.on === 'AfterNamedEvent' && isNamedWantedBy(subscriber, event.name)
        ? [{ name: subscriber.name, handle: () => subscriber.handle(event) }]
        : [],
    );
  }

  /** Calls the subscribers before everything is deleted. */
  async beforeFlush(event: FlushEvent, unit: UnitOfWork): Promise<void> {
    for (const subscriber of this.#all) {
      if (subscriber.on === 'BeforeServerFlushed') await subscriber.handle(event, unit);
    }
  }

  /** Returns the calls before the commit after everything was deleted. */
  onFlush(event: FlushEvent): readonly Inside[] {
    return this.#all.flatMap((subscriber) =>
      subscriber.on === 'ServerFlushed'
        ? [{ name: subscriber.name, handle: (scope: EventScope) => subscriber.handle(event, scope) }]
        : [],
    );
  }
}

/** Returns the actions an event can have. */
function actionsOf(on: ResourceSubscriber['on']): readonly Action[] {
  if (on === 'ResourceDeleting') return ['delete'];
  return on === 'ResourceRead' || on === 'AfterResourceRead' ? ['read'] : ['create', 'update', 'delete'];
}

/** Returns whether the subscriber receives changes or reads. */
function hearsOfResources(subscriber: Subscriber): subscriber is ResourceSubscriber {
  const { on } = subscriber;
  if (on === 'ServerFlushed' || on === 'BeforeServerFlushed' || on === 'ObjectCopied') return false;
  return on !== 'NamedEvent' && on !== 'AfterNamedEvent';
}

function isNamedWantedBy(subscriber: Subscriber, name: string): boolean {
  if (subscriber.on !== 'NamedEvent' && subscriber.on !== 'AfterNamedEvent') return false;
  return subscriber.events?.includes(name) !== false;
}

function isWantedBy(subscriber: Subscriber, kind: string, action: Action): boolean {
  if (!hearsOfResources(subscriber) || !actionsOf(subscriber.on).includes(action)) return false;
  const { actions, kinds } = subscriber;
  return (actions === undefined || actions.includes(action)) && (kinds === undefined || kinds.includes(kind));
}

function wantedKinds(all: readonly Subscriber[], action: Action): ReadonlySet<string> | 'all' {
  const kinds = new Set<string>();
  for (const subscriber of all) {
    if (!hearsOfResources(subscriber) || !actionsOf(subscriber.on).includes(action)) continue;
    if (subscriber.actions?.includes(action) === false) continue;
    if (subscriber.kinds === undefined) return 'all';
    for (const kind of subscriber.kinds) kinds.add(kind);
  }
  return kinds;
}
