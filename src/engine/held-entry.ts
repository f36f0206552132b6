// Entries of the security state that a request uses up: one-time codes, and tokens of deletions in pages.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { OnceCredentials } from '../contracts/authentication.ts';
import type { SecurityKey, SecurityState } from '../contracts/security-state.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/**
 * Time for which a request holds an entry. Each wait of a request (for a password check, a connection, a lock, a statement) is
 * limited to half a minute at most by default, so a request that still runs seldom loses its entry. If it does, it is refused.
 */
const heldMs = 300_000;

/** The mark in place of the value of a held entry: end of the hold, id of the request, value, and the version if it is known. */
const markForm = /^held (\d+) [\w-]+ (\S+)(?: (\d+))?$/;

/** The store of the entries, and the clock that ends holds. */
export interface HeldEntryStore {
  readonly state: SecurityState;
  readonly clock: Clock;
}

/**
 * An entry that one request holds, so that no other can use it. It stays in the store under a mark: what revokes it removes it,
 * and then nothing is left to give back.
 *
 * The mark lapses, because a process may end, or lose the store, before it gives the entry back. Then another request can hold
 * the entry. Its first holder may still run, or may have committed. Therefore `isValid` writes the version of what the request
 * changes into the mark before the commit, and the next holder is valid only for the same version. Marks of earlier versions
 * have neither value nor time. A code cannot be compared with them, so they hold until they expire.
 */
export class HeldEntry implements OnceCredentials {
  readonly #state: SecurityState;
  readonly #key: SecurityKey;
  /** Text in the store before: the value, or a mark that had lapsed. */
  readonly #found: string;
  #mark: string;
  #version: number | undefined;

  private constructor(state: SecurityState, key: SecurityKey, found: string, mark: string, version?: number) {
    this.#state = state;
    this.#key = key;
    this.#found = found;
    this.#mark = mark;
    this.#version = version;
  }

  /** Holds the entry if it has this value, which contains no blanks. Of concurrent calls exactly one gets it. */
  static async hold({ state, clock }: HeldEntryStore, key: SecurityKey, value: string): Promise<HeldEntry | undefined> {
    const now = clock.now();
    const unversioned = `held ${now + heldMs} ${randomUUID()} ${value}`;
    if (await state.replace(key, value, unversioned)) return new HeldEntry(state, key, value, unversioned);
    const found = (await state.get(key)) ?? '';
    const [, until, held, version] = markForm.exec(found) ?? [];
    if (held !== value || Number(until) > now) return undefined;
    const mark = version === undefined ? unversioned : `${unversioned} ${version}`;
    if (!(await state.replace(key, found, mark))) return undefined;
    return new HeldEntry(state, key, found, mark, version === undefined ? undefined : Number(version));
  }

  /**
   * Returns whether the request may use the entry: it was neither revoked nor replaced nor taken over after a lapse, and no
   * earlier holder has used it. Called before the commit, under the lock that each use of the entry takes.
   *
   * @param version timestamp of what the request changes, as it was before; each use of the entry makes it another one
   */
  async isValid(version: number): Promise<boolean> {
    if (this.#version !== undefined) return this.#version === version && (await this.#isStored());
    const versioned = `${this.#mark} ${version}`;
    if (!(await this.#state.replace(this.#key, this.#mark, versioned))) return false;
    this.#mark = versioned;
    this.#version = version;
    return true;
  }

  async #isStored(): Promise<boolean> {
    return (await this.#state.get(this.#key)) === this.#mark;
  }

  /** Makes the entry usable again. Has no effect on an entry that was revoked, replaced, taken over or given back. */
  async giveBack(): Promise<void> {
    await this.#state.replace(this.#key, this.#mark, this.#found);
  }

  /** Removes the entry. */
  async useUp(): Promise<void> {
    await this.#state.take(this.#key, this.#mark);
  }
}

/**
 * Ends the use of a held entry with the unit of work. What may have been committed does not make it usable again at once: the
 * mark lapses, and its version decides.
 */
export function settleWith(unit: UnitOfWork, held: OnceCredentials): void {
  unit.afterCommit(() => held.useUp());
  unit.onAbandon((fate) => (fate === 'undone' ? held.giveBack() : undefined));
}
