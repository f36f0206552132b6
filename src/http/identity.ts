// From request headers to the caller: the configured policies are asked in their order, the first success wins.
import { JsonSyntaxError, type JsonValue } from '../base/json.ts';
import type { AuthenticationPolicy, Identity } from '../contracts/authentication.ts';
import { BackendUnavailable } from '../contracts/errors.ts';
import { anonymous, callerInGroups, completeCaller, type Caller } from '../engine/caller.ts';
import type { RequestHeaders, ServiceRequest } from '../engine/exchange.ts';
import type { Reader, Session } from '../engine/session.ts';

/** Further principals of a user, beside groups: labels from a directory, for example. Asked once for each request. */
export type PrincipalSource = (userId: string, reader: Reader) => Promise<Iterable<string>>;

/** A user id with prefix, and what the policy knows beside it. */
type Known = Identity & { readonly userId: string };

/** Resolves callers for one outer request; each set of credentials once, so that a batch sees one state of groups. */
export class Identities {
  readonly #policies: readonly AuthenticationPolicy[];
  readonly #sources: readonly PrincipalSource[];
  readonly #known = new Map<string, Promise<Known | undefined>>();
  readonly #resolved = new Map<string, Caller>();
  /** Policies that could not check credentials. They are not asked again, so that a batch waits for them once. */
  readonly #failed = new Map<AuthenticationPolicy, BackendUnavailable>();

  #userId: string | undefined;
  /** Whether several requests have to see one state of groups. */
  #isBatch = false;

  constructor(policies: readonly AuthenticationPolicy[], sources: readonly PrincipalSource[] = []) {
    this.#policies = policies;
    this.#sources = sources;
  }

  /** Of the first authenticated caller, for logs. */
  get userId(): string | undefined {
    return this.#userId;
  }

  /**
   * The caller, with all principals in a batch; anonymous when no policy recognises the request. Never fails because of wrong
   * credentials, unless there were too many.
   *
   * @param path decoded, without the version prefix
   * @throws BackendUnavailable when the credentials cannot be checked now; ServiceError clientAtCapacity
   */
  async resolve(request: ServiceRequest, session: Session, path: string): Promise<Caller> {
    const { headers } = request;
    if (this.#isAnonymous(headers)) return anonymous;
    const once = await this.#findOnce(request, session, path);
    if (once !== undefined) return this.#complete(await this.#toCaller(once, session));
    const credentials = headers['authorization'];
    const known = this.#resolved.get(credentials ?? '');
    const caller = known ?? (await this.#toCaller(await this.#find(request), session));
    const resolved = await this.#complete(caller);
    if (credentials !== undefined && resolved !== known) this.#resolved.set(credentials, resolved);
    return resolved;
  }

  /** Asks the policies about the entries of a batch now, and keeps what they say for `resolve`. Never fails. */
  async prepare(all: readonly ServiceRequest[]): Promise<void> {
    this.#isBatch = true;
    for (const request of all) {
      // One after another: a policy that fails is asked once, not once for each entry.
      if (!this.#isAnonymous(request.headers)) await this.#find(request).catch(ignore);
    }
  }

  #isAnonymous(headers: RequestHeaders): boolean {
    return (
      headers['authorization'] === undefined &&
      this.#policies.every((policy) => policy.usesAuthorizationHeader !== false)
    );
  }

  #find(request: ServiceRequest): Promise<Known | undefined> {
    const credentials = request.headers['authorization'];
    if (credentials === undefined) return this.#authenticate(request);
    let known = this.#known.get(credentials);
    if (known === undefined) {
      known = this.#authenticate(request);
      this.#known.set(credentials, known);
    }
    return known;
  }

  async #authenticate(request: ServiceRequest): Promise<Known | undefined> {
    let failure: BackendUnavailable | undefined;
    for (const policy of this.#policies) {
      try {
        const found = await this.#ask(policy, request);
        if (found === undefined) continue;
        const identity = typeof found === 'string' ? { id: found } : found;
        return { ...identity, userId: `${policy.name}:${identity.id}` };
      } catch (error) {
        // Somebody else may know the credentials: one that is down keeps only its own users out.
        if (!(error instanceof BackendUnavailable)) throw error;
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return undefined;
  }

  async #ask(
    policy: AuthenticationPolicy,
    { headers, clientAddress: address }: ServiceRequest,
  ): Promise<string | Identity | undefined> {
    const earlier = this.#failed.get(policy);
    if (earlier !== undefined) throw earlier;
    try {
      return await policy.authenticate({ headers, address });
    } catch (error) {
      if (error instanceof BackendUnavailable) this.#failed.set(policy, error);
      throw error;
    }
  }

  /** What credentials are good for once is kept for no other request. */
  async #findOnce(request: ServiceRequest, session: Session, path: string): Promise<Known | undefined> {
    const { headers, method, body, clientAddress: address } = request;
    for (const policy of this.#policies) {
      const readBody = (): JsonValue | undefined => (body.isEmpty ? undefined : parseQuietly(body));
      const found = await policy.authenticateOnce?.({ headers, address }, { method, path, readBody });
      if (found === undefined) continue;
      session.onAbandon(found.giveBack);
      return { id: found.id, userId: `${policy.name}:${found.id}` };
    }
    return undefined;
  }

  async #toCaller(known: Known | undefined, session: Session): Promise<Caller> {
    if (known === undefined) return anonymous;
    this.#userId ??= known.userId;
    const { userId, profile } = known;
    const given = this.#sources.length === 0 ? [] : await this.#askSources(userId, session.reader);
    const readGroups = (): Promise<Iterable<string>> => session.reader.permission.getUserPrincipals(userId);
    const caller = callerInGroups(userId, given, readGroups, profile);
    return caller;
  }

  /** The entries of a batch see one state of groups; a request alone lets the backend look, along with everything else. */
  #complete(caller: Caller): Caller | Promise<Caller> {
    return this.#isBatch ? completeCaller(caller) : caller;
  }

  async #askSources(userId: string, reader: Reader): Promise<readonly string[]> {
    const given = await Promise.all(this.#sources.map((source) => source(userId, reader)));
    return given.flatMap((principals) => [...principals]);
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

function ignore(): void {
  // Whoever resolves the same credentials gets the same failure.
}
