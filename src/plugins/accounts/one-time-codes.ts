// One-time codes that are sent to the owner of an account: activation keys and temporary passwords.
import { randomUUID } from 'node:crypto';
import type { SecurityState } from '../../contracts/security-state.ts';
import { digest } from './account-cache.ts';

export type CodePurpose = 'account-activation' | 'password-reset';

/** A code that was used up. */
export interface TakenCode {
  /** Makes the code valid again when the request is rolled back. */
  readonly giveBack: () => Promise<void>;
}

export class OneTimeCodes {
  readonly #state: SecurityState;
  readonly #secret: string;
  readonly #purpose: CodePurpose;
  readonly #ttlSeconds: number;

  constructor(state: SecurityState, secret: string, purpose: CodePurpose, ttlSeconds: number) {
    this.#state = state;
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
    const key = this.#key(id);
    // At most one code per account and purpose, so the number of entries is limited.
    const entry = { purpose: this.#purpose, key, requester, isBoundElsewhere: true };
    await this.#state.put(entry, digest(key, code), this.#ttlSeconds);
    return code;
  }

  /** Deletes the code of an account, if it has one. */
  async revoke(id: string): Promise<void> {
    await this.#state.remove({ purpose: this.#purpose, key: this.#key(id) });
  }

  /** Uses the code up. Exactly one of concurrent calls succeeds. A wrong code leaves the right one valid. */
  async take(id: string, code: string): Promise<TakenCode | undefined> {
    const key = this.#key(id);
    const taken = await this.#state.take({ purpose: this.#purpose, key }, digest(key, code));
    return taken === undefined ? undefined : { giveBack: () => this.#state.restore(taken) };
  }

  #key(id: string): string {
    return digest(this.#secret, `accounts:${id}:${this.#purpose}`);
  }
}
