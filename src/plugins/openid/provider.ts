// The authentication policy of one provider. With an audience, the token is verified locally first. Then the provider
// returns the user information.
import { createHmac } from 'node:crypto';
import { errors } from 'jose';
import { isJsonObject, JsonSyntaxError, parseJson, type JsonObject } from '../../base/json.ts';
import { withoutSlashesAtEnd } from '../../base/slashes-at-end.ts';
import type {
  Authenticated,
  AuthenticationPolicy,
  Credentials,
  PolicyContext,
} from '../../contracts/authentication.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import { fetchUserInfo, type GivenToken } from '../../http/authentication/bearer.ts';
import { RemoteServer } from '../../http/authentication/remote-server.ts';
import { findTime, findUserId, parseToken } from '../../http/authentication/token.ts';
import { VerifiedTokens, type Verified } from '../../http/authentication/verified-tokens.ts';
import { deriveKey } from '../../settings/derived-keys.ts';
import { Discovery, ProviderMismatch, type Metadata } from './discovery.ts';
import { KeySet } from './key-set.ts';
import { readOpenidParameters, type OpenidParameters } from './parameters.ts';

/** Providers of one service by policy name. */
export type Providers = Map<string, Provider>;

export class Provider implements AuthenticationPolicy {
  readonly name: string;
  readonly challenge: string;
  readonly parameters: OpenidParameters;
  readonly server: RemoteServer;
  /** Encryption key of login cookies, the same in all processes. */
  readonly loginKey: Buffer;
  readonly #context: PolicyContext;
  /** Configured issuer without trailing slashes. */
  readonly #issuer: string;
  readonly #providers: Providers;
  readonly #discovery: Discovery;
  readonly #keys: KeySet;
  readonly #tokens: VerifiedTokens;

  /**
   * @param providers all providers of the service
   * @throws SettingsError with all problems of the parameters
   */
  constructor(context: PolicyContext, providers: Providers) {
    const parameters = readOpenidParameters(context);
    const { issuer, audience, header_type: headerType, realm, userid_field: field } = parameters;
    this.name = context.name;
    this.challenge = `${headerType} realm="${realm}"`;
    this.parameters = parameters;
    this.server = new RemoteServer(context.name, parameters);
    const { client_id: clientId, client_secret: clientSecret } = parameters;
    this.loginKey = createHmac('sha256', deriveKey(context.secret, 'openid logins'))
      .update(JSON.stringify([context.name, issuer, clientId, clientSecret]))
      .digest();
    this.#context = context;
    this.#issuer = withoutSlashesAtEnd(issuer);
    this.#providers = providers;
    this.#discovery = new Discovery(this.server, parameters, context.clock);
    this.#keys = new KeySet(this.server, context.clock);
    const cacheKey = [context.name, issuer, audience, field, String(parameters.use_userinfo), ...parameters.algorithms];
    this.#tokens = new VerifiedTokens(context, parameters.verification_ttl_seconds, cacheKey);
  }

  /** The metadata of the provider; `undefined` before its first response. */
  get known(): Metadata | undefined {
    return this.#discovery.known;
  }

  /** Fetches the metadata. An unavailable provider does not prevent the start, a mismatch does. */
  async start(): Promise<void> {
    try {
      await this.#discovery.find();
    } catch (error) {
      if (!(error instanceof BackendUnavailable)) throw error;
      const { logger } = this.#context;
      logger.warn({ err: error }, `The provider ${this.name} does not respond. Requests will retry.`);
    }
  }

  /**
   * Returns the metadata of the provider.
   *
   * @throws BackendUnavailable
   */
  async describe(): Promise<Metadata> {
    try {
      return await this.#discovery.find();
    } catch (error) {
      if (!(error instanceof ProviderMismatch)) throw error;
      throw this.server.unavailable(this.#discovery.url, error.message, error);
    }
  }

  async authenticate({ headers, address }: Credentials): Promise<Authenticated> {
    const token = parseToken(headers['authorization'], this.parameters.header_type);
    if (token === undefined || this.#isOfAnother(token)) return undefined;
    return this.#tokens.find(token, () => this.#verify({ token, address }));
  }

  /** Returns whether this provider is the issuer. */
  issues(issuer: string): boolean {
    return issuer === this.known?.issuer || withoutSlashesAtEnd(issuer) === this.#issuer;
  }

  /** Returns whether another provider of this service issued the token. Such a token is not sent to this provider. */
  #isOfAnother(token: string): boolean {
    const issuer = readIssuer(token);
    if (issuer === undefined || this.issues(issuer)) return false;
    return [...this.#providers.values()].some((other) => other.issues(issuer));
  }

  async #verify(given: GivenToken): Promise<Verified | undefined> {
    const { token } = given;
    const { audience, userid_field: field, use_userinfo: usesUserinfo } = this.parameters;
    const { clock_tolerance_seconds: toleranceSeconds } = this.parameters;
    // A token that is not a JWT is refused without keys.
    if (audience !== '' && readIssuer(token) === undefined) return undefined;
    const metadata = await this.describe();
    const claims = audience === '' ? undefined : await this.#verifySignature(token, metadata);
    if (audience !== '' && claims === undefined) return undefined;
    const profile = usesUserinfo ? await fetchUserInfo(this.server, metadata.userinfoEndpoint, given) : claims;
    if (profile === undefined) return undefined;
    const id = findUserId(profile, field);
    if (id === undefined) {
      this.#context.logger.warn(
        `The provider ${this.name} accepts a token but returns no usable ${field} of the user.`,
      );
      return undefined;
    }
    // Without a verified signature the claim is untrusted, but it can only shorten the lifetime.
    const end = findTime(claims ?? readClaims(token) ?? {}, 'exp');
    return { id, profile, until: end === undefined ? undefined : end + toleranceSeconds * 1000 };
  }

  async #verifySignature(token: string, { issuer, jwksUri }: Metadata): Promise<JsonObject | undefined> {
    const { audience, algorithms, clock_tolerance_seconds: clockTolerance } = this.parameters;
    try {
      await this.#keys.verify(jwksUri, token, {
        issuer,
        audience,
        algorithms: [...algorithms],
        clockTolerance,
        currentDate: new Date(this.#context.clock.now()),
        requiredClaims: ['exp'],
      });
      return parseClaims(token);
    } catch (error) {
      if (error instanceof BackendUnavailable) throw error;
      // Other errors are in the token or in its key. Only a wrong key is logged.
      if (!(error instanceof errors.JOSEError)) {
        this.#context.logger.warn({ err: error }, `A key of the provider ${this.name} cannot be used.`);
      }
      return undefined;
    }
  }
}

function readClaims(token: string): JsonObject | undefined {
  try {
    return parseClaims(token);
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

function readIssuer(token: string): string | undefined {
  const issuer = readClaims(token)?.['iss'];
  return typeof issuer === 'string' ? issuer : undefined;
}

/**
 * Returns the claims of a JWT with all digits, as the signed text has them.
 *
 * @throws JWTInvalid for other tokens, and for claims that no backend can store, such as numbers out of range
 */
function parseClaims(token: string): JsonObject {
  const [, payload = '', ...rest] = token.split('.');
  try {
    const claims = parseJson(Buffer.from(payload, 'base64url').toString('utf8'));
    if (rest.length === 1 && isJsonObject(claims)) return claims;
  } catch (cause) {
    if (cause instanceof JsonSyntaxError) throw new errors.JWTInvalid('the claims cannot be stored', { cause });
    throw cause;
  }
  throw new errors.JWTInvalid('expected a JWT with claims');
}
