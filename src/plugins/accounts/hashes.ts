// Password hashes computed before a list is locked, stored until the write uses them.
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import type { Passwords } from './passwords.ts';

export class PreparedHashes {
  readonly #passwords: Passwords;
  readonly #bySession = new WeakMap<UnitOfWork, Map<string, string>>();

  constructor(passwords: Passwords) {
    this.#passwords = passwords;
  }

  async prepare(unit: UnitOfWork, password: string): Promise<void> {
    const hash = await this.#passwords.hash(password);
    const known = this.#bySession.get(unit) ?? new Map<string, string>();
    known.set(password, hash);
    this.#bySession.set(unit, known);
  }

  /** Returns the prepared hash once. Computes it now if the password differs from the prepared one. */
  async take(unit: UnitOfWork, password: string): Promise<string> {
    const known = this.#bySession.get(unit);
    const hash = known?.get(password);
    known?.delete(password);
    return hash ?? this.#passwords.hash(password);
  }
}
