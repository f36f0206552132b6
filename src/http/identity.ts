// From request headers to the caller: the configured policies are asked in their order, the first success wins.
import type { AuthenticationPolicy } from '../contracts/authentication.ts';
import { anonymous, authenticatedCaller, type Caller } from '../engine/caller.ts';
import type { RequestHeaders } from '../engine/exchange.ts';
import type { Reader, Session } from '../engine/session.ts';

/** Further principals of a user, beside groups: labels from a directory, for example. Asked once for each request. */
export type PrincipalSource = (userId: string, reader: Reader) => Promise<Iterable<string>>;

/** Resolves callers for one outer request; each set of credentials once, so that a batch sees one state of groups. */
export class Identities {
  readonly #policies: readonly AuthenticationPolicy[];
  readonly #sources: readonly PrincipalSource[];
  readonly #resolved = new Map<string, Caller>();

  #userId: string | undefined;

  constructor(policies: readonly AuthenticationPolicy[], sources: readonly PrincipalSource[] = []) {
    this.#policies = policies;
    this.#sources = sources;
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

  async #principalsOf(userId: string, reader: Reader): Promise<Iterable<string>> {
    const groups = reader.permission.getUserPrincipals(userId);
    if (this.#sources.length === 0) return groups;
    const given = await Promise.all([groups, ...this.#sources.map((source) => source(userId, reader))]);
    return given.flatMap((principals) => [...principals]);
  }

  async #authenticate(headers: RequestHeaders, session: Session): Promise<Caller> {
    for (const policy of this.#policies) {
      const id = await policy.authenticate({ headers });
      if (id === undefined) continue;
      const userId = `${policy.name}:${id}`;
      this.#userId ??= userId;
      return authenticatedCaller(userId, await this.#principalsOf(userId, session.reader));
    }
    return anonymous;
  }
}
