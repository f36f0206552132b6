// Expects long units of work. The commit and the flush of a long unit take long too, so the units before it are committed
// without it.
import type { UserId } from '../../core/permissions/principals.ts';

/** Maximum number of users that are remembered. */
const maxUsers = 1000;

export class LongUnits {
  readonly #longMs: number;
  /** Users whose last unit was long. */
  readonly #users = new Set<string | undefined>();

  /** @param longMs time of a unit from which its user is expected to need as much for the next one */
  constructor(longMs: number) {
    this.#longMs = longMs;
  }

  /** Notes the duration of a unit. */
  note(userId: UserId | undefined, ms: number): void {
    if (ms < this.#longMs) this.#users.delete(userId);
    else {
      if (this.#users.size >= maxUsers) this.#users.clear();
      this.#users.add(userId);
    }
  }

  /** Whether the next unit is expected to be long. The queue is searched for it only when users of long units are known. */
  isNextOf(queue: { readonly first: { readonly userId: UserId | undefined } | undefined }): boolean {
    if (this.#users.size === 0) return false;
    const { first } = queue;
    return first !== undefined && this.#users.has(first.userId);
  }
}
