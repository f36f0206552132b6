// Who waits for whom inside one process, so that units which would wait in a circle are told so at once, and those that
// have waited for too long are told so as well: each of those in front may wait for a server that does not answer.
import { BackendUnavailable, TransactionConflict } from '../../contracts/errors.ts';

/** Whoever takes turns or holds objects; compared by identity. */
export type Holder = object;

/** Those that someone waits for, as they are when asked. */
export type Blockers = () => Iterable<Holder>;

const tooLong = 'others kept what the request needs for too long';

export class LockWaits {
  readonly #timeoutMs: number;
  readonly #waiting = new Map<Holder, Set<Blockers>>();

  /** @param timeoutMs the longest that anybody waits */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Waits for others.
   *
   * @param join lines up; is given what ends the wait, and returns what leaves the line
   * @throws TransactionConflict when those it would wait for wait for it; BackendUnavailable when it takes too long
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
