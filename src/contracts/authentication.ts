// How a request tells who sends it. Policies are asked in the configured order; the first that returns an id wins.
import type { JsonValue } from '../base/json.ts';
import type { CacheBackend } from './cache.ts';

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
  /** The body as JSON; `undefined` when there is none, or it is no JSON. */
  readonly readBody: () => JsonValue | undefined;
}

/** A user for one request. */
export interface OnceIdentity {
  /** Without prefix. */
  readonly id: string;
  /** Makes the credentials good again; called when nothing of the request is kept, so that it can be repeated. */
  readonly giveBack: () => Promise<void>;
}

export interface AuthenticationPolicy {
  /** Prefix of its user ids, `basicauth`. */
  readonly name: string;
  /** Value of the `WWW-Authenticate` header it adds to a 401. */
  readonly challenge: string;
  /** `false` when it looks at other headers than `Authorization`, and so is asked without that one too. */
  readonly usesAuthorizationHeader?: boolean;
  /**
   * The user id without prefix, or `undefined` when the credentials are absent, malformed or wrong.
   *
   * @throws BackendUnavailable when the credentials cannot be checked now (503, never a 401)
   */
  authenticate(credentials: Credentials): Promise<string | undefined>;
  /**
   * The user whom the credentials make of the sender for this one request, or `undefined`. Asked before `authenticate`,
   * for each entry of a batch anew.
   */
  authenticateOnce?(credentials: Credentials, request: OnceRequest): Promise<OnceIdentity | undefined>;
}

/** What a policy is made from. `parameter` reads `multiauth.policy.<name>.<parameter>`. */
export interface PolicyContext {
  readonly name: string;
  readonly parameter: (name: string) => string | undefined;
  /** Secret that user ids are derived with. */
  readonly secret: string;
  readonly cache: CacheBackend;
}

export type PolicyFactory = (context: PolicyContext) => AuthenticationPolicy;
