// A memory budget that large requests share. A request reserves the memory that it will use. Without free memory it waits for
// a limited time in a bounded queue, which prefers the requester that holds least. Independent of HTTP.

/** The requester of a reservation. Limits apply to the credentials, and higher ones to all credentials of an address. */
export interface Requester {
  readonly name: string;
  readonly address: string;
}

export interface MemoryBudgetOptions {
  readonly totalBytes: number;
  /** Maximum waiting time of a reservation in milliseconds. */
  readonly maxWaitMs: number;
  /** Maximum number of waiting reservations. */
  readonly maxWaiting: number;
  /** Called when a reservation is refused because other requests hold too much. */
  readonly onExhausted?: (() => void) | undefined;
}

/** A reservation is refused: it is larger than the whole budget (`never`), or other requests hold too much (`exhausted`). */
export class MemoryRefused extends Error {
  readonly reason: 'never' | 'exhausted';

  constructor(reason: MemoryRefused['reason']) {
    super(reason === 'never' ? 'larger than the memory budget' : 'the memory budget is exhausted');
    this.name = 'MemoryRefused';
    this.reason = reason;
  }
}

/** Maximum shares of the budget per name and per address, except for a single reservation. */
const shareOfName = 1 / 4;
const shareOfAddress = 3 / 4;
/** Maximum share of the queue per name. */
const waitingOfName = 1 / 4;

interface Waiting {
  readonly reservation: Reservation;
  /** Requested size. */
  readonly bytes: number;
  readonly grant: () => void;
}

export class MemoryBudget {
  readonly #options: MemoryBudgetOptions;
  #used = 0;
  readonly #byName = new Map<string, number>();
  readonly #byAddress = new Map<string, number>();
  readonly #waiting: Waiting[] = [];

  constructor(options: MemoryBudgetOptions) {
    this.#options = options;
  }

  /** Reserved bytes. `Reservation.force` can exceed the total. */
  get usedBytes(): number {
    return this.#used;
  }

  get totalBytes(): number {
    return this.#options.totalBytes;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Opens an empty reservation. */
  open(requester: Requester): Reservation {
    return new Reservation(this, requester);
  }

  /**
   * Grows a reservation.
   *
   * @returns `undefined` when it was done at once
   * @throws MemoryRefused at once, or by rejection after the wait
   */
  grow(reservation: Reservation, bytes: number): Promise<void> | undefined {
    if (bytes > this.#options.totalBytes) throw new MemoryRefused('never');
    // Requests that wait for their own share do not block others.
    if (this.#findNext() === undefined && this.tryGrow(reservation, bytes)) return undefined;
    return this.#wait(reservation, bytes);
  }

  /** Grows a reservation if that is possible without waiting. */
  tryGrow(reservation: Reservation, bytes: number): boolean {
    if (!this.#isWithinShares(reservation, bytes) || !this.#isFree(reservation, bytes)) return false;
    this.set(reservation, bytes);
    return true;
  }

  /** Sets the size of a reservation regardless of the limits. Freed memory goes to the queue. */
  set(reservation: Reservation, bytes: number): void {
    const difference = bytes - reservation.bytes;
    if (difference === 0) return;
    const { name, address } = reservation.requester;
    this.#used += difference;
    add(this.#byName, name, difference);
    add(this.#byAddress, address, difference);
    reservation.bytes = bytes;
    if (difference < 0) this.#serveWaiting();
  }

  #isFree(reservation: Reservation, bytes: number): boolean {
    return this.#used - reservation.bytes + bytes <= this.#options.totalBytes;
  }

  #isWithinShares({ requester, bytes: own }: Reservation, bytes: number): boolean {
    const { totalBytes } = this.#options;
    return (
      isWithin(this.#byName.get(requester.name), own, bytes, totalBytes * shareOfName) &&
      isWithin(this.#byAddress.get(requester.address), own, bytes, totalBytes * shareOfAddress)
    );
  }

  #wait(reservation: Reservation, bytes: number): Promise<void> {
    const { maxWaiting, maxWaitMs } = this.#options;
    const { name } = reservation.requester;
    const ofName = this.#waiting.filter((other) => other.reservation.requester.name === name).length;
    const hasPlace = this.#waiting.length < maxWaiting && ofName < Math.ceil(maxWaiting * waitingOfName);
    if (!hasPlace || this.#wouldBlock(reservation)) {
      this.#options.onExhausted?.();
      throw new MemoryRefused('exhausted');
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        reservation,
        bytes,
        grant: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        this.#options.onExhausted?.();
        reject(new MemoryRefused('exhausted'));
        // Smaller reservations may be waiting behind this one.
        this.#serveWaiting();
      }, maxWaitMs);
      this.#waiting.push(waiting);
      this.#serveWaiting();
    });
  }

  /**
   * Whether waiting would cause a deadlock: memory held by reservations that wait to grow is not released before the first of
   * them gets its size.
   */
  #wouldBlock(newcomer: Reservation): boolean {
    if (newcomer.bytes === 0) return false;
    const growing = this.#waiting.filter(({ reservation }) => reservation.bytes > 0);
    const [first] = growing;
    if (first === undefined) return false;
    const heldByOthers = growing.slice(1).reduce((sum, { reservation }) => sum + reservation.bytes, newcomer.bytes);
    return first.bytes + heldByOthers > this.#options.totalBytes;
  }

  /** Grants waiting reservations in order while the next one fits. One that does not fit is not overtaken, or it could starve. */
  #serveWaiting(): void {
    for (;;) {
      const next = this.#findNext();
      if (next === undefined || !this.#isFree(next.reservation, next.bytes)) return;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.set(next.reservation, next.bytes);
      next.grant();
    }
  }

  /**
   * Returns the next waiting reservation within its shares: first one that already holds memory, because others may wait for
   * that memory; then that of the name that holds least; then the oldest.
   */
  #findNext(): Waiting | undefined {
    let next: Waiting | undefined;
    let least = Infinity;
    for (const waiting of this.#waiting) {
      const { reservation, bytes } = waiting;
      if (!this.#isWithinShares(reservation, bytes)) continue;
      if (reservation.bytes > 0) return waiting;
      const held = this.#byName.get(reservation.requester.name) ?? 0;
      if (held >= least) continue;
      next = waiting;
      least = held;
    }
    return next;
  }
}

/**
 * The memory of one request in whole bytes: sums of fractions do not return to 0. Must always be released.
 */
export class Reservation {
  readonly #budget: MemoryBudget;
  readonly requester: Requester;
  /** Only the budget changes it. */
  bytes = 0;
  #isReleased = false;

  constructor(budget: MemoryBudget, requester: Requester) {
    this.#budget = budget;
    this.requester = requester;
  }

  /**
   * Grows to a size; a larger reservation stays as it is.
   *
   * @returns `undefined` when it was done at once
   * @throws MemoryRefused at once, or by rejection after the wait
   */
  grow(bytes: number): Promise<void> | undefined {
    const whole = Math.ceil(bytes);
    if (whole <= this.bytes) return undefined;
    return this.#budget.grow(this, whole)?.then(() => {
      // The request may have been aborted while it waited.
      if (this.#isReleased) this.#budget.set(this, 0);
    });
  }

  /** Grows to a size if that is possible without waiting. */
  tryGrow(bytes: number): boolean {
    const whole = Math.ceil(bytes);
    return whole <= this.bytes || this.#budget.tryGrow(this, whole);
  }

  /** Sets the size regardless of the limits, for memory that is in use already. */
  force(bytes: number): void {
    if (!this.#isReleased) this.#budget.set(this, Math.ceil(bytes));
  }

  /** Releases all memory permanently. */
  release(): void {
    this.#isReleased = true;
    this.#budget.set(this, 0);
  }
}

/** Whether a reservation may grow: within the share, or as the only reservation of its requester. */
function isWithin(held = 0, own: number, bytes: number, share: number): boolean {
  return held === own || held - own + bytes <= share;
}

function add(held: Map<string, number>, key: string, bytes: number): void {
  const sum = (held.get(key) ?? 0) + bytes;
  if (sum === 0) held.delete(key);
  else held.set(key, sum);
}
