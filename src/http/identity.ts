// From request headers to the caller: the configured policies are asked in their order, the first success wins.
import type { AuthenticationPolicy } from '../contracts/authentication.ts';
import { anonymous, authenticatedCaller, type Caller } from '../engine/caller.ts';
import { JsonSyntaxError, type JsonValue } from '../base/json.ts';
import type { ServiceRequest } from '../engine/exchange.ts';
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
   * credentials, unless there were too many.
   *
   * @param path decoded, without the version prefix
   * @throws ServiceError clientAtCapacity
   */
  async resolve(request: ServiceRequest, session: Session, path: string): Promise<Caller> {
    const { headers } = request;
    const credentials = headers['authorization'];
    if (credentials === undefined && this.#policies.every((policy) => policy.usesAuthorizationHeader !== false)) {
      return anonymous;
    }
    const once = await this.#authenticateOnce(request, session, path);
    if (once !== undefined) return once;
    const key = credentials ?? '';
    let caller = this.#resolved.get(key);
    if (caller === undefined) {
      caller = await this.#authenticate(request, session);
      if (credentials !== undefined) this.#resolved.set(key, caller);
    }
    return caller;
  }

  async #authenticate({ headers, clientAddress: address }: ServiceRequest, session: Session): Promise<Caller> {
    for (const policy of this.#policies) {
      const id = await policy.authenticate({ headers, address });
      if (id !== undefined) return this.#toCaller(policy, id, session);
    }
    return anonymous;
  }

  /** What credentials are good for once is kept for no other request. */
  async #authenticateOnce(request: ServiceRequest, session: Session, path: string): Promise<Caller | undefined> {
    const { headers, method, body, clientAddress: address } = request;
    for (const policy of this.#policies) {
      const readBody = (): JsonValue | undefined => (body.isEmpty ? undefined : parseQuietly(body));
      const found = await policy.authenticateOnce?.({ headers, address }, { method, path, readBody });
      if (found === undefined) continue;
      session.onAbandon(found.giveBack);
      return this.#toCaller(policy, found.id, session);
    }
    return undefined;
  }

  async #toCaller({ name }: AuthenticationPolicy, id: string, session: Session): Promise<Caller> {
    const userId = `${name}:${id}`;
    this.#userId ??= userId;
    return authenticatedCaller(userId, await session.reader.permission.getUserPrincipals(userId));
  }
}

/** A body that is no JSON is for the handler to refuse. */
function parseQuietly(body: ServiceRequest['body']): JsonValue | undefined {
  try {
    return body.parse();
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
