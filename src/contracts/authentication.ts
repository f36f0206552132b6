// How a request tells who sends it. Policies are asked in the configured order; the first that returns an id wins.
import type { Clock } from '../base/clock.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { CacheBackend } from './cache.ts';
import type { Logger } from './logger.ts';

/** The part of a request that identity may come from. Header names are lower-case. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Network address of the client, as far as it is known. */
  readonly address?: string | undefined;
}

/** What a request asks for, for credentials that are good for one thing only. */
export interface OnceRequest {
  readonly method: string;
  /** Decoded, without the version prefix. */
  readonly path: string;
  /** The body as JSON; `undefined` when there is none, when it is no JSON, and when it has 64 KiB or more. */
  readonly readBody: () => JsonValue | undefined;
}

/** A user for one request. */
export interface OnceIdentity {
  /** Without prefix. */
  readonly id: string;
  /** Makes the credentials good again; called when nothing of the request is kept, so that it can be repeated. */
  readonly giveBack: () => Promise<void>;
}

/** Who somebody is, for policies that know more than an id. */
export interface Identity {
  /** The user id without prefix. */
  readonly id: string;
  /** What is known about the user; plugins may show it to the user. */
  readonly profile?: JsonObject;
}

export type Authenticated = string | Identity | undefined;

export interface AuthenticationPolicy {
  /** Prefix of its user ids, `basicauth`. */
  readonly name: string;
  /** Value of the `WWW-Authenticate` header it adds to a 401. */
  readonly challenge: string;
  /** `false` when it looks at other headers than `Authorization`, and so is asked without that one too. */
  readonly usesAuthorizationHeader?: boolean;
  /**
   * The user id without prefix, alone or with a profile; `undefined` when the credentials are absent, malformed or
   * wrong. At once where nobody has to be asked.
   *
   * @throws BackendUnavailable when the credentials cannot be checked now (503, never a 401)
   */
  authenticate(credentials: Credentials): Authenticated | Promise<Authenticated>;
  /**
   * The user whom the credentials make of the sender for this one request, or `undefined`. Asked before `authenticate`,
   * for each entry of a batch anew.
   */
  authenticateOnce?(credentials: Credentials, request: OnceRequest): Promise<OnceIdentity | undefined>;
}

/** What a policy is made from. */
export interface PolicyContext {
  /** Lower-case. */
  readonly name: string;
  /** Reads `multiauth.policy.<name>.<parameter>`. */
  readonly parameter: (name: string) => string | undefined;
  /** Parameters that a file or the command line gives, to tell misspelt ones. */
  readonly givenParameters: readonly string[];
  /** Secret that user ids are derived with. */
  readonly secret: string;
  readonly cache: CacheBackend;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type PolicyFactory = (context: PolicyContext) => AuthenticationPolicy;
