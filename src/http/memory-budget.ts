// A number of bytes that large requests share. A request reserves what it is going to hold; while that is not free it waits
// for a while, in a bounded queue that serves the requester that holds least first. Nothing here knows about HTTP.

/** Who reserves: limits hold for the credentials, and, more generously, for all credentials of one address. */
export interface Requester {
  readonly name: string;
  readonly address: string;
}

export interface MemoryBudgetOptions {
  readonly totalBytes: number;
  /** Milliseconds that a reservation may wait. */
  readonly maxWaitMs: number;
  /** Reservations that may wait at the same time. */
  readonly maxWaiting: number;
  /** Called when a reservation is refused because others hold too much. */
  readonly onExhausted?: (() => void) | undefined;
}

/** Why a reservation is refused: it is larger than the whole budget, or others hold too much. */
export class MemoryRefused extends Error {
  readonly reason: 'never' | 'exhausted';

  constructor(reason: MemoryRefused['reason']) {
    super(reason === 'never' ? 'larger than the memory budget' : 'the memory budget is exhausted');
    this.name = 'MemoryRefused';
    this.reason = reason;
  }
}

/** Parts of the budget that one name and one address may hold, unless it is a single reservation. */
const shareOfName = 1 / 4;
const shareOfAddress = 3 / 4;
/** Part of the waiting places that one name may take. */
const waitingOfName = 1 / 4;

interface Waiting {
  readonly reservation: Reservation;
  /** The size that the reservation waits for. */
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

  /** Bytes that are reserved at the moment. More than the total where `Reservation.force` was used. */
  get usedBytes(): number {
    return this.#used;
  }

  get totalBytes(): number {
    return this.#options.totalBytes;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** A reservation of nothing so far. */
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
    // Those that wait for their own share do not hold up others.
    if (this.#findNext() === undefined && this.tryGrow(reservation, bytes)) return undefined;
    return this.#wait(reservation, bytes);
  }

  /** Grows a reservation if that is possible at once. */
  tryGrow(reservation: Reservation, bytes: number): boolean {
    if (!this.#isWithinShares(reservation, bytes) || !this.#isFree(reservation, bytes)) return false;
    this.set(reservation, bytes);
    return true;
  }

  /** Changes the size of a reservation, whatever is free. What becomes free goes to those that wait. */
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
        // Smaller reservations may have waited behind this one.
        this.#serveWaiting();
      }, maxWaitMs);
      this.#waiting.push(waiting);
      this.#serveWaiting();
    });
  }

  /**
   * Whether a reservation that holds something would wait for another one that waits for it: what is held by those that
   * wait to grow is not given back before the first of them has what it needs.
   */
  #wouldBlock(newcomer: Reservation): boolean {
    if (newcomer.bytes === 0) return false;
    const growing = this.#waiting.filter(({ reservation }) => reservation.bytes > 0);
    const [first] = growing;
    if (first === undefined) return false;
    const heldByOthers = growing.slice(1).reduce((sum, { reservation }) => sum + reservation.bytes, newcomer.bytes);
    return first.bytes + heldByOthers > this.#options.totalBytes;
  }

  /** Grants in order as long as the next one fits. One that does not fit is not overtaken, or it might never fit. */
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
   * The next of those whose shares allow it: first a reservation that holds something already, since others may wait for
   * that, then that of the name that holds least, then the oldest.
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
 * What one request holds, in whole bytes: sums of fractions do not come back to 0, and a reservation of all there is would
 * never be free again. To be released whatever becomes of the request.
 */
export class Reservation {
  readonly #budget: MemoryBudget;
  readonly requester: Requester;
  /** Changed by the budget alone. */
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
      // The client may have gone while the request waited.
      if (this.#isReleased) this.#budget.set(this, 0);
    });
  }

  /** Grows to a size if that is possible at once. */
  tryGrow(bytes: number): boolean {
    const whole = Math.ceil(bytes);
    return whole <= this.bytes || this.#budget.tryGrow(this, whole);
  }

  /** Takes this size, larger or smaller, whatever is free: for memory that is in use already. */
  force(bytes: number): void {
    if (!this.#isReleased) this.#budget.set(this, Math.ceil(bytes));
  }

  /** Gives everything back, now and for good. */
  release(): void {
    this.#isReleased = true;
    this.#budget.set(this, 0);
  }
}

/** Whether a reservation may grow: within the share, or when its requester holds nothing else. */
function isWithin(held = 0, own: number, bytes: number, share: number): boolean {
  return held === own || held - own + bytes <= share;
}

function add(held: Map<string, number>, key: string, bytes: number): void {
  const sum = (held.get(key) ?? 0) + bytes;
  if (sum === 0) held.delete(key);
  else held.set(key, sum);
}
