// One order of timestamps over several lists. Each list has a clock of its own, so a client that follows several lists together,
// and asks for what is newer than the newest timestamp it knows, would miss changes: a list with many writes at once runs ahead
// of the time, and a change can become visible after a later one of another list. Lists in the order share a further
// clock: their new timestamps are above all that were visible before.
import type { Clock } from '../base/clock.ts';
import { interceptCalls } from '../base/intercept-calls.ts';
import type { LockedState, StorageReader, StorageWriter } from '../contracts/storage.ts';
import { keyOfList, type ListName } from '../core/lists/list-key.ts';
import type { ListKey } from '../core/objects/stored.ts';
import { listFolder } from '../core/objects/uris.ts';

/**
 * Time by which a timestamp in the order may be ahead of the time. Clients may set any; one far in the future would make those of
 * all lists as late. It stays outside of the order.
 */
const maxAheadMs = 60_000;
/**
 * Time by which the shared clock may be ahead of the time of a process. Longer than `maxAheadMs`, because the times of processes
 * differ, and a time may be set back. Timestamps continue from the clock then, as those of each list do.
 */
const maxClockAheadMs = 3_600_000;
/** Time after which every unit of work has ended, so that all timestamps before are visible, also of lists outside the order. */
const settledAfterMs = 600_000;

/** The list with the shared clock. It has no objects. It precedes other lists in the order of locks, as it is locked first. */
const shared: ListKey = { kind: 'order', parent: listFolder('!order') };

/** Lists whose changes become visible in the order of their timestamps. */
export class TimestampOrder {
  readonly #clock: Clock;
  readonly #members: ((list: ListKey) => boolean)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds all lists for which the function returns true. */
  add(includes: (list: ListKey) => boolean): void {
    this.#members.push(includes);
  }

  /** Whether any lists may be in the order. */
  get isUsed(): boolean {
    return this.#members.length > 0;
  }

  has(list: ListKey): boolean {
    return this.#members.some((includes) => includes(list));
  }

  /** Highest timestamp that the shared clock follows now. */
  get limit(): number {
    return this.#clock.now() + maxAheadMs;
  }

  /** Whether a shared clock counts. */
  counts(clock: number): boolean {
    return countsAt(clock, this.#clock.now());
  }

  /** Returns whether a new timestamp could be at or below this one. */
  isDue(timestamp: number): boolean {
    return timestamp >= this.#clock.now();
  }
}

/** A clock that is far ahead was set when the time of a process was wrong. Nothing else would be written before that time. */
function countsAt(clock: number, now: number): boolean {
  return clock <= now + maxClockAheadMs;
}

/** The point that the order has reached, for a read of its lists that begins afterwards. */
export interface Reached {
  /** The shared clock; 0 when there is none that counts. Never moves back, and stays while nothing is written. */
  readonly sharedClock: number;
  /** The timestamp up to which no change is missing. Clients continue from it, or from an earlier one. */
  readonly completeTo: number;
}

/** Returns the point that the order has reached. */
export async function readOrder(storage: StorageReader, now: number): Promise<Reached> {
  const clock = (await storage.resourceTimestamp(shared)) ?? 0;
  const sharedClock = countsAt(clock, now) ? clock : 0;
  return { sharedClock, completeTo: Math.max(sharedClock, now - settledAfterMs) };
}

/** The methods that move the clock of a list, which is their first argument. Some of them always do, as they always write. */
const alwaysMoving: readonly (string | symbol)[] = ['create', 'createAll', 'update', 'delete'] satisfies WriteNames;
const moving: ReadonlySet<string | symbol> = new Set([
  ...alwaysMoving,
  ...(['deleteAll', 'restore', 'touch'] satisfies WriteNames),
]);
type WriteNames = readonly (keyof StorageWriter)[];

/** A list that a unit of work may change. */
interface Ordered {
  readonly list: ListKey;
  /** Its clock before. */
  readonly before: Promise<number | undefined>;
  /** Resolves when its clock has moved on to the shared one; absent before the first write. */
  caughtUp?: Promise<void>;
}

/**
 * Returns the list that a method locks. The shared clock is locked before it: this saves a round trip, and units of a
 * process that wait for the clock can share a transaction.
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
  readonly #lists = new Map<ListName, Ordered>();

  /** @param writer writes without regard to the order */
  constructor(order: TimestampOrder, writer: StorageWriter) {
    this.#order = order;
    this.#writer = writer;
  }

  /** Returns the writer whose writes keep the order. */
  get writer(): StorageWriter {
    return interceptCalls(this.#writer, (name, given, call) => {
      const locked = lockedList(name, given);
      if (locked !== undefined && this.#order.has(locked)) this.#lock().catch(() => undefined);
      const list = given[0] as ListKey;
      return moving.has(name) && this.#order.has(list) ? this.#move(list, name, call) : call();
    });
  }

  /** Moves the shared clock on to the new timestamps. Called before the commit. */
  async settle(): Promise<void> {
    let newest = 0;
    for (const ordered of this.#lists.values()) {
      const timestamp = await this.#overtake(ordered);
      if (timestamp <= this.#order.limit) newest = Math.max(newest, timestamp);
    }
    if (newest > 0 && newest > (await this.#findReached())) await this.#writer.touch(shared, newest);
  }

  /** Makes a call that may move the clock of the list. A clock that is returned moves again only if the unit writes to the list. */
  async #move(list: ListKey, name: string | symbol, call: () => unknown): Promise<unknown> {
    const key = keyOfList(list);
    let ordered = this.#lists.get(key);
    if (ordered === undefined) this.#lists.set(key, (ordered = { list, before: this.#readClock(list) }));
    await ordered.before;
    if (alwaysMoving.includes(name)) await (ordered.caughtUp ??= this.#catchUp(list));
    const result = await call();
    return name === 'touch' ? this.#overtake(ordered) : result;
  }

  async #readClock(list: ListKey): Promise<number | undefined> {
    const [{ timestamp }] = await Promise.all([this.#writer.lock(list), this.#lock()]);
    return timestamp;
  }

  /** Moves the clock of the list on to the shared one. */
  async #catchUp(list: ListKey): Promise<void> {
    const reached = await this.#findReached();
    if (this.#order.isDue(reached)) await this.#writer.touch(list, reached);
  }

  /**
   * Moves the clock of a list that has changed beyond the shared one. It may be behind because a client has set the timestamp.
   * Returns the clock, or 0 without one.
   */
  async #overtake({ list, before }: Ordered): Promise<number> {
    const reached = await this.#findReached();
    const { timestamp = 0 } = await this.#writer.lock(list);
    const isBehind = timestamp !== ((await before) ?? 0) && timestamp <= reached;
    return isBehind ? this.#writer.touch(list, reached + 1) : timestamp;
  }

  /** Keeps other units from the order until this one ends. */
  #lock(): Promise<LockedState> {
    return (this.#locking ??= this.#writer.lock(shared));
  }

  /** Returns the shared clock as it was before; 0 when it is so far ahead that it does not count. */
  async #findReached(): Promise<number> {
    const { timestamp = 0 } = await this.#lock();
    return this.#order.counts(timestamp) ? timestamp : 0;
  }
}
