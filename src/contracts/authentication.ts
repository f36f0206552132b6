// Authentication policies, which identify the caller of a request. They run in the configured order, and the first one that
// returns an id wins.
import type { Clock } from '../base/clock.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { CacheBackend } from './cache.ts';
import type { Logger } from './logger.ts';

/** The part of a request that policies read. Header names are lower-case. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Network address of the client; `undefined` when unknown. */
  readonly address?: string | undefined;
}

/** The request itself, for credentials that are valid for one request only. */
export interface OnceRequest {
  readonly method: string;
  /** Decoded, without the version prefix. */
  readonly path: string;
  /** Returns the body as JSON; `undefined` when it is absent, is not JSON, or has 64 KiB or more. */
  readonly readBody: () => JsonValue | undefined;
}

/** A user for one request. */
export interface OnceIdentity {
  /** Without prefix. */
  readonly id: string;
  /** Makes the credentials valid again. Called when the request has left nothing behind, so the client can repeat it. */
  readonly giveBack: () => Promise<void>;
}

/** A user, for policies that know more than an id. */
export interface Identity {
  /** The user id without prefix. */
  readonly id: string;
  /** Attributes of the user, which plugins may show to the user. */
  readonly profile?: JsonObject;
}

export type Authenticated = string | Identity | undefined;

export interface AuthenticationPolicy {
  /** Prefix of its user ids, `basicauth`. */
  readonly name: string;
  /** Value of the `WWW-Authenticate` header it adds to a 401. */
  readonly challenge: string;
  /**
   * `false` when the policy reads other headers than `Authorization`, so it also runs without that one. Default: `true`.
   */
  readonly usesAuthorizationHeader?: boolean;
  /**
   * Returns the user id without prefix, alone or with a profile; `undefined` when the credentials are absent, malformed or
   * wrong. Returns no promise when it needs no other server or backend.
   *
   * @throws BackendUnavailable when the credentials cannot be checked now (503, never a 401)
   */
  authenticate(credentials: Credentials): Authenticated | Promise<Authenticated>;
  /**
   * Returns the user that the credentials identify for this request only, or `undefined`. Runs before `authenticate`, and
   * once for each entry of a batch.
   */
  authenticateOnce?(credentials: Credentials, request: OnceRequest): Promise<OnceIdentity | undefined>;
}

/** Arguments of a policy factory. */
export interface PolicyContext {
  /** Lower-case. */
  readonly name: string;
  /** Reads `multiauth.policy.<name>.<parameter>`. */
  readonly parameter: (name: string) => string | undefined;
  /** Names of the parameters that a file or the command line sets, to report misspelt ones. */
  readonly givenParameters: readonly string[];
  /** Secret from which user ids are derived. */
  readonly secret: string;
  readonly cache: CacheBackend;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type PolicyFactory = (context: PolicyContext) => AuthenticationPolicy;
