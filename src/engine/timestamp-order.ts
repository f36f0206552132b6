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
  const clock = (await storage.resourceTimestamp(shared)) ?? 0;
  // A clock that was ahead, or was set back, has left it where no writes follow it.
  return Math.max(clock <= now + maxAheadMs ? clock : 0, now - settledAfterMs);
}

/** The methods that move clocks, and whether they always write. Their first argument is the list. */
const movingClocks: ReadonlyMap<string | symbol, boolean> = new Map<keyof StorageWriter, boolean>([
  ['create', true],
  ['createAll', true],
  ['update', true],
  ['delete', true],
  ['deleteAll', false],
  ['restore', false],
  ['touch', false],
]);

/** A list that a unit of work may change. */
interface Ordered {
  readonly list: ListKey;
  /** Its clock before. */
  readonly before: number | undefined;
}

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
  readonly #lists = new Map<ListName, Promise<Ordered>>();
  /** Lists whose clocks were moved on to the shared one before the first write. */
  readonly #caughtUp = new Map<ListName, Promise<void>>();

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
          const locked = lockedList(name, given);
          if (locked !== undefined && this.#order.has(locked)) this.#lock().catch(() => undefined);
          const list = given[0] as ListKey;
          const writes = movingClocks.get(name);
          const call = (): unknown => Reflect.apply(method, target, given);
          if (writes === undefined || !this.#order.has(list)) return call();
          return name === 'touch' ? this.#touch(list, call) : this.#prepare(list, writes).then(call);
        };
      },
    });
  }

  /** Moves the shared clock on to the new timestamps. Called before the commit. */
  async settle(): Promise<void> {
    let newest = 0;
    for (const ordered of this.#lists.values()) {
      const timestamp = await this.#overtake(await ordered);
      if (timestamp <= this.#order.limit) newest = Math.max(newest, timestamp);
    }
    if (newest > 0) await this.#writer.touch(shared, newest);
  }

  /** Touches the list, and returns its clock, which does not move any more unless the unit writes to the list. */
  async #touch(list: ListKey, touch: () => unknown): Promise<number> {
    const ordered = await this.#find(list);
    await touch();
    return this.#overtake(ordered);
  }

  /** Prepares a call that may move the clock of the list, and always moves it if `writes` is true. */
  async #prepare(list: ListKey, writes: boolean): Promise<void> {
    await this.#find(list);
    if (!writes) return;
    const name = keyOfList(list);
    let ready = this.#caughtUp.get(name);
    if (ready === undefined) this.#caughtUp.set(name, (ready = this.#catchUp(list)));
    await ready;
  }

  #find(list: ListKey): Promise<Ordered> {
    const name = keyOfList(list);
    let found = this.#lists.get(name);
    if (found === undefined) this.#lists.set(name, (found = this.#note(list)));
    return found;
  }

  async #note(list: ListKey): Promise<Ordered> {
    const [{ timestamp: before }] = await Promise.all([this.#writer.lock(list), this.#lock()]);
    return { list, before };
  }

  /**
   * Moves the clock of a list that has changed beyond the shared one. It may be behind because a client has set the timestamp.
   * Returns the clock, or 0 without one.
   */
  async #overtake({ list, before }: Ordered): Promise<number> {
    const { timestamp: reached = 0 } = await this.#lock();
    const { timestamp = 0 } = await this.#writer.lock(list);
    const isBehind = timestamp !== (before ?? 0) && timestamp <= reached && reached <= this.#order.limit;
    return isBehind ? this.#writer.touch(list, reached + 1) : timestamp;
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
