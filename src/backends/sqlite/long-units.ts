// Expects long units of work. The commit and the flush of a long unit take long too, so the units before it are committed
// without it.

/** Maximum number of parties that are remembered. */
const maxParties = 1000;

export class LongUnits {
  readonly #longMs: number;
  /** Parties whose last unit was long. */
  readonly #parties = new Set<string | undefined>();

  /** @param longMs time of a unit from which its party is expected to need as much for the next one */
  constructor(longMs: number) {
    this.#longMs = longMs;
  }

  /** Notes the duration of a unit. */
  note(party: string | undefined, ms: number): void {
    if (ms < this.#longMs) this.#parties.delete(party);
    else {
      if (this.#parties.size >= maxParties) this.#parties.clear();
      this.#parties.add(party);
    }
  }

  /** Whether the next unit is expected to be long. The queue is searched for it only when parties of long units are known. */
  isNextOf(queue: { readonly first: { readonly party: string | undefined } | undefined }): boolean {
    if (this.#parties.size === 0) return false;
    const { first } = queue;
    return first !== undefined && this.#parties.has(first.party);
  }
}
