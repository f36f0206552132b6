// One order of timestamps over several lists. Each list has a clock of its own, so a client that follows several lists together,
// and asks for what is newer than the newest timestamp it knows, would miss changes: a list with many writes at once runs ahead
// of the time, and a change can become visible after a later one of another list. Lists in the order share a further
// clock: their new timestamps are above all that were visible before.
import type { Clock } from '../base/clock.ts';
import type { LockedState, StorageReader, StorageWriter } from '../contracts/storage.ts';
import { keyOfList, type ListName } from '../core/lists/list-key.ts';
import type { ListKey } from '../core/objects/stored.ts';
import { listFolder } from '../core/objects/uris.ts';

/**
 * Time by which a timestamp in the order may be ahead of the time. Clients may set any; one far in the future would make those of
 * all lists as late. It stays outside of the order.
 */
const maxAheadMs = 60_000;
/** Time after which every unit of work has ended, so that all timestamps before are visible, also of lists outside the order. */
const settledAfterMs = 600_000;

/** The list with the shared clock. It has no objects. It precedes other lists in the order of locks, as it is locked first. */
const shared: ListKey = { kind: 'order', parent: listFolder('!order') };

/** Lists whose changes become visible in the order of their timestamps. */
export class TimestampOrder {
  readonly #includes: (list: ListKey) => boolean;
  readonly #clock: Clock;

  /** @param includes whether a list is in the order */
  constructor(includes: (list: ListKey) => boolean, clock: Clock) {
    this.#includes = includes;
    this.#clock = clock;
  }

  has(list: ListKey): boolean {
    return this.#includes(list);
  }

  /** Highest timestamp in the order that is possible now. */
  get limit(): number {
    return this.#clock.now() + maxAheadMs;
  }

  /** Whether a new timestamp could be at or below this one. */
  isDue(timestamp: number): boolean {
    return timestamp >= this.#clock.now();
  }
}

/**
 * Returns the timestamp up to which all changes of lists in the order are visible to a read of them that begins afterwards.
 * Clients continue from it, or from an earlier one.
 */
export async function readOrder(storage: StorageReader, now: number): Promise<number> {
  return Math.max((await storage.resourceTimestamp(shared)) ?? 0, now - settledAfterMs);
}

/** The methods that give timestamps. Their first argument is the list. */
const givingTimestamps: ReadonlySet<string | symbol> = new Set<keyof StorageWriter>([
  'create',
  'createAll',
  'update',
  'delete',
  'deleteAll',
  'restore',
  'touch',
]);

/**
 * Returns the list that a method locks. The shared clock is locked before it: one more round trip is saved, and units
 * of a process that wait for the clock can share a transaction.
 */
function lockedList(name: string | symbol, given: readonly unknown[]): ListKey | undefined {
  if (name === 'lock') return given[0] as ListKey;
  return name === 'lockShared' ? (given[2] as ListKey | undefined) : undefined;
}

/** The writes of one unit of work to lists in the order. */
export class OrderedWrites {
  readonly #order: TimestampOrder;
  readonly #writer: StorageWriter;
  #locking: Promise<LockedState> | undefined;
  /** The written lists, each with the promise that its clock is not behind the shared one. */
  readonly #lists = new Map<ListName, { readonly list: ListKey; readonly ready: Promise<void> }>();

  /** @param writer writes without regard to the order */
  constructor(order: TimestampOrder, writer: StorageWriter) {
    this.#order = order;
    this.#writer = writer;
  }

  /** Returns the writer whose writes keep the order. */
  get writer(): StorageWriter {
    return new Proxy(this.#writer, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name, target);
        if (typeof method !== 'function') return method;
        return (...given: unknown[]): unknown => {
          const ready = givingTimestamps.has(name) ? this.#prepare(given[0] as ListKey) : undefined;
          const locked = lockedList(name, given);
          if (locked !== undefined && this.#order.has(locked)) this.#lock().catch(() => undefined);
          const write = (): unknown => Reflect.apply(method, target, given);
          return ready === undefined ? write() : ready.then(write);
        };
      },
    });
  }

  /** Moves the shared clock on to the new timestamps. Called before the commit. */
  async settle(): Promise<void> {
    let newest = 0;
    for (const { list } of this.#lists.values()) {
      const { timestamp = 0 } = await this.#writer.lock(list);
      if (timestamp <= this.#order.limit) newest = Math.max(newest, timestamp);
    }
    if (newest > 0) await this.#writer.touch(shared, newest);
  }

  /** Returns `undefined` for a list outside of the order. */
  #prepare(list: ListKey): Promise<void> | undefined {
    if (!this.#order.has(list)) return undefined;
    const name = keyOfList(list);
    const known = this.#lists.get(name);
    if (known !== undefined) return known.ready;
    const ready = this.#catchUp(list);
    this.#lists.set(name, { list, ready });
    return ready;
  }

  /** Keeps other units from the order until this one ends. */
  #lock(): Promise<LockedState> {
    return (this.#locking ??= this.#writer.lock(shared));
  }

  /** Moves the clock of the list on to the shared one. */
  async #catchUp(list: ListKey): Promise<void> {
    const { timestamp = 0 } = await this.#lock();
    const isInOrder = timestamp <= this.#order.limit;
    if (isInOrder && this.#order.isDue(timestamp)) await this.#writer.touch(list, timestamp);
  }
}
