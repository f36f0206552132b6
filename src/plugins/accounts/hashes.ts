// Hashes made before a list is locked, kept until the write picks them up.
import type { Session } from '../../engine/session.ts';
import type { Passwords } from './passwords.ts';

export class PreparedHashes {
  readonly #passwords: Passwords;
  readonly #bySession = new WeakMap<Session, Map<string, string>>();

  constructor(passwords: Passwords) {
    this.#passwords = passwords;
  }

  async prepare(session: Session, password: string): Promise<void> {
    const hash = await this.#passwords.hash(password);
    const known = this.#bySession.get(session) ?? new Map<string, string>();
    known.set(password, hash);
    this.#bySession.set(session, known);
  }

  /** The prepared hash, once; made now when the password is another one than expected. */
  async take(session: Session, password: string): Promise<string> {
    const known = this.#bySession.get(session);
    const hash = known?.get(password);
    known?.delete(password);
    return hash ?? this.#passwords.hash(password);
  }
}
