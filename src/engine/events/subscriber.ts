// Who wants to hear of which events, and the table of them that is made once at start.
import { actions as allActions, type Action } from '../../core/events/payload.ts';
import type { Change } from '../kind.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import type { ChangeEvent, EventScope, FlushEvent, NamedEvent, ReadEvent, ResourceEvent } from './event.ts';

interface Filters {
  /** What logs and metrics call it. */
  readonly name: string;
  /** Absent: all that the event can have. */
  readonly actions?: readonly Action[];
  /** Names of kinds, `record`; absent: all. */
  readonly kinds?: readonly string[];
}

interface ChangeSubscriber extends Filters {
  /** Called inside the transaction, before it is committed. Throwing undoes the whole request. */
  readonly on: 'ResourceChanged';
  readonly handle: (event: ChangeEvent, scope: EventScope) => void | Promise<void>;
}

interface RequestSubscriber extends Filters {
  /**
   * Called inside the transaction, once, when all events of the request have been told: with everything that it changed,
   * in the order in which it happened, whatever the list. For those who sum up, and write once.
   */
  readonly on: 'RequestChanged';
  readonly handle: (changes: readonly Change[], scope: EventScope) => void | Promise<void>;
}

interface CopySubscriber {
  readonly name: string;
  /**
   * Called inside the transaction with an object that the service has copied (`Change.copiedFrom`), when all events of the
   * request have been told. The object may have been changed or deleted since.
   */
  readonly on: 'ObjectCopied';
  /** Names of kinds, `record`. */
  readonly kinds: readonly string[];
  readonly handle: (change: Change, scope: EventScope) => void | Promise<void>;
}

interface DeletionSubscriber extends Filters {
  /**
   * Called inside the transaction when an object has just been deleted, while what lies below it is still there. The same
   * change comes again with the events. Throwing undoes the whole request.
   */
  readonly on: 'ResourceDeleting';
  readonly handle: (change: Change, unit: UnitOfWork) => void | Promise<void>;
}

interface ReadSubscriber extends Filters {
  readonly on: 'ResourceRead';
  readonly handle: (event: ReadEvent, scope: EventScope) => void | Promise<void>;
}

interface AfterChangeSubscriber extends Filters {
  /** Called when the change is known to be committed. Errors are logged and change nothing. */
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
  /** Called when what the event tells of is known to be committed. Errors are logged and change nothing. */
  readonly on: 'AfterNamedEvent';
  readonly events?: readonly string[];
  readonly handle: (event: NamedEvent) => void | Promise<void>;
}

interface BeforeFlushSubscriber {
  readonly name: string;
  /** Called while everything is still there. */
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

/** Those who hear of changes and reads. */
type ResourceSubscriber = Exclude<
  Subscriber,
  FlushSubscriber | BeforeFlushSubscriber | CopySubscriber | NamedSubscriber | AfterNamedSubscriber
>;

/** A subscriber that has been found to want one event, whatever its kind. */
export interface Inside {
  readonly name: string;
  readonly handle: (scope: EventScope) => void | Promise<void>;
}

export interface After {
  readonly name: string;
  readonly handle: () => void | Promise<void>;
}

export class Subscribers {
  static readonly none: Subscribers = new Subscribers([]);

  readonly #all: readonly Subscriber[];
  /** For each action the kinds that somebody wants to hear of, or all of them. */
  readonly #wanted: ReadonlyMap<Action, ReadonlySet<string> | 'all'>;

  constructor(all: readonly Subscriber[]) {
    this.#all = all;
    this.#wanted = new Map(allActions.map((action) => [action, wantedKinds(all, action)]));
  }

  /** Whether anybody listens; asked on the way of every request, so that others need not pay for events. */
  wants(kind: string, action: Action): boolean {
    const kinds = this.#wanted.get(action)!;
    return kinds === 'all' || kinds.has(kind);
  }

  /** Those to be called before the commit, in the order of registration. */
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

  /** Whether anybody wants to hear of everything at the end of the request, this included. */
  collects(kind: string, action: Action): boolean {
    return this.#all.some((subscriber) => subscriber.on === 'RequestChanged' && isWantedBy(subscriber, kind, action));
  }

  /** Those to be called, before the commit, with everything that was changed. */
  atEnd(changes: readonly Change[]): readonly Inside[] {
    return this.#all.flatMap((subscriber): Inside[] => {
      if (subscriber.on !== 'RequestChanged') return [];
      const wanted = changes.filter(({ kind, action }) => isWantedBy(subscriber, kind, action));
      if (wanted.length === 0) return [];
      return [{ name: subscriber.name, handle: (scope) => subscriber.handle(wanted, scope) }];
    });
  }

  /** Whether a subscriber wants to hear of copied objects of a kind. */
  wantsCopies(kind: string): boolean {
    return this.#all.some((subscriber) => subscriber.on === 'ObjectCopied' && subscriber.kinds.includes(kind));
  }

  /** Those to be called, before the commit, with an object that the service has copied. */
  onCopy(change: Change): readonly Inside[] {
    return this.#all.flatMap((subscriber) =>
      subscriber.on === 'ObjectCopied' && subscriber.kinds.includes(change.kind)
        ? [{ name: subscriber.name, handle: (scope: EventScope) => subscriber.handle(change, scope) }]
        : [],
    );
  }

  /** Tells of a deletion before what lies below the object is gone. */
  async beforeCascade(change: Change, unit: UnitOfWork): Promise<void> {
    for (const subscriber of this.#all) {
      if (subscriber.on !== 'ResourceDeleting' || !isWantedBy(subscriber, change.kind, change.action)) continue;
      await subscriber.handle(change, unit);
    }
  }

  /** Those to be called after the commit. */
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

  /** Whether anybody listens to events of this name. */
  wantsNamed(name: string): boolean {
    return this.#all.some((subscriber) => isNamedWantedBy(subscriber, name));
  }

  /** Those to be called before the commit when a plugin tells of something. */
  onNamed(event: NamedEvent): readonly Inside[] {
    return this.#all.flatMap((subscriber) =>
      subscriber.on === 'NamedEvent' && isNamedWantedBy(subscriber, event.name)
        ? [{ name: subscriber.name, handle: (scope: EventScope) => subscriber.handle(event, scope) }]
        : [],
    );
  }

  /** Those to be called after the commit when a plugin has told of something. */
  afterNamed(event: NamedEvent): readonly After[] {
    return this.#all.flatMap((subscriber) =>
      subscriber.on === 'AfterNamedEvent' && isNamedWantedBy(subscriber, event.name)
        ? [{ name: subscriber.name, handle: () => subscriber.handle(event) }]
        : [],
    );
  }

  /** Calls those that want to look at everything before it is deleted. */
  async beforeFlush(event: FlushEvent, unit: UnitOfWork): Promise<void> {
    for (const subscriber of this.#all) {
      if (subscriber.on === 'BeforeServerFlushed') await subscriber.handle(event, unit);
    }
  }

  /** Those to be called, before the commit, when everything was deleted. */
  onFlush(event: FlushEvent): readonly Inside[] {
    return this.#all.flatMap((subscriber) =>
      subscriber.on === 'ServerFlushed'
        ? [{ name: subscriber.name, handle: (scope: EventScope) => subscriber.handle(event, scope) }]
        : [],
    );
  }
}

/** The actions an event can have. */
function actionsOf(on: ResourceSubscriber['on']): readonly Action[] {
  if (on === 'ResourceDeleting') return ['delete'];
  return on === 'ResourceRead' || on === 'AfterResourceRead' ? ['read'] : ['create', 'update', 'delete'];
}

/** Whether a subscriber is one to changes and reads at all. */
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
