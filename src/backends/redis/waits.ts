// Who waits for whom inside one process, so that units which would wait in a circle are told so at once.
import { TransactionConflict } from '../../contracts/errors.ts';

/** Whoever takes turns or holds objects; compared by identity. */
export type Holder = object;

/** Those that someone waits for, as they are when asked. */
export type Blockers = () => Iterable<Holder>;

export class Waits {
  readonly #waiting = new Map<Holder, Set<Blockers>>();

  /**
   * Notes that a holder begins to wait.
   *
   * @returns to be called when the wait is over
   * @throws TransactionConflict when those it would wait for wait for it
   */
  begin(holder: Holder, blockers: Blockers): () => void {
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
