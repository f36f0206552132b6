// How a request tells who sends it. Policies are asked in the configured order; the first that returns an id wins.
import type { CacheBackend } from './cache.ts';

/** The part of a request that identity may come from. Header names are lower-case. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string | undefined>>;
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
