// Which holders in this process wait for which others. A wait that would close a circle fails at once. A wait that takes
// too long fails too, because a holder in front may wait for a server that does not respond.
import { BackendUnavailable, TransactionConflict } from '../../contracts/errors.ts';

/** A unit of work that waits for lists or objects, or has them; compared by identity. */
export type Holder = object;

/** Returns the holders that another one waits for at the moment. */
export type Blockers = () => Iterable<Holder>;

const tooLong = 'other requests kept a lock for too long';

export class LockWaits {
  readonly #timeoutMs: number;
  readonly #waiting = new Map<Holder, Set<Blockers>>();

  /** @param timeoutMs maximum time of a wait */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Waits for other holders.
   *
   * @param join joins a queue; receives a function that ends the wait, and returns one that leaves the queue
   * @throws TransactionConflict when one of the others waits for this holder; BackendUnavailable when the wait takes too
   *   long
   */
  async wait(holder: Holder, blockers: Blockers, join: (resume: () => void) => () => void): Promise<void> {
    const ended = this.#begin(holder, blockers);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resume, reject) => {
        const leave = join(resume);
        timer = setTimeout(() => {
          leave();
          reject(new BackendUnavailable('storage', `Redis: ${tooLong}`, { reason: tooLong }));
        }, this.#timeoutMs);
      });
    } finally {
      clearTimeout(timer);
      ended();
    }
  }

  #begin(holder: Holder, blockers: Blockers): () => void {
    if (this.#leadsTo(holder, blockers)) throw new TransactionConflict('units of work wait for each other');
    const known = this.#waiting.get(holder);
    const waits = known ?? new Set();
    if (known === undefined) this.#waiting.set(holder, waits);
    waits.add(blockers);
    return () => {
      waits.delete(blockers);
      if (waits.size === 0) this.#waiting.delete(holder);
    };
  }

  #leadsTo(holder: Holder, blockers: Blockers): boolean {
    const seen = new Set<Holder>();
    const open = [...blockers()];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === holder) return true;
      if (seen.has(next)) continue;
      seen.add(next);
      for (const further of this.#waiting.get(next) ?? []) open.push(...further());
    }
    return false;
  }
}
