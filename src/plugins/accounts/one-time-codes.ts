// One-time codes that are sent to the owner of an account: activation keys and temporary passwords.
import { randomUUID } from 'node:crypto';
import type { SecurityEntry, SecurityState } from '../../contracts/security-state.ts';
import { HeldEntry, type HeldEntryStore } from '../../engine/held-entry.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import { digest } from './account-cache.ts';

export type CodePurpose = 'account-activation' | 'password-reset';

export class OneTimeCodes {
  readonly #store: HeldEntryStore;
  readonly #state: SecurityState;
  readonly #secret: string;
  readonly #purpose: CodePurpose;
  readonly #ttlSeconds: number;

  constructor(store: HeldEntryStore, secret: string, purpose: CodePurpose, ttlSeconds: number) {
    this.#store = store;
    this.#state = store.state;
    this.#secret = secret;
    this.#purpose = purpose;
    this.#ttlSeconds = ttlSeconds;
  }

  /**
   * Creates a code for an account, which replaces an earlier one.
   *
   * @param requester whose share of the security state the code counts against
   * @throws SecurityStateFull
   */
  async issue(id: string, requester: string | undefined): Promise<string> {
    const code = randomUUID();
    const entry = this.#entry(id, requester);
    await this.#state.put(entry, digest(entry.key, code), this.#ttlSeconds);
    return code;
  }

  /**
   * Creates a code for an account that a unit of work creates. Of several requests that create it at the same time, the code
   * of the one that commits counts.
   *
   * @param requester see `issue`
   * @throws SecurityStateFull
   */
  async issueWith(unit: UnitOfWork, id: string, requester: string | undefined): Promise<string> {
    const code = randomUUID();
    const entry = this.#entry(id, requester);
    const value = digest(entry.key, code);
    // Refused before the commit if there is no room. The code of another request stays until one of them commits.
    await this.#state.add(entry, value, this.#ttlSeconds);
    unit.onAbandon(async (fate) => {
      if (fate === 'undone') await this.#state.take(entry, value);
    });
    unit.afterCommit(() => this.#state.put(entry, value, this.#ttlSeconds));
    return code;
  }

  /** Deletes the code of an account, if it has one, also while a request holds it. */
  async revoke(id: string): Promise<void> {
    await this.#state.remove({ purpose: this.#purpose, key: this.#key(id) });
  }

  /** Holds the code for a request. Exactly one of concurrent calls succeeds. A wrong code leaves the right one valid. */
  hold(id: string, code: string): Promise<HeldEntry | undefined> {
    const key = this.#key(id);
    return HeldEntry.hold(this.#store, { purpose: this.#purpose, key }, digest(key, code));
  }

  /** At most one code per account and purpose, so the number of entries is limited. */
  #entry(id: string, requester: string | undefined): SecurityEntry {
    return { purpose: this.#purpose, key: this.#key(id), requester, isBoundElsewhere: true };
  }

  #key(id: string): string {
    return digest(this.#secret, `accounts:${id}:${this.#purpose}`);
  }
}
