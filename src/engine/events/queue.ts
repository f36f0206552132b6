// The events of one unit of work: collected while requests are handled, merged, and delivered at its end.
import { charsOf, type StoredEntry } from '../../core/objects/stored.ts';
import type { Change, ChangeEvent, FlushEvent, NamedEvent, ReadEvent, ResourceEvent } from './event.ts';
import type { ServiceRequest } from '../exchange.ts';
import type { EventRecorder, UnitOfWork } from '../unit-of-work.ts';
import type { AfterCall, EventScope, Subscribers } from './subscriber.ts';

/** Maximum depth of events that subscribers cause in turn; deeper ones are taken for an endless loop. */
const maxLevels = 10;

/** Bytes per character of an object that waits for subscribers: its text before the change, and its text and attributes after it. */
const bytesBefore = 1;
const bytesAfter = 4;
/** Bytes that a request keeps without a reservation. */
const freeBytes = 1_000_000;

/** An event that later ones may be merged into. */
interface Pending {
  readonly event: ResourceEvent;
  readonly changes: Change[];
  readonly entries: StoredEntry[];
}

export class EventQueue implements EventRecorder {
  readonly #subscribers: Subscribers;
  readonly #unit: UnitOfWork;
  #pending = new Map<string, Pending>();
  #flushes: FlushEvent[] = [];
  #named: NamedEvent[] = [];
  #current: readonly ResourceEvent[] = [];
  #changes: Change[] = [];
  #copies: Change[] = [];
  #fired: ResourceEvent[] = [];
  #firedNamed: NamedEvent[] = [];
  #keptBytes = 0;

  constructor(subscribers: Subscribers, unit: UnitOfWork) {
    this.#subscribers = subscribers;
    this.#unit = unit;
  }

  get isEmpty(): boolean {
    return !this.#hasEvents && this.#copies.length === 0;
  }

  get #hasEvents(): boolean {
    return this.#pending.size > 0 || this.#flushes.length > 0 || this.#named.length > 0;
  }

  get current(): readonly ResourceEvent[] {
    return this.#current;
  }

  /** Changes in order, for subscribers to `RequestChanged` that were not called yet. */
  get changes(): readonly Change[] {
    return this.#changes;
  }

  reserve({ memory }: Pick<ServiceRequest, 'memory'>, bytes: number): void {
    this.#keptBytes += bytes;
    if (this.#keptBytes > freeBytes) memory?.admitWhole(this.#keptBytes);
  }

  add(event: ChangeEvent | ReadEvent): void {
    if (event.action !== 'read') this.reserve(event.request, bytesByService(event.changes));
    const key = JSON.stringify([event.kind, event.list.parent, event.action]);
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      const changes: Change[] = [];
      const entries: StoredEntry[] = [];
      const own: ResourceEvent = event.action === 'read' ? { ...event, entries } : { ...event, changes };
      pending = { event: own, changes, entries };
      this.#pending.set(key, pending);
    }
    if (event.action === 'read') {
      for (const entry of event.entries) pending.entries.push(entry);
      return;
    }
    const isCollected = this.#subscribers.collects(event.kind, event.action);
    // One by one: a call cannot have as many arguments as a deletion can have changes.
    for (const change of event.changes) {
      pending.changes.push(change);
      if (isCollected) this.#changes.push(change);
    }
  }

  addCopy(change: Change): void {
    if (this.#subscribers.wantsCopies(change.kind)) this.#copies.push(change);
  }

  beforeFlush(event: FlushEvent): Promise<void> {
    return this.#subscribers.beforeFlush(event, this.#unit);
  }

  addFlush(event: FlushEvent): void {
    this.#flushes.push(event);
    this.#changes = [];
    this.#copies = [];
  }

  beforeCascade(change: Change): Promise<void> {
    return this.#subscribers.beforeCascade(change, this.#unit);
  }

  wantsNamed(name: string): boolean {
    return this.#subscribers.wantsNamed(name);
  }

  addNamed(event: NamedEvent): void {
    this.#named.push(event);
  }

  /**
   * Calls the subscribers inside the unit of work, in the order of events and of registration. Events that they cause come
   * after all present ones. Subscribers to copies and to `RequestChanged` come last.
   *
   * @throws the error of a subscriber; the unit of work must then be rolled back
   */
  async fire(scope: EventScope): Promise<void> {
    for (let level = 0; !this.isEmpty || this.#changes.length > 0; level++) {
      if (level === maxLevels) throw new Error('Subscribers of events cause each other without end.');
      if (!this.#hasEvents) {
        const changes = this.#changes;
        const copies = this.#copies;
        this.#changes = [];
        this.#copies = [];
        for (const copy of copies) await this.#subscribers.deliverCopy(copy, scope);
        await this.#subscribers.deliverAll(changes, scope);
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
      for (const event of flushes) await this.#subscribers.deliverFlush(event, scope);
      for (const event of events) await this.#subscribers.deliver(event, scope);
      for (const event of named) await this.#subscribers.deliverNamed(event, scope);
    }
  }

  /** Returns the subscribers to call after the commit of everything delivered, and forgets them. */
  takeAfter(): readonly AfterCall[] {
    return [
      ...this.#fired.splice(0).flatMap((event) => this.#subscribers.after(event)),
      ...this.#firedNamed.splice(0).flatMap((event) => this.#subscribers.afterNamed(event)),
    ];
  }
}

/** Returns the memory for the objects that the service itself has changed. */
function bytesByService(changes: readonly Change[]): number {
  let bytes = 0;
  for (const { isByService, old, new: after } of changes) {
    if (isByService !== true) continue;
    bytes += bytesAfter * charsOf(after) + bytesBefore * (old === undefined ? 0 : charsOf(old));
  }
  return bytes;
}
