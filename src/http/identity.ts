// Identifies the caller of a request: calls the configured policies in order; the first user id wins.
import type { JsonValue } from '../base/json.ts';
import type { AuthenticationPolicy, OnceCredentials } from '../contracts/authentication.ts';
import { BackendUnavailable } from '../contracts/errors.ts';
import { ServiceError } from '../core/errors.ts';
import { formatUserId, toPrincipals, type Principal, type UserId } from '../core/permissions/principals.ts';
import { anonymous, callerInGroups, completeCaller, type Caller } from '../engine/caller.ts';
import type { RequestHeaders, ServiceRequest } from '../engine/exchange.ts';
import { settleWith } from '../engine/held-entry.ts';
import type { Reader, UnitOfWork } from '../engine/unit-of-work.ts';

/** Returns further principals of a user besides groups, such as labels from a directory. Called once per request. */
export type PrincipalSource = (userId: UserId, reader: Reader) => Promise<Iterable<string>>;

/** A user id with prefix, and what the policy knows besides. */
interface Known extends Pick<Caller, 'profile' | 'proof'> {
  readonly userId: UserId;
}

/** Identities by what the policies read of a request: see `#keyOf`. */
interface BatchIdentities {
  readonly found: Map<string, Promise<Known | undefined>>;
  readonly resolved: Map<string, Caller>;
  /** Policies that failed. They are not called again, so a batch waits for them once. */
  readonly failed: Map<AuthenticationPolicy, BackendUnavailable>;
}

const noPrincipals: readonly Principal[] = [];

/** Policies and principal sources of a service. */
export interface IdentitySources {
  readonly policies: readonly AuthenticationPolicy[];
  readonly principals: readonly PrincipalSource[];
}

/** Identifies the callers of an outer request; each credentials once, so that a batch sees one state of groups. */
export class Identities {
  readonly #policies: readonly AuthenticationPolicy[];
  readonly #sources: readonly PrincipalSource[];
  /** Identity of the outer request. */
  #own: { readonly key: string; readonly known: Promise<Known | undefined> } | undefined;
  /** Shared state of batch entries. */
  #batch: BatchIdentities | undefined;
  #userId: UserId | undefined;

  constructor({ policies, principals }: IdentitySources) {
    this.#policies = policies;
    this.#sources = principals;
  }

  /** User id of the first authenticated caller, for logs. */
  get userId(): UserId | undefined {
    return this.#userId;
  }

  /**
   * Returns the caller, with all principals in a batch; anonymous when no policy recognises the request. Wrong credentials are
   * no error, unless a limit of attempts is exceeded.
   *
   * @param path decoded, without the version prefix
   * @throws BackendUnavailable when the credentials cannot be checked now; ServiceError clientAtCapacity
   */
  async resolve(request: ServiceRequest, unit: UnitOfWork, path: string): Promise<Caller> {
    const { headers } = request;
    if (this.#isAnonymous(headers)) return anonymous;
    for (const policy of this.#policies) {
      if (policy.authenticateOnce === undefined) continue;
      const once = await authenticateOnce(policy, request, path);
      if (once === undefined) continue;
      settleWith(unit, once.credentials);
      return { ...(await this.#complete(await this.#toCaller(once.known, unit))), once: once.credentials };
    }
    const key = this.#keyOf(headers);
    const resolved = this.#batch?.resolved.get(key);
    if (resolved !== undefined) return resolved;
    const caller = await this.#complete(await this.#toCaller(await this.#find(request, key), unit));
    this.#batch?.resolved.set(key, caller);
    return caller;
  }

  /**
   * Returns the caller with the credentials and groups of now, after the body of the request has arrived slowly.
   *
   * @throws ServiceError missingAuthToken when the credentials are those of the caller no longer; as `resolve`
   */
  async confirm(caller: Caller, request: ServiceRequest, unit: UnitOfWork, path: string): Promise<Caller> {
    this.#own = undefined;
    const confirmed = await this.resolve(request, unit, path);
    if (confirmed.userId !== caller.userId) throw new ServiceError('missingAuthToken');
    return confirmed;
  }

  /** Authenticates the entries of a batch in advance for `resolve`. Never fails. */
  async prepare(all: readonly ServiceRequest[]): Promise<void> {
    const own = this.#own === undefined ? [] : [[this.#own.key, this.#own.known] as const];
    this.#batch ??= { found: new Map(own), resolved: new Map(), failed: new Map() };
    for (const request of all) {
      // One after another: a failing policy is called once, not once per entry.
      const { headers } = request;
      if (!this.#isAnonymous(headers)) await this.#find(request, this.#keyOf(headers)).catch(ignore);
    }
  }

  #isAnonymous(headers: RequestHeaders): boolean {
    return headers['authorization'] === undefined && this.#readAuthorizationOnly;
  }

  get #readAuthorizationOnly(): boolean {
    return this.#policies.every((policy) => policy.usesAuthorizationHeader !== false);
  }

  /** Returns a text that is equal only for requests that are the same to every policy. */
  #keyOf(headers: RequestHeaders): string {
    if (this.#readAuthorizationOnly) return headers['authorization'] ?? '';
    return JSON.stringify(Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** @param key `#keyOf` the headers */
  #find(request: ServiceRequest, key: string): Promise<Known | undefined> {
    if (this.#batch === undefined) return (this.#own ??= { key, known: this.#authenticate(request) }).known;
    let known = this.#batch.found.get(key);
    if (known === undefined) {
      known = this.#authenticate(request);
      this.#batch.found.set(key, known);
    }
    return known;
  }

  async #authenticate({ headers, clientAddress: address }: ServiceRequest): Promise<Known | undefined> {
    let failure: BackendUnavailable | undefined;
    for (const policy of this.#policies) {
      if (failure !== undefined && policy.acceptsAnyCredentials === true) continue;
      const earlier = this.#batch?.failed.get(policy);
      if (earlier !== undefined) {
        failure ??= earlier;
        continue;
      }
      try {
        const answer = policy.authenticate({ headers, address });
        const found = answer instanceof Promise ? await answer : answer;
        if (found === undefined) continue;
        return typeof found === 'string'
          ? { userId: formatUserId(policy.name, found) }
          : { userId: formatUserId(policy.name, found.id), profile: found.profile, proof: found.proof };
      } catch (error) {
        // Another policy may know the credentials: a failing policy affects only its own users.
        if (!(error instanceof BackendUnavailable)) throw error;
        this.#batch?.failed.set(policy, error);
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return undefined;
  }

  async #toCaller(known: Known | undefined, unit: UnitOfWork): Promise<Caller> {
    if (known === undefined) return anonymous;
    this.#userId ??= known.userId;
    const { userId } = known;
    const given = this.#sources.length === 0 ? noPrincipals : await this.#askSources(userId, unit.reader);
    return callerInGroups(userId, given, (id) => unit.reader.permission.getUserPrincipals(id), known);
  }

  /** Resolves the groups of batch entries, for one consistent state. For single requests the backend includes them in its checks. */
  #complete(caller: Caller): Caller | Promise<Caller> {
    return this.#batch !== undefined ? completeCaller(caller) : caller;
  }

  async #askSources(userId: UserId, reader: Reader): Promise<readonly Principal[]> {
    const given = await Promise.all(this.#sources.map((source) => source(userId, reader)));
    return given.flatMap((principals) => toPrincipals([...principals]));
  }
}

/** Authenticates one request with credentials for a single action, without caching. */
async function authenticateOnce(
  policy: AuthenticationPolicy,
  { headers, method, body, clientAddress: address }: ServiceRequest,
  path: string,
): Promise<{ readonly known: Known; readonly credentials: OnceCredentials } | undefined> {
  const readBody = (): JsonValue | undefined => (body.isLarge ? undefined : body.parseQuietly());
  const found = await policy.authenticateOnce?.({ headers, address }, { method, path, readBody });
  return found && { known: { userId: formatUserId(policy.name, found.id) }, credentials: found.credentials };
}

function ignore(): void {
  // `resolve` throws the same failure.
}
