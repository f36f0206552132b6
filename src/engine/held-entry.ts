// Entries of the security state that a request uses up: one-time codes, and tokens of deletions in pages.
import { randomUUID } from 'node:crypto';
import type { OnceCredentials } from '../contracts/authentication.ts';
import type { SecurityKey, SecurityState } from '../contracts/security-state.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/**
 * An entry that one request holds, so that no other can use it. It stays in the store under another value: who revokes it
 * removes it, and then nothing is left to give back. Where a process ends in between, it stays held until it expires.
 */
export class HeldEntry implements OnceCredentials {
  readonly #state: SecurityState;
  readonly #key: SecurityKey;
  readonly #value: string;
  readonly #mark: string;

  private constructor(state: SecurityState, key: SecurityKey, value: string, mark: string) {
    this.#state = state;
    this.#key = key;
    this.#value = value;
    this.#mark = mark;
  }

  /** Holds the entry if it has this value. Of concurrent calls exactly one gets it. */
  static async hold(state: SecurityState, key: SecurityKey, value: string): Promise<HeldEntry | undefined> {
    const mark = `held ${randomUUID()}`;
    return (await state.replace(key, value, mark)) ? new HeldEntry(state, key, value, mark) : undefined;
  }

  /** Returns whether the entry was neither revoked nor replaced by a new one. */
  async isValid(): Promise<boolean> {
    return (await this.#state.get(this.#key)) === this.#mark;
  }

  /** Makes the entry usable again. Has no effect on an entry that was revoked, replaced or given back. */
  async giveBack(): Promise<void> {
    await this.#state.replace(this.#key, this.#mark, this.#value);
  }

  /** Removes the entry. */
  async useUp(): Promise<void> {
    await this.#state.take(this.#key, this.#mark);
  }
}

/** Ends the use of a held entry with the unit of work. What may have been committed does not make it usable again. */
export function settleWith(unit: UnitOfWork, held: OnceCredentials): void {
  unit.afterCommit(() => held.useUp());
  unit.onAbandon((fate) => (fate === 'undone' ? held.giveBack() : undefined));
}
