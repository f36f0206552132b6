// The events of one unit of work: collected while requests are handled, merged, and fired at its end.
import type { StoredEntry } from '../../core/objects/stored.ts';
import type { Change } from '../kind.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import type { ChangeEvent, EventScope, FlushEvent, NamedEvent, ReadEvent, ResourceEvent } from './event.ts';
import type { After, Inside, Subscribers } from './subscriber.ts';

/** What subscribers do may cause events, whose subscribers cause events; further down it is taken for an endless loop. */
const maxLevels = 10;

/** An event that may still be merged with others. */
interface Pending {
  readonly event: ResourceEvent;
  readonly changes: Change[];
  readonly entries: StoredEntry[];
}

export class EventQueue {
  readonly #subscribers: Subscribers;
  #pending = new Map<string, Pending>();
  #flushes: FlushEvent[] = [];
  #named: NamedEvent[] = [];
  #current: readonly ResourceEvent[] = [];
  #untold: Change[] = [];
  #copies: Change[] = [];
  #fired: ResourceEvent[] = [];
  #firedNamed: NamedEvent[] = [];

  constructor(subscribers: Subscribers) {
    this.#subscribers = subscribers;
  }

  get isEmpty(): boolean {
    return !this.#hasEvents && this.#copies.length === 0;
  }

  get #hasEvents(): boolean {
    return this.#pending.size > 0 || this.#flushes.length > 0 || this.#named.length > 0;
  }

  /**
   * The events whose subscribers are being called, in their order: those of the request, or of what subscribers to these
   * did. Who wants to know what else a request has done finds it here.
   */
  get current(): readonly ResourceEvent[] {
    return this.#current;
  }

  /** Changes, in order, of which those have not heard yet who want to hear of all of them together. */
  get untold(): readonly Change[] {
    return this.#untold;
  }

  /** Adds an event, or its objects to the one of the same list and action. */
  add(event: ChangeEvent | ReadEvent): void {
    const key = JSON.stringify([event.kind, event.list.parent, event.action]);
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      const changes: Change[] = [];
      const entries: StoredEntry[] = [];
      const own: ResourceEvent = event.action === 'read' ? { ...event, entries } : { ...event, changes };
      pending = { event: own, changes, entries };
      this.#pending.set(key, pending);
    }
    if (event.action === 'read') pending.entries.push(...event.entries);
    else {
      pending.changes.push(...event.changes);
      if (this.#subscribers.collects(event.kind, event.action)) this.#untold.push(...event.changes);
    }
  }

  /** Adds an object that the service has copied, where a subscriber wants to hear of it. */
  addCopy(change: Change): void {
    if (this.#subscribers.wantsCopies(change.kind)) this.#copies.push(change);
  }

  /** To be called before everything is deleted, for those who need to know what there was. */
  beforeFlush(event: FlushEvent, unit: UnitOfWork): Promise<void> {
    return this.#subscribers.beforeFlush(event, unit);
  }

  /** Adds the event that everything was deleted; what was changed before is not there any more. */
  addFlush(event: FlushEvent): void {
    this.#flushes.push(event);
    this.#untold = [];
    this.#copies = [];
  }

  /** To be called when an object has been deleted, while what lies below it is still there. */
  beforeCascade(change: Change, unit: UnitOfWork): Promise<void> {
    return this.#subscribers.beforeCascade(change, unit);
  }

  /** Whether anybody listens to events of this name. */
  wantsNamed(name: string): boolean {
    return this.#subscribers.wantsNamed(name);
  }

  /** Adds an event with a name of a plugin's own. */
  addNamed(event: NamedEvent): void {
    this.#named.push(event);
  }

  /**
   * Calls the subscribers inside the unit of work, in the order of events and of registration. What they do may add
   * events, which come after all the present ones. Those who want to hear of everything together come last.
   *
   * @throws whatever a subscriber throws; nothing of the unit of work may be kept then
   */
  async fire(scope: EventScope): Promise<void> {
    for (let level = 0; !this.isEmpty || this.#untold.length > 0; level++) {
      if (level === maxLevels) throw new Error('Subscribers of events cause each other without end.');
      if (!this.#hasEvents) {
        const changes = this.#untold;
        const copies = this.#copies;
        this.#untold = [];
        this.#copies = [];
        for (const copy of copies) await callAll(this.#subscribers.onCopy(copy), scope);
        await callAll(this.#subscribers.atEnd(changes), scope);
        continue;
      }
      const flushes = this.#flushes;
      const events = Array.from(this.#pending.values(), ({ event }) => event);
      const named = this.#named;
      this.#flushes = [];
      this.#named = [];
      this.#pending = new Map();
      this.#current = events;
      this.#fired.push(...events);
      this.#firedNamed.push(...named);
      for (const event of flushes) await callAll(this.#subscribers.onFlush(event), scope);
      for (const event of events) await callAll(this.#subscribers.inside(event), scope);
      for (const event of named) await callAll(this.#subscribers.onNamed(event), scope);
    }
  }

  /** Those to be called once everything fired is committed. */
  takeAfter(): readonly After[] {
    return [
      ...this.#fired.splice(0).flatMap((event) => this.#subscribers.after(event)),
      ...this.#firedNamed.splice(0).flatMap((event) => this.#subscribers.afterNamed(event)),
    ];
  }
}

async function callAll(subscribers: readonly Inside[], scope: EventScope): Promise<void> {
  for (const { handle } of subscribers) await handle(scope);
}
