// What a provider says about itself (OpenID Connect Discovery): fetched at start, or later when it was down then.
import type { Clock } from '../../base/clock.ts';
import { getKey, type JsonObject } from '../../base/json.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import { findAddressFault } from '../../http/authentication/parameters.ts';
import type { RemoteServer } from '../../http/authentication/remote-server.ts';
import type { OpenidParameters } from './parameters.ts';

/** Addresses of a provider. */
export interface Metadata {
  /** As the provider spells it, and as its tokens have it. */
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly userinfoEndpoint: string;
  readonly jwksUri: string;
  /** Whether it takes the credentials of clients in the header alone. */
  readonly requiresBasicAuth: boolean;
  /** Whether it knows proof keys (RFC 7636). */
  readonly supportsPkce: boolean;
}

/** What the provider says cannot be used as configured. Waiting does not help. */
export class ProviderMismatch extends Error {
  override readonly name = 'UnfitProvider';
}

/** Between two attempts after one that failed. */
const retryDelayMs = 1000;

export class Discovery {
  readonly #server: RemoteServer;
  readonly #parameters: OpenidParameters;
  readonly #clock: Clock;
  #known: Metadata | undefined;
  #attempt: Promise<Metadata> | undefined;
  #failure: { readonly error: BackendUnavailable; readonly at: number } | undefined;

  constructor(server: RemoteServer, parameters: OpenidParameters, clock: Clock) {
    this.#server = server;
    this.#parameters = parameters;
    this.#clock = clock;
  }

  /** What is known already. */
  get known(): Metadata | undefined {
    return this.#known;
  }

  /** Where the description lies. */
  get url(): string {
    return `${this.#parameters.issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
  }

  /**
   * The description, fetched when it is not known yet.
   *
   * @throws BackendUnavailable when the provider does not answer; UnfitProvider when it is not the one configured
   */
  async find(): Promise<Metadata> {
    if (this.#known !== undefined) return this.#known;
    const now = this.#clock.now();
    if (this.#failure !== undefined && Math.abs(now - this.#failure.at) < retryDelayMs) throw this.#failure.error;
    this.#attempt ??= this.#fetch().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  async #fetch(): Promise<Metadata> {
    try {
      const answer = await this.#server.call(this.url);
      if (answer.status !== 200) throw this.#server.unavailable(this.url, `it answered ${answer.status}`);
      this.#known = this.#read(this.#server.readObject(this.url, answer));
      return this.#known;
    } catch (error) {
      if (error instanceof BackendUnavailable) this.#failure = { error, at: this.#clock.now() };
      throw error;
    }
  }

  #read(document: JsonObject): Metadata {
    const { issuer: configured, audience, use_userinfo: usesUserinfo } = this.#parameters;
    const issuer = getKey(document, 'issuer');
    if (typeof issuer !== 'string' || withoutSlash(issuer) !== withoutSlash(configured)) {
      throw new ProviderMismatch(
        `${this.url} is about the issuer ${JSON.stringify(issuer ?? null)}, not ${configured}.`,
      );
    }
    const methods = getKey(document, 'token_endpoint_auth_methods_supported');
    const proofs = getKey(document, 'code_challenge_methods_supported');
    return {
      issuer,
      authorizationEndpoint: this.#readAddress(document, 'authorization_endpoint', true),
      tokenEndpoint: this.#readAddress(document, 'token_endpoint', true),
      userinfoEndpoint: this.#readAddress(document, 'userinfo_endpoint', usesUserinfo),
      jwksUri: this.#readAddress(document, 'jwks_uri', audience !== ''),
      requiresBasicAuth:
        Array.isArray(methods) && methods.includes('client_secret_basic') && !methods.includes('client_secret_post'),
      supportsPkce: Array.isArray(proofs) && proofs.includes('S256'),
    };
  }

  #readAddress(document: JsonObject, key: string, isRequired: boolean): string {
    const address = getKey(document, key);
    if (address === undefined && !isRequired) return '';
    const fault =
      typeof address === 'string' ? findAddressFault(address, this.#parameters.allow_http) : 'it is missing';
    if (fault !== undefined) throw new ProviderMismatch(`${this.url} has no usable ${key}: ${fault}.`);
    return address as string;
  }
}

/** Providers and operators do not agree about the slash at the end. */
function withoutSlash(issuer: string): string {
  return issuer.replace(/\/+$/, '');
}
