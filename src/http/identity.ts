// From request headers to the caller: the configured policies are asked in their order, the first success wins.
import type { AuthenticationPolicy } from '../contracts/authentication.ts';
import { anonymous, authenticatedCaller, type Caller } from '../engine/caller.ts';
import type { RequestHeaders } from '../engine/exchange.ts';
import type { Session } from '../engine/session.ts';

/** Resolves callers for one outer request; each set of credentials once, so that a batch sees one state of groups. */
export class Identities {
  readonly #policies: readonly AuthenticationPolicy[];
  readonly #resolved = new Map<string, Caller>();

  #userId: string | undefined;

  constructor(policies: readonly AuthenticationPolicy[]) {
    this.#policies = policies;
  }

  /** Of the first authenticated caller, for logs. */
  get userId(): string | undefined {
    return this.#userId;
  }

  /**
   * The caller with all principals; anonymous when no policy recognises the request. Never fails because of wrong
   * credentials.
   */
  async resolve(headers: RequestHeaders, session: Session): Promise<Caller> {
    const credentials = headers['authorization'];
    if (credentials === undefined && this.#policies.every((policy) => policy.usesAuthorizationHeader !== false)) {
      return anonymous;
    }
    const key = credentials ?? '';
    let caller = this.#resolved.get(key);
    if (caller === undefined) {
      caller = await this.#authenticate(headers, session);
      if (credentials !== undefined) this.#resolved.set(key, caller);
    }
    return caller;
  }

  async #authenticate(headers: RequestHeaders, session: Session): Promise<Caller> {
    for (const policy of this.#policies) {
      const id = await policy.authenticate({ headers });
      if (id === undefined) continue;
      const userId = `${policy.name}:${id}`;
      this.#userId ??= userId;
      return authenticatedCaller(userId, await session.reader.permission.getUserPrincipals(userId));
    }
    return anonymous;
  }
}
