// Authentication policies: they derive the user of a request from its credentials. The service calls them in the configured
// order; the first user id wins.
import type { Clock } from '../base/clock.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { CacheBackend } from './cache.ts';
import type { Logger } from './logger.ts';

/** The part of a request that may identify the user. Header names are lower-case. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Network address of the client, when it is known. */
  readonly address?: string | undefined;
}

/** The action of a request, for credentials that are valid for one action only. */
export interface OnceRequest {
  readonly method: string;
  /** Decoded, without the version prefix. */
  readonly path: string;
  /** Returns the body as JSON; `undefined` when it is empty, not JSON, or 64 KiB or larger. */
  readonly readBody: () => JsonValue | undefined;
}

/** Credentials that one request holds, so that no other can use them. */
export interface OnceCredentials {
  /**
   * Returns whether the credentials were neither revoked nor used since. What revokes them in a transaction does so before its
   * commit, so this is certain under the same locks.
   *
   * @param version timestamp of the object that the request changes, under its lock and before the change
   */
  isValid(version: number): Promise<boolean>;
  /** Makes the credentials usable again unless they were revoked. Called when the request is refused or undone. */
  giveBack(): Promise<void>;
  /** Makes the credentials unusable. Called after the commit. */
  useUp(): Promise<void>;
}

/** A user for one request. */
export interface OnceIdentity {
  /** User id without prefix. */
  readonly id: string;
  readonly credentials: OnceCredentials;
}

/** A user, for policies that know more than an id. */
export interface Identity {
  /** User id without prefix. */
  readonly id: string;
  /** Attributes of the user; plugins may show them to the user. */
  readonly profile?: JsonObject;
  /** Text that changes with what proves the identity, such as the stored hash of a password. */
  readonly proof?: string;
}

export type Authenticated = string | Identity | undefined;

export interface AuthenticationPolicy {
  /** Prefix of the user ids, such as `basicauth`. */
  readonly name: string;
  /** Value of the `WWW-Authenticate` header for 401 responses. */
  readonly challenge: string;
  /**
   * `false` when the policy reads other headers than `Authorization`. It is then called for requests without that header too,
   * and entries of a batch share an identity only if all of their headers are equal.
   */
  readonly usesAuthorizationHeader?: boolean;
  /**
   * `true` when any credentials of its scheme are a user. It is not called when an earlier policy cannot check them now, because
   * they may be those of another user.
   */
  readonly acceptsAnyCredentials?: boolean;
  /**
   * Returns the user id without prefix, alone or with a profile; `undefined` when the credentials are absent, malformed or
   * wrong. Returns no promise when no I/O is needed.
   *
   * @throws BackendUnavailable when the credentials cannot be checked now (503, never a 401)
   */
  authenticate(credentials: Credentials): Authenticated | Promise<Authenticated>;
  /**
   * Returns the user for this one request, or `undefined`. Called before `authenticate`, and for each entry of a batch.
   */
  authenticateOnce?(credentials: Credentials, request: OnceRequest): Promise<OnceIdentity | undefined>;
}

/** Dependencies of a policy. */
export interface PolicyContext {
  /** Name of the policy in lower case. */
  readonly name: string;
  /** Returns the setting `multiauth.policy.<name>.<parameter>`. */
  readonly parameter: (name: string) => string | undefined;
  /** Parameters from the configuration file or the command line, to find misspelt ones. */
  readonly givenParameters: readonly string[];
  /**
   * Secret for the derivation of user ids, which clients see. Keys for other purposes are derived by `deriveKey` of
   * `settings/derived-keys.ts`.
   */
  readonly secret: string;
  readonly cache: CacheBackend;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type PolicyFactory = (context: PolicyContext) => AuthenticationPolicy;
