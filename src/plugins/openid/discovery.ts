// OpenID Connect Discovery: the metadata of a provider, fetched at start, or later if the provider was down.
import type { Clock } from '../../base/clock.ts';
import { getKey, type JsonObject } from '../../base/json.ts';
import { withoutSlashesAtEnd } from '../../base/slashes-at-end.ts';
import { findAddressFault } from '../../http/authentication/parameters.ts';
import type { RemoteServer } from '../../http/authentication/remote-server.ts';
import type { OpenidParameters } from './parameters.ts';
import { SharedAttempt } from './shared-attempt.ts';

/** Endpoints and abilities of a provider. */
export interface Metadata {
  /** Exactly as in the metadata and in tokens. */
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly userinfoEndpoint: string;
  readonly jwksUri: string;
  /** Whether clients must authenticate with the `Authorization` header. */
  readonly requiresBasicAuth: boolean;
  /** Whether it supports PKCE (RFC 7636). */
  readonly supportsPkce: boolean;
}

/** The metadata does not match the configuration. A retry does not help. */
export class ProviderMismatch extends Error {
  override readonly name = 'UnfitProvider';
}

export class Discovery {
  readonly #server: RemoteServer;
  readonly #parameters: OpenidParameters;
  readonly #attempt: SharedAttempt<Metadata>;
  #known: Metadata | undefined;

  constructor(server: RemoteServer, parameters: OpenidParameters, clock: Clock) {
    this.#server = server;
    this.#parameters = parameters;
    this.#attempt = new SharedAttempt(clock);
  }

  /** The metadata, if already fetched. */
  get known(): Metadata | undefined {
    return this.#known;
  }

  /** URL of the metadata. */
  get url(): string {
    return `${withoutSlashesAtEnd(this.#parameters.issuer)}/.well-known/openid-configuration`;
  }

  /**
   * Returns the metadata, and fetches it if necessary.
   *
   * @throws BackendUnavailable when the provider does not respond; ProviderMismatch when it is not the configured one
   */
  async find(): Promise<Metadata> {
    return this.#known ?? this.#attempt.run(() => this.#fetch());
  }

  async #fetch(): Promise<Metadata> {
    const answer = await this.#server.call(this.url);
    if (answer.status !== 200) throw this.#server.unavailable(this.url, `it answered ${answer.status}`);
    this.#known = this.#read(this.#server.readObject(this.url, answer));
    return this.#known;
  }

  #read(document: JsonObject): Metadata {
    const { issuer: configured, audience, use_userinfo: usesUserinfo } = this.#parameters;
    const issuer = getKey(document, 'issuer');
    // Configured issuers and providers use trailing slashes inconsistently.
    if (typeof issuer !== 'string' || withoutSlashesAtEnd(issuer) !== withoutSlashesAtEnd(configured)) {
      throw new ProviderMismatch(
        `${this.url} describes the issuer ${JSON.stringify(issuer ?? null)} instead of ${configured}.`,
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
    const { allow_http: allowHttp, issuer } = this.#parameters;
    const fault = typeof address === 'string' ? findAddressFault(address, allowHttp, issuer) : 'it is missing';
    if (fault !== undefined) throw new ProviderMismatch(`${this.url} has no usable ${key}: ${fault}.`);
    return address as string;
  }
}
